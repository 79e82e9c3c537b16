"""Leftovers of work in progress: breakpoints, debug prints, TODO notes, conflict markers, files of tools.

Rule: a breakpoint counts anywhere; printing is a leftover only in a file that did not print before and is not a
program; a note that was moved is not new. Conflict markers count only as complete sets, in order and in the first
column; a `=======` underline is none, nor is a string or a fenced block that shows them. Files go by name and mode;
the content of a binary file is not read.
"""

import re
from collections.abc import Iterator

from holdfast.review.checks.check_input import CheckInput, ReviewRule
from holdfast.review.diff import DiffLine, FileChange
from holdfast.review.file_types import LanguageFamily, is_program_file, is_test_file, language_family
from holdfast.review.finding import Finding, Severity

BREAKPOINT = ReviewRule(
    "breakpoint",
    "A breakpoint is left",
    "It stops the program and waits for a person.",
    "high",
    "leftover",
)
PRINTED = ReviewRule(
    "debug-print",
    "A debug print is added",
    "Library code that prints surprises its users. Remove it, or use the log.",
    "low",
    "leftover",
)
NOTE = ReviewRule(
    "note",
    "A TODO note is added",
    "Open work is better tracked where people look for it.",
    "info",
    "leftover",
)
CONFLICT = ReviewRule(
    "conflict-marker",
    "A conflict marker is left",
    "A merge was not finished: the file contains both sides and the lines between them.",
    "critical",
    "bug",
)
STRAY = ReviewRule(
    "stray-file",
    "A file that a tool left behind is added",
    "Compiled files, editor backups and rejected patches belong in `.gitignore`.",
    "low",
    "leftover",
)
ENVIRONMENT = ReviewRule(
    "environment-file",
    "A file of environment variables is added",
    "Such files contain what must not be shared. Add an `.env.example` without values.",
    "medium",
    "security",
)
EXECUTABLE = ReviewRule(
    "executable-mode",
    "A file that is not a program is made executable",
    "It has no `#!` line, so a shell would run it as shell commands.",
    "low",
    "other",
)
RULES = (BREAKPOINT, PRINTED, NOTE, CONFLICT, STRAY, ENVIRONMENT, EXECUTABLE)

_BREAKPOINTS: dict[LanguageFamily, re.Pattern[str]] = {
    "python": re.compile(
        r"\s*(?:breakpoint\(\)|(?:import i?pdb; ?)?(?:i?pdb|pudb|wdb|web_pdb)\.set_trace\(\))"
    ),
    "js": re.compile(r"\s*debugger;?\s*(?:/[/*].*)?$"),
    "ruby": re.compile(r"\s*(?:binding\.(?:pry|irb|break)|byebug|debugger)\s*$"),
    "rust": re.compile(r"(?:[^\"/]*[\s(=,{])?dbg!\("),
    "php": re.compile(r"\s*(?:var_dump|dd|xdebug_break)\("),
    "go": re.compile(r"\s*(?:spew\.Dump|pp\.Println|runtime\.Breakpoint)\("),
}
_PRINTS: dict[LanguageFamily, re.Pattern[str]] = {
    "python": re.compile(r"\s*p?print\((?!.*\bfile\s*=)"),
    "js": re.compile(r"\s*console\.(?:log|debug|dir|trace)\("),
    "go": re.compile(r"\s*(?:fmt\.Print(?:ln|f)?|println)\("),
    "java": re.compile(r"\s*System\.(?:out|err)\.print(?:ln|f)?\("),
    "rust": re.compile(r"\s*e?println!\("),
    "ruby": re.compile(r"\s*(?:puts|pp) [a-z@]"),
}
_RUNS_ALONE = re.compile(
    r"""(?mx) ^if\ __name__\ ==|^\#!|^\s*(?:import|from)\ (?:argparse|click|typer|fire|optparse)\b|^package\ main\b
    | \bfn\ main\( | static\ void\ main\( | ["']commander["'] | \bprocess\.argv\b"""
)
_FEW = 3
"""More prints in one change mean that the file is meant to print."""

