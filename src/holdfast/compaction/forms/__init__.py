"""The forms a summary may have, by the name that a profile's `summary_form` gives.

Rule: a form is data; which one is used is the profile's choice alone.
"""

from holdfast.compaction.forms.agent_forms import CONCLUSIONS, FIVE_SECTIONS, SIX_LINES
from holdfast.compaction.forms.form import Form
from holdfast.compaction.forms.pair_forms import EXECUTE_JSON, INIT_JSON

__all__ = ["FORMS", "Form"]

FORMS: dict[str, Form] = {
    form.name: form for form in (SIX_LINES, FIVE_SECTIONS, CONCLUSIONS, INIT_JSON, EXECUTE_JSON)
}
