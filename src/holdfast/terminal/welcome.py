"""The first screen of somebody who has no model yet.

Rule: three lines say what to do, what was found, and what can be seen without any of it.
"""

from holdfast.agents.coding.within_reach import NoModel
from holdfast.errors import ConfigError


def welcome_text(trouble: ConfigError) -> str:
    """What to do, as Markdown; of any other mistake in the configuration, what it is."""
    if not isinstance(trouble, NoModel):
        return "\n\n".join(filter(None, (f"**Not yet:** {trouble.message}.", trouble.hint)))
    lines = [
        f"**To begin:** {trouble.message}; here: `/model provider/name`.",
        f"**Found:** {trouble.found}.",
        f"**Without a model:** leave with Ctrl+D; {trouble.hint}.",
    ]
    return "\n\n".join(lines)