_NOTE = re.compile(
    r"(?:(?:^|\s)(?:\#|//|--|;|%|<!--)|/\*|^\s*\*(?!\*))\s*(?:@?(?:TODO|FIXME|XXX))\b(?![\w-])(?!\s*[|/,])"
)
_START = re.compile(r"<{7}(?: \S.*)?\r?")
_MIDDLE = re.compile(r"={7}\r?")
_END = re.compile(r">{7}(?: \S.*)?\r?")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_STRAY = re.compile(
    r"""(?x) (?:^|/) (?: \.DS_Store | Thumbs\.db | desktop\.ini
      | [^/]+\.(?:pyc|pyo|class|o|obj|orig|rej|swp|swo|bak) | [^/]+~ | npm-debug\.log | core\.\d+ ) $
    | (?:^|/) (?: __pycache__ | \.pytest_cache | \.mypy_cache | node_modules | \.ipynb_checkpoints ) /
    """
)
_ENVIRONMENT = re.compile(r"(?:^|/)\.env(?:\.(?:local|production|prod|development|dev|staging))?$")


def check(change: CheckInput) -> Iterator[Finding]:
    for file in change.diff.files:
        yield from _stray(change, file)
    for file in change.files():
        if file.change == "deleted":
            continue
        yield from _conflicts(change, file)
        if change.has_tag(file.path, "docs", "generated") or language_family(file.path) == "markup":
            continue
        added = change.new_lines(file)
        yield from _breakpoints(change, file, added)
        yield from _prints(change, file, added)
        for line in added:
            if _NOTE.search(line.text):
                yield change.finding(NOTE, file, [line], "A note about unfinished work is added.")


def _breakpoints(change: CheckInput, file: FileChange, added: list[DiffLine]) -> Iterator[Finding]:
    pattern = _BREAKPOINTS.get(language_family(file.path))
    hits = [line for line in added if pattern.match(line.text)] if pattern else []
    severity: Severity | None = "medium" if is_test_file(file.path) else None
    claim = "A breakpoint or debug dump is left here."
    for line in change.in_code(file.path, hits):
        yield change.finding(BREAKPOINT, file, [line], claim, "Remove it.", severity=severity)


def _prints(change: CheckInput, file: FileChange, added: list[DiffLine]) -> Iterator[Finding]:
    pattern = _PRINTS.get(language_family(file.path))
    may_print = is_test_file(file.path) or is_program_file(file.path) or change.has_tag(file.path, "tests")
    if pattern is None or may_print:
        return
    hits = change.in_code(file.path, [line for line in added if pattern.match(line.text)])
    before = "" if file.change == "added" else change.old(file.old_path)
    after = change.new(file.path)
    if not 0 < len(hits) <= _FEW or before is None or after is None:
        return
    if _RUNS_ALONE.search(after) or any(map(pattern.match, before.split("\n"))):
        return
    claim = "This prints, in a file that did not print before."
    for line in hits:
        yield change.finding(PRINTED, file, [line], claim, "Remove it, or write to the log.")


def _conflicts(change: CheckInput, file: FileChange) -> Iterator[Finding]:
    """Start, middle and end; a start without its end does not count."""
    block: list[DiffLine] = []
    for line in file.lines("+"):
        if _START.fullmatch(line.text):
            block = [line]
        elif block and (_MIDDLE, _END)[len(block) - 1].fullmatch(line.text):
            block.append(line)
        if len(block) == 3:
            if not _is_quoted(change, file):
                yield change.finding(CONFLICT, file, block, "Merge conflict markers are left here.")
            block = []


def _is_quoted(change: CheckInput, file: FileChange) -> bool:
    """A Python file that parses has them in a string; a document may have them in a fenced block."""
    text = change.new(file.path)
    if language_family(file.path) == "python":
        return change.tree(file.path) is not None
    if language_family(file.path) != "markup" or text is None:
        return False
    is_fenced = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            is_fenced = not is_fenced
        elif _START.fullmatch(line) and not is_fenced:
            return False
    return True


def _stray(change: CheckInput, file: FileChange) -> Iterator[Finding]:
    if is_test_file(file.path):
        return
    if file.change in ("added", "copied") and not file.is_submodule:
        if _STRAY.search(file.path):
            claim = f"`{file.path}` looks like a file that a tool left behind."
            yield change.finding(STRAY, file, (), claim)
        elif _ENVIRONMENT.search(file.path):
            yield change.finding(ENVIRONMENT, file, (), f"`{file.path}` is added to the repository.")
    if file.new_mode == "100755" and file.old_mode != "100755" and not file.is_binary:
        text = change.new(file.path)
        if text is not None and text.strip() and not text.startswith("#!"):
            claim = f"`{file.path}` is made executable, but is not a program."
            yield change.finding(EXECUTABLE, file, (), claim)
