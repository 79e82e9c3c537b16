"""The marks a pack leaves where something is missing: how much, and the id that brings it back.

Rule: a mark stays on one line, starts with `[holdfast:` and never quotes untrusted text beyond a short label. It
names no tool that its reader does not have.
"""

import re
from collections.abc import Callable

from msgspec.structs import replace

from holdfast.ids import ALPHABET, LENGTH
from holdfast.messages import AssistantPart, Json, Message, SystemMessage, Text, ToolCall, UserPart

MARK = "[holdfast:"
LONGEST = 1_000
"""Characters of the longest line that is taken for a mark of ours."""

RetrievalHint = Callable[[str, str, str], str]
"""What a mark says in place of a call of Recall, for a reader who gets texts in another way. It is given what the
mark says is missing, the id of the text, and the part of it, such as `lines 10-40` (empty: all of it)."""

_CALL = rf'Recall\(id="([ae][{ALPHABET}]{{{LENGTH}}})"(?:, (lines|chars)="(\d+(?:-\d+)?)")?\)'
_MARKED = re.compile(rf"{re.escape(MARK)} ([^\n]*?); {_CALL}\]")
_GAP = re.compile(r"(\[… \d+ (?:lines?|characters) left out), Recall (lines [\d-]+(?: chars [\d-]+)?)(?=\])")


def recall_call(id_: str, **where: str) -> str:
    """The call of the Recall tool that fetches what a mark replaces."""
    inside = ", ".join([f'id="{id_}"', *(f'{key}="{value}"' for key, value in where.items())])
    return f"Recall({inside})"


def mark(what: str, id_: str = "", **where: str) -> str:
    back = f"; {recall_call(id_, **where)}" if id_ else ""
    return f"{MARK} {one_line(what)}{back}]"


def one_line(text: str) -> str:
    return " ".join(text.split())


def marked_as(line: str) -> str:
    """What a line says is missing, if the line is a mark with an id; else nothing."""
    found = _MARKED.fullmatch(line) if len(line) <= LONGEST else None
    return found[1] if found else ""


def without_recall(message: Message, hint: RetrievalHint | None = None) -> Message:
    """The message for a reader without Recall: its marks say what is missing and, with a hint, how to get it.

    Thoughts stay as they are: a provider refuses those that were changed.
    """
    if isinstance(message, SystemMessage):
        return SystemMessage(text_without_recall(message.text, hint))
    return replace(message, parts=tuple(_changed_part(part, hint) for part in message.parts))


def text_without_recall(text: str, hint: RetrievalHint | None) -> str:
    def changed(found: re.Match[str]) -> str:
        what, id_, unit, range_ = found.groups()
        told = f"; {hint(what, id_, f'{unit} {range_}' if unit else '')}" if hint else ""
        return f"{MARK} {what}{told}]"

    return _GAP.sub(r"\1, \2" if hint else r"\1", _MARKED.sub(changed, text))


def _changed_part(part: AssistantPart | UserPart, hint: RetrievalHint | None) -> AssistantPart | UserPart:
    match part:
        case Text():
            return Text(text_without_recall(part.text, hint))
        case ToolCall():
            return replace(part, arguments=_changed_json(part.arguments, hint))
    return part


def _changed_json(value: Json, hint: RetrievalHint | None) -> Json:
    match value:
        case str():
            return text_without_recall(value, hint)
        case list():
            return [_changed_json(item, hint) for item in value]
        case dict():
            return {key: _changed_json(item, hint) for key, item in value.items()}
    return value
