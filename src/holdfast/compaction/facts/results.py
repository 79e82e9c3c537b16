"""What a tool's result says of itself: exit code, failure, refusal, and the line that tells most.

Rule: agents say it in many ways, and seldom with a flag; only the ends of a result are read for it, since in the
middle stands what a program printed about others. A result that says nothing has not failed.
"""

import re

from msgspec import Struct

from holdfast.compaction.facts.quoting import line_of
from holdfast.messages import ToolMessage
from holdfast.packing.structure.json_text import decode_json
from holdfast.packing.structure.sight import Sight
from holdfast.packing.structure.traces import mark_traces
from holdfast.packing.structure.value import KEY, Findings
from holdfast.tool_use import ToolUse

HEAD, TAIL = 600, 400
"""Characters at either end of a result in which a program's wrapper speaks."""
LONGEST_TEXT = 60_000
"""Characters of a result of which lines are looked at; of a longer one its two ends."""

_CODE_AT_HEAD = re.compile(
    r"\s*Exit code:? (\d{1,3})\b|(?:[^\n]*\n){0,5}Process exited with code (\d{1,3})\b"
    r"|(?:[^\n]*\n){0,12}<(?:returncode|exit_code)>(\d{1,3})<"
    r"|(?:[^\n]*\n){0,6}\{[^\n]{0,200}\"exit_code\": ?(\d{1,3})\b"
    r"|\{[^\n]{0,400}\"(?:exit_code|exitCode|returncode)\": ?(\d{1,3})\b"
)
_CODE_AT_TAIL = re.compile(
    r"(?i)(?:\bexited|command (?:finished|failed|completed)) with (?:exit )?code:? (\d{1,3})\b"
    r"|\"exit_?code\": ?(\d{1,3})\b|[(\[<]exit code:? (\d{1,3})[)\]>.]|\A\s*exit code:? (\d{1,3})\s*\Z"
    r"|\n(?:exit code|exit status):? (\d{1,3})\s*\Z"
)
_WRAPPED = re.compile(r"\"(?:output|stdout)\": ?\"")
_REFUSED = re.compile(
    r"\s*(?:The user doesn't want to (?:proceed|take)|\[Request interrupted by user|Tool call was rejected"
    r"|(?:The user|User) (?:rejected|declined|denied)|Permission (?:to use|denied by user))"
)
_REASON = re.compile(r"the user (?:said|provided the following reason)[^:\n]{0,60}:\s*(.+)", re.DOTALL)
_NOT_RUN = re.compile(
    r"<tool_use_error>(?:Sibling tool call errored|Cancelled:)|\[no result recorded\]|\[holdfast: no result"
)
_FAILED_CALL = re.compile(
    r"\s*(?:<tool_use_error>|(?:\w+ ){0,3}(?:Error|ERROR)\b[^\n]{0,4}[: ]|error: |fatal: |InputValidationError"
    r"|Could not find the exact text|No replacement was performed|Argument Validation Error"
    r"|Your proposed edit has introduced new syntax error"
    r"|\{\"(?:is_?error|error)\": ?(?:true|\"|\{)|\{\"status\": ?\"error\")"
)
_SAID_WRONG = re.compile(
    r"(?:command not found|No such file or directory|Permission denied|not a git repository)\s*$"
    r"|^(?:fatal|error|npm error|npm ERR!|panic|make(?:\[\d\])?: \*\*\*|bash|zsh(?::\d+)?|sh(?:: \d+)?):? \S",
    re.MULTILINE,
)
_COMPILER = re.compile(
    r"^[^\s:][^\n:]{0,200}(?::\d+|\(\d+)(?:[:,]\d+)?\)?: (?:fatal )?error\b[^\n]*"
    r"|^error(?:\[E\d+\]| TS\d+|:)[^\n]*|^[^\n]{0,200} error TS\d+:[^\n]*|^\[ERROR\] [^\n]*"
    r"|^[\w./-]{1,200}\.go:\d+:\d+: [^\n]*",
    re.MULTILINE,
)
_PLACED = re.compile(r"^[\w./-]{1,200}\.\w{1,5}:\d+:\d+:? [^\n]*", re.MULTILINE)
"""What a linter writes: a place, and what is wrong there, be it an error or a warning."""
_RAISED = re.compile(r"[\w.]{1,100}(?:Error|Exception|Interrupt|Exit)\b")
_SAYS_ERROR = re.compile(
    r"\W{0,8}(?:[Ee]rror|ERROR|[Ff]atal|panic|npm err(?:or|!)|npm ERR!|make(?:\[\d+\])?: \*\*\*"
    r"|[\w.]{0,80}(?:Error|Exception)|\S{1,80}: (?:error|fatal|command not found|[Nn]o such file))\b"
)
_ERROR_LINE = re.compile(
    r"(?i)\b(?:\w*error|\w*exception|fatal|failed|failure|panic|denied|not found|no such|cannot)\b"
)
_NO_TALK = re.compile(
    r"\s*(?:Exit code:? \d|Chunk ID: |Wall time|Process exited with|Original token count|Output:|Script completed"
    r"|<?/?\w{0,20}>?\s*$|\[\w[\w:-]{0,30}\] \$ |\$ |> |>?\s*\d+ ?[│|])"
)
"""Lines of a wrapper around the output, echoes of the command, and lines of source with their numbers."""
_CODE = re.compile(r"[;{}(,]\s*$|\)\s*;?\s*$")


