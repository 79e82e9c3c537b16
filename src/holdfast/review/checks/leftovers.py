"""Leftovers of work in progress: breakpoints, debug prints, TODO notes.

Rule: a breakpoint counts anywhere; printing is a leftover only in a file that did not print before and is not a
program; a note that was moved is not new.
"""

import re
from collections.abc import Iterator

from holdfast.review.checks.check_input import CheckInput, ReviewRule
from holdfast.review.diff import DiffLine, FileChange
from holdfast.review.file_types import (
    LanguageFamily,
    is_program_file,
    is_test_file,
    language_family,
)
from holdfast.review.finding import Finding

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
RULES = (BREAKPOINT, PRINTED, NOTE)

_BREAKPOINTS: dict[LanguageFamily, re.Pattern[str]] = {
    "python": re.compile(
        r"\s*(?:breakpoint\(\)|(?:import i?pdb; ?)?(?:i?pdb|pudb|wdb|web_pdb)\.set_trace\(\))"
    ),
    "js": re.compile(r"\s*debugger;?\s*(?://.*)?$"),
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


def check(change: CheckInput) -> Iterator[Finding]:
    for file in change.files("docs", "generated"):
        if file.change == "deleted" or language_family(file.path) == "markup":
            continue
        added = [line for line in file.lines("+") if line.text.strip() not in change.removed_texts]
        yield from _breakpoints(change, file, added)
        yield from _prints(change, file, added)
        for line in added:
            if _NOTE.search(line.text):
                yield change.finding(NOTE, file.path, [line], "A note about unfinished work is added.")


def _breakpoints(change: CheckInput, file: FileChange, added: list[DiffLine]) -> Iterator[Finding]:
    pattern = _BREAKPOINTS.get(language_family(file.path))
    hits = [line for line in added if pattern.match(line.text)] if pattern else []
    for line in change.in_code(file.path, hits):
        yield change.finding(
            BREAKPOINT,
            file.path,
            [line],
            "A breakpoint or debug dump is left here.",
            "Remove it.",
            severity="medium" if is_test_file(file.path) else None,
        )


def _prints(change: CheckInput, file: FileChange, added: list[DiffLine]) -> Iterator[Finding]:
    pattern = _PRINTS.get(language_family(file.path))
    if (
        pattern is None
        or is_test_file(file.path)
        or is_program_file(file.path)
        or change.has_tag(file.path, "tests")
    ):
        return
    hits = change.in_code(file.path, [line for line in added if pattern.match(line.text)])
    before = "" if file.change == "added" else change.old(file.old_path)
    after = change.new(file.path)
    if not 0 < len(hits) <= _FEW or before is None or after is None:
        return
    if _RUNS_ALONE.search(after) or any(map(pattern.match, before.split("\n"))):
        return
    for line in hits:
        yield change.finding(
            PRINTED,
            file.path,
            [line],
            "This prints, in a file that did not print before.",
            "Remove it, or write to the log.",
        )
