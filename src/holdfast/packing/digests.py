"""One rule per kind of tool: which lines of a result its digest keeps, best first.

Rule: a digest chooses whole lines; how many fit is the caller's cap, and the id of the full text always goes along.
"""

import re
from collections.abc import Callable

import msgspec
from msgspec import Struct

from holdfast.messages import Json
from holdfast.packing.profile import Profile
from holdfast.tool_use import Kind, ToolUse

Chooser = Callable[[list[str], Profile], list[int]]

_TROUBLE = re.compile(
    r"(?i)\b(?:error|errors|fail|failed|failure|failures|failing|fatal|panic|exception|traceback|undefined"
    r"|unresolved|denied|refused|not found|no such|cannot|can't|abort(?:ed)?|segfault|assert(?:ion)?(?:error)?)\b"
    r"|^E\s{2,}|^\s*(?:✗|✘|×|FAIL|--- FAIL)|exit(?:ed)? (?:with )?(?:code|status) [1-9]"
)
_NO_TROUBLE = re.compile(r"(?i)\b(?:0|no) (?:errors?|failures?|failed|failing)\b")
LONG_FIELD = 200
"""Characters from which a field of an envelope's data is content and no longer a fact about it."""


def is_trouble(line: str) -> bool:
    """Whether a line reports a failure; such lines stay wherever they stand."""
    return bool(_TROUBLE.search(line)) and not _NO_TROUBLE.search(line)


def choose_lines(use: ToolUse, lines: list[str], profile: Profile) -> list[int]:
    """Numbers of the lines a digest of this result keeps, in the order in which they deserve room."""
    return _CHOOSERS.get(use.kind, _choose_general)(lines, profile)


def _first(count: int, lines: list[str]) -> list[int]:
    filled = [i for i, line in enumerate(lines) if line.strip()]
    return filled[:count]


def _choose_ls(lines: list[str], profile: Profile) -> list[int]:
    return _first(profile.ls_entries, lines)


def _choose_glob(lines: list[str], profile: Profile) -> list[int]:
    return _first(profile.glob_entries, lines)


def _choose_grep(lines: list[str], profile: Profile) -> list[int]:
    matches = [i for i, line in enumerate(lines) if line.strip() and line != "--"]
    return matches[: profile.grep_matches]


def _choose_read(lines: list[str], profile: Profile) -> list[int]:
    return list(range(min(len(lines), profile.read_lines)))


def _choose_edit(lines: list[str], profile: Profile) -> list[int]:
    return _first(profile.edit_diff_lines, lines)


def _choose_write(lines: list[str], profile: Profile) -> list[int]:
    return _first(profile.write_diff_lines, lines)


def _choose_bash(lines: list[str], profile: Profile) -> list[int]:
    """Failures first, newest last lines next (where stderr and totals stand), then how it began."""
    trouble = [i for i, line in enumerate(lines) if is_trouble(line)][-profile.bash_stdout_lines :]
    tail = list(range(len(lines) - 1, max(len(lines) - 1 - profile.bash_stderr_lines, -1), -1))
    return list(dict.fromkeys([*trouble, *tail, *_first(5, lines)]))


def _choose_general(lines: list[str], profile: Profile) -> list[int]:
    trouble = [i for i, line in enumerate(lines) if is_trouble(line)][: profile.generic_rows]
    head = _first(profile.generic_rows * 2, lines)
    tail = list(range(len(lines) - 1, max(len(lines) - 1 - profile.generic_rows, -1), -1))
    return list(dict.fromkeys([*trouble, *head, *tail]))


_CHOOSERS: dict[Kind, Chooser] = {
    "ls": _choose_ls,
    "glob": _choose_glob,
    "grep": _choose_grep,
    "read": _choose_read,
    "edit": _choose_edit,
    "multiedit": _choose_edit,
    "write": _choose_write,
    "bash": _choose_bash,
}


class Unwrapped(Struct, frozen=True):
    """A tool envelope as lines: what it says of itself, and what the tool found."""

    head: list[str]
    payload: list[str]


def unwrap(text: str) -> Unwrapped | None:
    """The lines of a tool envelope, or None if the text is none.

    `status`, `error` and the scalars of `data` (totals, `truncated`) make the head, its lists and long texts the
    payload; `text`, `stats` and `context` repeat these or are about the run, and go.
    """
    value = _decoded(text)
    if not isinstance(value, dict) or "status" not in value or not ({"data", "error"} & value.keys()):
        return None
    head = [f"status: {value['status']}"]
    if value.get("error"):
        head.append(f"error: {_row(value['error'])}")
    data = value.get("data")
    fields = data if isinstance(data, dict) else {"data": data}
    payload: list[str] = []
    for key, field in fields.items():
        if isinstance(field, list):
            payload += map(_row, field)
        elif isinstance(field, str) and ("\n" in field or len(field) > LONG_FIELD):
            payload += field.split("\n")
        elif field is not None:
            head.append(f"{key}: {_row(field)}")
    return Unwrapped(head, payload)


def _row(value: Json) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def digest_json(text: str, profile: Profile) -> str | None:
    """A smaller JSON document with the same shape: scalars stay, lists keep their first rows and their length.
    None if the text is not a JSON object or list."""
    value = _decoded(text)
    if not isinstance(value, dict | list):
        return None
    return msgspec.json.encode(_shape(value, profile.generic_rows, 0)).decode()


def _decoded(text: str) -> Json:
    """The JSON object or list that a text is, else None."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


def _shape(value: Json, rows: int, depth: int) -> Json:
    if isinstance(value, str):
        return value if len(value) <= 200 else f"{value[:160]}… ({len(value)} characters)"
    if isinstance(value, list):
        kept = [_shape(v, rows, depth + 1) for v in value[:rows]]
        return [*kept, f"… {len(value) - rows} more of {len(value)}"] if len(value) > rows else kept
    if isinstance(value, dict):
        if depth > 4:
            return f"… object with {len(value)} keys"
        kept_items = list(value.items())[: rows * 6]
        shaped = {k: _shape(v, rows, depth + 1) for k, v in kept_items}
        if len(value) > len(kept_items):
            shaped["…"] = f"{len(value) - len(kept_items)} more keys"
        return shaped
    return value