class Outcome(Struct, frozen=True, gc=False):
    """How a call ended. `line` is the line of its result that tells most of a failure, empty where it went well."""

    exit_code: int | None = None
    is_failed: bool = False
    is_refused: bool = False
    """A person did not let it happen; `line` is what they said, if anything."""
    is_run: bool = True
    line: str = ""


NOT_RUN = Outcome(is_run=False)


def outcome_of(use: ToolUse, result: ToolMessage | None, text: str) -> Outcome:
    """What a result says about how its call went."""
    if result is None or _NOT_RUN.match(text):
        return NOT_RUN
    if _REFUSED.match(text):
        return Outcome(is_refused=True, is_run=False, line=_reason(text))
    code = exit_code(text)
    if code is not None:
        failed = code != 0
    else:
        failed = result.error or (bool(_FAILED_CALL.match(text, 0, HEAD)) and _may_fail_so(use, text))
    return Outcome(code, failed, line=telling_line(text) if failed else "")


def printed(text: str) -> str:
    """What a program printed, out of the JSON that some tools wrap it in, below what they say about it."""
    start = text.find("{", 0, HEAD)
    if start < 0 or not _WRAPPED.search(text, start, start + HEAD):
        return text
    value = decode_json(text[start:])
    if not isinstance(value, dict):
        return text
    said = [value[key] for key in ("output", "stdout", "stderr") if isinstance(value.get(key), str)]
    codes = [value[key] for key in ("exit_code", "exitCode", "returncode") if isinstance(value.get(key), int)]
    head = f"Exit code: {codes[0]}\n" if codes else text[:start]
    return head + "\n".join(said) if said else text


def exit_code(text: str) -> int | None:
    """The exit code that a result gives, at its head or its tail; None where it gives none."""
    found = _CODE_AT_HEAD.match(text[:HEAD]) or _CODE_AT_TAIL.search(text[-TAIL:])
    return next((int(code) for code in found.groups() if code is not None), None) if found else None


def _may_fail_so(use: ToolUse, text: str) -> bool:
    """What a read or a search shows may well begin with somebody's error; a message about it is short."""
    shows = use.kind in ("read", "grep", "ls", "glob")
    return not shows or len(text) < HEAD or text.startswith("<tool_use_error>")


def _reason(text: str) -> str:
    found = _REASON.search(text)
    return found[1].strip() if found else ""


def went_wrong(text: str) -> bool:
    """Whether what a program printed ends in an error, where nothing else says how it ended."""
    ends = bounded(text)
    return bool(_COMPILER.search(ends) or _SAID_WRONG.search(ends[-TAIL * 4 :]) or _ends_in_trace(ends))


def _ends_in_trace(text: str) -> bool:
    if "Traceback (most recent call last)" not in text:
        return False
    last = text.rstrip().rsplit("\n", 1)[-1]
    return bool(_RAISED.match(last))


def bounded(text: str) -> str:
    """A text, or its two ends."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[: LONGEST_TEXT // 2]}\n{text[-LONGEST_TEXT // 2 :]}"


def telling_line(text: str) -> str:
    """The line of a failed result that says most: a compiler's error, a trace's, or the first that names one."""
    body = bounded(text).replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    if found := _COMPILER.search(body) or _PLACED.search(body):
        return line_of(found[0])
    lines = [line for line in body.split("\n") if not _NO_TALK.match(line)] or [""]
    sight = Sight(lines)
    findings = Findings(sight.count)
    mark_traces(sight, findings)
    if keys := [n for n, bonus in enumerate(findings.bonus) if bonus == KEY and _ERROR_LINE.search(lines[n])]:
        return line_of(lines[keys[-1]])
    says = next((line for line in lines if _SAYS_ERROR.match(line)), "")
    hints = (line for line in lines if _ERROR_LINE.search(line[:2_000]) and not _CODE.search(line[-80:]))
    return line_of(says or next(hints, "") or next((line for line in lines if line.strip()), ""))
