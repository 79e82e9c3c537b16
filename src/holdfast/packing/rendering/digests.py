"""One rule per kind of tool: which lines of a result its digest keeps, best first.

Rule: a digest chooses whole lines; how many fit is the caller's cap, and the id of the full text always goes along.
"""

import re
from collections.abc import Callable, Collection, Sequence

import msgspec
from msgspec import Struct

from holdfast.line_ranges import LineRange, merge_ranges
from holdfast.messages import Json
from holdfast.packing.profile import Profile
from holdfast.packing.rendering.clip import LineChoice, clip_line, filled_lines
from holdfast.packing.rendering.marks import one_line
from holdfast.packing.rendering.shorter_json import decode_json
from holdfast.tool_use import ToolKind, ToolUse
from holdfast.tool_use.output import output_rows

_Chooser = Callable[[list[str], Profile], list[int]]

_TROUBLE = re.compile(
    r"(?i)\b(?:error|errors|fail|failed|failure|failures|failing|fatal|panic|exception|traceback|undefined"
    r"|unresolved|denied|refused|not found|no such|cannot|can't|abort(?:ed)?|segfault|assert(?:ion)?(?:error)?"
    r"|core dumped|timed out)\b"
    # `NameError: x`, but not a call of `onError(`; looking back and not ahead keeps one giant line linear.
    r"|(?<=\w)(?-i:Error|Exception)\b(?!\()"
    r"|\b(?-i:ERR)!|^E\s{2,}|^\s*(?:✗|✘|×|FAIL|--- FAIL)|exit(?:ed)? (?:with )?(?:code|status):? [1-9]"
    r"|<(?:returncode|exit_code)>[1-9]"
)
_NO_TROUBLE = re.compile(
    r"(?i)\b(?:0|no|without(?: any)?) (?:errors?|failures?|failed|failing|exceptions?)\b"
    r"|\b(?:errors?|failures?|failed)\s?[:=]\s?0(?![\d.])"
)
_MATCH = re.compile(r"(?:\s*Line )?\d+:|(?:[A-Za-z]:)?[^\s:][^:]*:\d+:")
_CONTEXT = re.compile(r"(?:.*-)?\d+-")
_FOUND = re.compile(r"(?i)found \d+ ")
_LISTED = re.compile(r"(?i)^found \d+ |:$")
_DIFF_ROW = re.compile(r"[ +-](?!\+\+ |-- )|$")

LONG_FIELD = 200
"""Characters from which a field of an envelope's data is content and no longer a fact about it."""

LONG_ERROR = 400
"""Characters that an envelope's error may take among the facts."""

MOST_FACTS = 12

DEEPEST = 4
"""Levels of a JSON document that its digest shows."""

IN_ORDER: tuple[ToolKind, ...] = ("ls", "glob", "grep", "read", "edit", "multiedit", "write")
"""Kinds whose digest is a beginning: past the first line that has no room, shorter ones would be fragments."""


def reports_failure(line: str) -> bool:
    """Whether a line reports a failure; such lines stay wherever they are."""
    if not _TROUBLE.search(line):
        return False
    return bool(_TROUBLE.search(_NO_TROUBLE.sub(" ", line)))


def choose_lines(
    use: ToolUse, lines: list[str], profile: Profile, stderr: Collection[int] | None = None
) -> list[int]:
    """Numbers of the lines a digest of this result keeps, in the order in which they deserve room. `stderr` are the
    lines that a command wrote there; None where that is not known."""
    rows = output_rows(lines)
    own = lines[rows.start : rows.stop]
    if use.kind == "bash" and stderr is not None:
        chosen = _choose_streams(own, {number - rows.start for number in stderr}, profile)
    else:
        chosen = _CHOOSERS.get(use.kind, _choose_general)(own, profile)
    # Of a wrapper around the output, only what says that the call failed.
    around = (number for number in range(len(lines)) if number not in rows and reports_failure(lines[number]))
    return [*around, *(rows.start + number for number in chosen)]


def _first(count: int, lines: list[str]) -> list[int]:
    filled = [i for i, line in enumerate(lines) if line.strip()]
    return filled[:count]


def _is_remark(lines: list[str]) -> bool:
    """Whether the first line speaks about a file, and is none of its lines."""
    return bool(lines) and lines[0].startswith("(")


def _first_entries(count: int, lines: list[str]) -> list[int]:
    """The first entries of a listing, and a heading above them, which does not count."""
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    is_headed = bool(lines) and bool(_LISTED.search(lines[first]))
    return _first(count + is_headed, lines)


