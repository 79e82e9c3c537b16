"""The forms a summary may have, by the name that a profile's `summary_form` gives.

Rule: a form is a value that renders, reads and fills; which one is used is the profile's choice alone.
"""

from holdfast.compaction.forms.conclusions import Conclusions
from holdfast.compaction.forms.execute_json import ExecuteJson
from holdfast.compaction.forms.five_sections import FiveSections
from holdfast.compaction.forms.form import Form
from holdfast.compaction.forms.init_json import InitJson
from holdfast.compaction.forms.six_lines import SixLines

__all__ = ["FORMS", "Form"]

_ALL: tuple[Form, ...] = (SixLines(), FiveSections(), Conclusions(), InitJson(), ExecuteJson())
FORMS: dict[str, Form] = {form.name: form for form in _ALL}
