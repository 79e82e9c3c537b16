"""What sub-agents did to files, as it stands in the log of the talk they worked for.

Rule: one note for each change, written when it was made, so that it can be seen and taken back like the talk's own,
also after a crash. The step is the talk's.
"""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.coding.footprints import Footprint, footprint_in
from holdfast.agents.notices import Notice, TaskNews
from holdfast.events import Noted
from holdfast.messages import Json
from holdfast.tools.calling import CallFinished
from holdfast.tools.files.seen import CHANGING, Made

KIND = "task"


class Changed(Struct, frozen=True):
    """An edit, or what a command left behind, by the sub-agent with this log."""

    log: str
    made: Made | None = None
    command: Footprint | None = None


class _Edited(Struct, frozen=True):
    """Of the data of an edit, what matters here."""

    path: str
    before: str
    after: str
    file: str = ""
    dry_run: bool = False


def change_in(notice: Notice, step: int) -> Noted | None:
    """What is noted of a sub-agent's news in the given step of the talk; None where nothing was changed."""
    log = ""
    while isinstance(notice, TaskNews):
        log, notice = notice.log, notice.news
    if not log or not isinstance(notice, CallFinished) or notice.result.is_error:
        return None
    changed = _changed(log, notice, step)
    if changed is None:
        return None
    return Noted(KIND, f"the sub-agent {log} called {notice.call.name}", msgspec.to_builtins(changed))


def changed_by_task(data: dict[str, Json]) -> Changed:
    try:
        return msgspec.convert(data, Changed)
    except msgspec.ValidationError:
        return Changed("")


def _changed(log: str, news: CallFinished, step: int) -> Changed | None:
    data = news.result.envelope.data
    if news.call.name == "Bash":
        found = footprint_in(data)
        return Changed(log, command=replace(found, step=step)) if found.changed or not found.looked else None
    if news.call.name not in CHANGING:
        return None
    try:
        edited = msgspec.convert(data, _Edited)
    except msgspec.ValidationError:
        return None
    if edited.dry_run or edited.before == edited.after:
        return None
    return Changed(log, Made(edited.file or edited.path, edited.path, edited.before, edited.after, step))
