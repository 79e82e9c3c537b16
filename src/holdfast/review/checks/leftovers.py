"""What was put in to find a fault and should have gone: breakpoints, printed values, notes to oneself.

Rule: a breakpoint is one wherever it stands; printing is a leftover only in a file that did not print before and is
no program; a note that was moved is not new.
"""

import re
from collections.abc import Iterator

from holdfast.review.checks.check_input import CheckInput, FindingPlace, ReviewRule, changed_lines
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
    "A breakpoint was left",
    "It stops the program and waits for a person.",
    "high",
    "leftover",
)
PRINTED = ReviewRule(
    "debug-print",
    "A value is printed where nothing was before",
    "Library code that writes to the screen surprises whoever uses it. Take it out, or use the log.",
    "low",
    "leftover",
)
NOTE = ReviewRule(
    "note",
    "A note to oneself is added",
    "What is not done yet is better kept where it is looked for.",
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
"""More prints than that in one change are what the file is for."""

_NOTE = re.compile(
    r"(?:(?:^|\s)(?:\#|//|--|;|%|<!--)|/\*|^\s*\*(?!\*))\s*(?:@?(?:TODO|FIXME|XXX))\b(?![\w-])(?!\s*[|/,])"
)


def check(scene: CheckInput) -> Iterator[Finding]:
    for file in scene.files("docs", "generated"):
        if file.change == "deleted" or language_family(file.path) == "markup":
            continue
        added = [line for line in changed_lines(file, "+") if line.text.strip() not in scene.removed_texts]
        yield from _breakpoints(scene, file, added)
        yield from _prints(scene, file, added)
        for line in added:
            if _NOTE.search(line.text):
                yield scene.finding(
                    NOTE, FindingPlace(file.path, (line,)), "A note of something undone is added."
                )


def _breakpoints(scene: CheckInput, file: FileChange, added: list[DiffLine]) -> Iterator[Finding]:
    pattern = _BREAKPOINTS.get(language_family(file.path))
    hits = [line for line in added if pattern.match(line.text)] if pattern else []
    for line in scene.in_code(file.path, hits):
        yield scene.finding(
            BREAKPOINT,
            FindingPlace(file.path, (line,)),
            "A breakpoint or a dump for debugging is left here.",
            "Take it out.",
            "medium" if is_test_file(file.path) else None,
        )


def _prints(scene: CheckInput, file: FileChange, added: list[DiffLine]) -> Iterator[Finding]:
    pattern = _PRINTS.get(language_family(file.path))
    if (
        pattern is None
        or is_test_file(file.path)
        or is_program_file(file.path)
        or scene.has_tag(file.path, "tests")
    ):
        return
    hits = scene.in_code(file.path, [line for line in added if pattern.match(line.text)])
    before = "" if file.change == "added" else scene.old(file.old_path)
    after = scene.new(file.path)
    if not 0 < len(hits) <= _FEW or before is None or after is None:
        return
    if _RUNS_ALONE.search(after) or any(map(pattern.match, before.split("\n"))):
        return
    for line in hits:
        yield scene.finding(
            PRINTED,
            FindingPlace(file.path, (line,)),
            "This prints, in a file that printed nothing before.",
            "Take it out, or write to the log.",
        )