def _first_changes(count: int, lines: list[str]) -> list[int]:
    """The first rows of a diff, and the headings above them, which do not count; else the first lines."""
    rows = [i for i, line in enumerate(lines) if _DIFF_ROW.match(line)]
    if not any(line.startswith("@@") for line in lines):
        return _first(count, lines)
    last = rows[min(count, len(rows)) - 1] if rows and count else -1
    headings = [i for i, line in enumerate(lines) if line.strip() and not _DIFF_ROW.match(line)]
    return sorted({*rows[:count], *(i for i in headings if i <= last or not rows)})


def _choose_grep(lines: list[str], profile: Profile) -> list[int]:
    """How many were found, then the first matches, each under the file's name where that has a line of its own."""
    filled = [i for i, line in enumerate(lines) if line.strip() and line.strip() != "--"]
    header = [i for i in filled[:1] if _FOUND.match(lines[i])]
    matches = [i for i in filled if _MATCH.match(lines[i])] or filled[len(header) :]
    chosen = dict.fromkeys(header)
    for match in matches[: profile.grep_matches]:
        chosen.update(dict.fromkeys([*_heading(lines, match), match]))
    return list(chosen)


def _heading(lines: list[str], match: int) -> list[int]:
    """The line with the file's name above a match that starts with its line number."""
    if not re.match(r"\s*(?:Line )?\d+:", lines[match]):
        return []
    for number in range(match - 1, -1, -1):
        line = lines[number]
        if not line.strip():
            return []
        if line.strip() != "--" and not _MATCH.match(line) and not _CONTEXT.match(line[:LONG_FIELD]):
            return [number]
    return []


def _choose_bash(lines: list[str], profile: Profile) -> list[int]:
    """Failures first, newest last lines next (where stderr and totals are), then how it began."""
    tail = _newest(profile.bash_stderr_lines, lines)
    return list(dict.fromkeys([*_failures(lines, profile), *tail, *_beginning(lines, profile)]))


def _choose_streams(lines: list[str], stderr: Collection[int], profile: Profile) -> list[int]:
    """Failures first, the newest lines of stderr next and then those of stdout, wherever they are, then how it
    began."""
    numbers = range(filled_lines(lines))
    errors = _last(profile.bash_stderr_lines, [n for n in numbers if n in stderr])
    printed = _last(profile.bash_stdout_lines, [n for n in numbers if n not in stderr])
    newest = [*reversed(errors), *reversed(printed)]
    return list(dict.fromkeys([*_failures(lines, profile), *newest, *_beginning(lines, profile)]))


def _failures(lines: list[str], profile: Profile) -> list[int]:
    return _last(profile.bash_stdout_lines, [i for i, line in enumerate(lines) if reports_failure(line)])


def _beginning(lines: list[str], profile: Profile) -> list[int]:
    return _first(min(profile.bash_stdout_lines, 5), lines)


def _choose_general(lines: list[str], profile: Profile) -> list[int]:
    trouble = [i for i, line in enumerate(lines) if reports_failure(line)][: profile.generic_rows]
    head = _first(profile.generic_rows * 2, lines)
    return list(dict.fromkeys([*trouble, *head, *_newest(profile.generic_rows, lines)]))


def _last(count: int, numbers: list[int]) -> list[int]:
    return numbers[max(len(numbers) - count, 0) :]


def _newest(count: int, lines: list[str]) -> list[int]:
    """The last lines, newest first; blank ones at the very end are no lines to show."""
    end = filled_lines(lines)
    return list(range(end - 1, max(end - 1 - count, -1), -1))


_CHOOSERS: dict[ToolKind, _Chooser] = {
    "ls": lambda lines, profile: _first_entries(profile.ls_entries, lines),
    "glob": lambda lines, profile: _first_entries(profile.glob_entries, lines),
    "grep": _choose_grep,
    "read": lambda lines, profile: list(range(min(len(lines), profile.read_lines + _is_remark(lines)))),
    "edit": lambda lines, profile: _first_changes(profile.edit_diff_lines, lines),
    "multiedit": lambda lines, profile: _first_changes(profile.edit_diff_lines, lines),
    "write": lambda lines, profile: _first_changes(profile.write_diff_lines, lines),
    "bash": _choose_bash,
}


