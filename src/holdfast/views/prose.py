"""The sentences that somebody wrote in a message: without code, quotes, pasted output, and what programs add.

Rule: a sentence is a span of the unchanged text, so that it can be quoted word for word; when in doubt whether a
line is written or pasted, a line that looks like a program's is paste. One pass over the text.
"""

import re
from collections.abc import Iterator

TextSpan = tuple[int, int]
"""Where a sentence begins and ends in its text."""

LONGEST_LINE = 2_000
"""Characters from which a line is pasted, not written."""
WRAPPED_LINE = 60
"""Characters from which a line may have been broken for its width, so that its sentence goes on in the next."""

_TAGS = (
    "system-reminder|system_reminder|system_notification|task-notification|subagent_notification|command-name"
    "|command-message|local-command-caveat|local-command-stdout|local-command-stderr|bash-input|bash-stdout"
    "|bash-stderr|user-prompt-submit-hook|environment_context|session_context|current_datetime|ide_opened_file|ide_selection"
)
_WRAPPED = re.compile(rf"<(?P<tag>{_TAGS})(?:\s[^>\n]{{0,200}})?>.*?(?:</(?P=tag)>|\Z)", re.DOTALL)
_AROUND = re.compile(r"</?command-args>")
_VISIBLE = re.compile(r"\S+")

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})([^\n]*)")
_HUNK = re.compile(r"@@ -\d|--- (?:a/|/dev/null)|\+\+\+ (?:b/|/dev/null)|diff --git ")
_PATCHED = ("+", "-", " ", "\\", "@")
_SEARCH, _REPLACED = "<<<<<<< ", ">>>>>>> "
_HEADING = re.compile(r"[ \t]*#{1,6} ")
_BULLET = re.compile(r"[ \t]*(?:(?:[-*+•–]|\(?\d{1,2}[.)]|\[[ xX]\]|[a-zA-Z][.)])[ \t]+)+")
_PASTED = re.compile(
    r"[ \t]*(?:>|\||[{\[]\"|\x1b|(?:INFO|DEBU?G?|WARN|WARNING|ERROR|FATAL|TRACE|Traceback|panic)\b[:| (]"
    r"|\[(?:INFO|DEBUG|WARN|WARNING|ERROR|FATAL)\]|\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d"
    r"|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d|at \S[^\n]{0,300}:\d|File \"|\+ ?\d{1,6} |(?:---|===) ?[A-Z]|[$%➜] "
    r"|\d{1,7}:\s{2,}|[\w./\\-]{1,200}\.\w{1,5}:\d{1,7}\b|[\w.-]{1,60}@[\w.-]{1,60}[ :])"
)
_CODE_END = re.compile(r"[;{}]\s*$|\)\s*[;{]\s*$")
_CELL = re.compile(r"(?:\\\||[^|\n])+")
_END = re.compile(r"[.!?]+[\"'”’)\]*_]*(?=\s|\Z)|[。！？；]+[”’）]*")
_SHORTENED = re.compile(r"(?i)(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|fig|no|dr|mr|ms)|\b[a-z]|\.\.)$")
_LETTER = re.compile(r"[^\W\d_]")


def without_wrappers(text: str) -> str:
    """The text with everything a program added blanked out, so that positions stay."""
    if "<" not in text:
        return text
    return _AROUND.sub(_blank, _WRAPPED.sub(_blank, text))


def _blank(found: re.Match[str]) -> str:
    return _VISIBLE.sub(lambda word: " " * len(word[0]), found[0])


def sentences(text: str) -> Iterator[TextSpan]:
    """The sentences of a message that its writer wrote, in order."""
    prose = without_wrappers(text)
    start = end = -1
    for first, last, goes_on in _written_lines(prose):
        if goes_on and end >= 0 and prose[first].islower():
            end = last
            continue
        if end >= 0:
            yield from _split(prose, start, end)
        start, end = first, last
    if end >= 0:
        yield from _split(prose, start, end)


def _written_lines(text: str) -> Iterator[tuple[int, int, bool]]:
    """Start and end of each written piece, and whether it may continue the line before."""
    at, goes_on = 0, False
    skipping = _Skipping()
    for line in text.split("\n"):
        start, at = at, at + len(line) + 1
        is_skipped = skipping.takes(line)
        if not is_skipped and line.lstrip().startswith("|") and line.count("|") > 2:
            yield from ((start + cell.start(), start + cell.end(), False) for cell in _CELL.finditer(line))
            is_skipped = True
        if is_skipped or not line.strip() or len(line) > LONGEST_LINE or _is_pasted(line):
            goes_on = False
            continue
        bullet = _BULLET.match(line)
        inset = bullet.end() if bullet else len(line) - len(line.lstrip())
        bare = line.rstrip()
        if inset < len(bare):
            yield start + inset, start + len(bare), goes_on and not bullet
        goes_on = len(bare) >= WRAPPED_LINE and bare[-1] not in ".!?:;。！？：；|"


def _is_pasted(line: str) -> bool:
    return bool(
        _HEADING.match(line) or _PASTED.match(line) or (line[:1].isspace() and _CODE_END.search(line))
    )


class _Skipping:
    """What is left out over several lines: fenced code, patches, and blocks to search and replace."""

    def __init__(self) -> None:
        self._fence = ""
        self._in_patch = self._in_search = False

    def takes(self, line: str) -> bool:
        fence = _FENCE.match(line)
        if self._fence:
            if fence and fence[1].startswith(self._fence) and not fence[2].strip():
                self._fence = ""
            return True
        if fence:
            self._fence = fence[1]
            return True
        if self._in_search or line.startswith(_SEARCH):
            self._in_search = not (self._in_search and line.startswith(_REPLACED))
            return True
        self._in_patch = bool(_HUNK.match(line)) or (self._in_patch and line.startswith(_PATCHED))
        return self._in_patch


def _split(text: str, start: int, end: int) -> Iterator[TextSpan]:
    at = start
    for stop in _END.finditer(text, start, end):
        if stop[0][0] == "." and _SHORTENED.search(text, max(at, stop.start() - 12), stop.start()):
            continue
        if sentence := _trimmed(text, at, stop.end()):
            yield sentence
        at = stop.end()
    if sentence := _trimmed(text, at, end):
        yield sentence


def _trimmed(text: str, start: int, end: int) -> TextSpan | None:
    piece = text[start:end]
    inset = len(piece) - len(piece.lstrip())
    if not _LETTER.search(piece):
        return None
    return start + inset, start + len(piece.rstrip())