class _Envelope(Struct, frozen=True):
    """A tool envelope as lines: what it says of itself, and what the tool found."""

    head: list[str]
    payload: list[str]
    stderr: range | None = None
    """Where the payload is what a command wrote to stderr; None where nothing says."""


def unwrap(text: str) -> _Envelope | None:
    """The lines of a tool envelope, or None if the text is none.

    `status`, `error` and the scalars of `data` (totals, `truncated`) make the head, its lists, objects and long
    texts the payload; `text`, `stats` and `context` repeat these or are about the run, and go.
    """
    value = decode_json(text)
    if not isinstance(value, dict) or "status" not in value or not ({"data", "error"} & value.keys()):
        return None
    head = [_brief(f"status: {_row(value['status'])}", LONG_FIELD)]
    if value.get("error"):
        head.append(_brief(f"error: {_row(value['error'])}", LONG_ERROR))
    data = value.get("data")
    fields = data if isinstance(data, dict) else {"data": data}
    payload: list[str] = []
    stderr: range | None = None
    for key, field in fields.items():
        if field is None:
            continue
        row = f"{key}: {_row(field)}"
        if isinstance(field, dict | list) or "\n" in row or len(row) > LONG_FIELD or len(head) >= MOST_FACTS:
            rows = [line for row in _rows(key, field) for line in row.split("\n")]
            if key == "stderr":
                stderr = range(len(payload), len(payload) + len(rows))
            payload += rows
        else:
            head.append(row)
    return _Envelope(head, payload, stderr)


def _rows(key: str, field: Json) -> list[str]:
    """A field of the data as rows of the payload; of an object one row a field."""
    if isinstance(field, list):
        return [_row(item) for item in field]
    if isinstance(field, dict):
        return [f"{key}.{name}: {_row(item)}" for name, item in field.items()]
    return [field] if isinstance(field, str) else [f"{key}: {_row(field)}"]


def _row(value: Json) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _brief(text: str, most: int) -> str:
    """A text on one line, cut inside if it is long."""
    line = one_line(text)
    return line if len(line) <= most else clip_line(line, (most - 40) / len(line))


def choose(
    use: ToolUse, text: str, profile: Profile, stderr: Sequence[LineRange] | None = None
) -> LineChoice:
    """The choice a digest makes from a text's own lines, or from those of the envelope that it is. `stderr` are the
    lines of the text, counted from 1, that a command wrote there; None where that is not known."""
    envelope = unwrap(text) or _Envelope([], [])
    facts = len(envelope.head)
    lines = [*envelope.head, *envelope.payload] if facts else text.split("\n")
    errors = envelope.stderr if facts or stderr is None else _numbers(stderr, len(lines))
    payload = [facts + number for number in choose_lines(use, lines[facts:], profile, errors)]
    in_order = use.kind in IN_ORDER
    numbers = [*range(facts), *payload]
    trouble = {n for n in (range(facts) if in_order else numbers) if reports_failure(lines[n])}
    return LineChoice(lines, numbers, facts, in_order, frozenset({*payload[:1], *trouble}))


def _numbers(ranges: Sequence[LineRange], total: int) -> frozenset[int]:
    """The lines of a text that are in the ranges, as numbers from 0."""
    return frozenset(
        number
        for first, last in merge_ranges(ranges)
        for number in range(max(first - 1, 0), min(last, total))
    )


def digest_json(text: str, profile: Profile) -> str | None:
    """A smaller JSON document with the same shape: scalars stay, lists keep their first rows and their length.
    None if the text is not a JSON object or list."""
    value = decode_json(text)
    if not isinstance(value, dict | list):
        return None
    return msgspec.json.encode(_shape(value, profile.generic_rows, 0)).decode()


def _shape(value: Json, rows: int, depth: int) -> Json:
    if isinstance(value, str):
        return value if len(value) <= LONG_FIELD else f"{value[:160]}… ({len(value)} characters)"
    if isinstance(value, list):
        if depth > DEEPEST:
            return f"… list of {len(value)}"
        kept = [_shape(v, rows, depth + 1) for v in value[:rows]]
        return [*kept, f"… {len(value) - rows} more of {len(value)}"] if len(value) > rows else kept
    if isinstance(value, dict):
        if depth > DEEPEST:
            return f"… object with {len(value)} keys"
        kept_items = list(value.items())[: rows * 6]
        shaped = {k: _shape(v, rows, depth + 1) for k, v in kept_items}
        if len(value) > len(kept_items):
            shaped["…"] = f"{len(value) - len(kept_items)} more keys"
        return shaped
    return value
