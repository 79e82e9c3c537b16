"""What was put in to find a fault and should have gone: breakpoints, printed values, notes to oneself.

Rule: a breakpoint is one wherever it stands; printing is a leftover only in a file that did not print before and is
no program; a note that was moved is not new.
"""

import re
from collections.abc import Iterator

from holdfast.review.checks.kinds import Family, family, is_program, is_test
from holdfast.review.checks.scene import Place, Rule, Scene, changed
from holdfast.review.diff import DiffLine, FileChange
from holdfast.review.finding import Finding

BREAKPOINT = Rule(
    "breakpoint",
    "A breakpoint was left",
    "It stops the program and waits for a person.",
    "high",
    "leftover",
)
PRINTED = Rule(
    "debug-print",
    "A value is printed where nothing was before",
    "Library code that writes to the screen surprises whoever uses it. Take it out, or use the log.",
    "low",
    "leftover",
)
NOTE = Rule(
    "note",
    "A note to oneself is added",
    "What is not done yet is better kept where it is looked for.",
    "info",
    "leftover",
)
RULES = (BREAKPOINT, PRINTED, NOTE)

_BREAKPOINTS: dict[Family, re.Pattern[str]] = {
    "python": re.compile(
        r"\s*(?:breakpoint\(\)|(?:import i?pdb; ?)?(?:i?pdb|pudb|wdb|web_pdb)\.set_trace\(\))"
    ),
    "js": re.compile(r"\s*debugger;?\s*(?://.*)?$"),
    "ruby": re.compile(r"\s*(?:binding\.(?:pry|irb|break)|byebug|debugger)\s*$"),
    "rust": re.compile(r"(?:[^\"/]*[\s(=,{])?dbg!\("),
    "php": re.compile(r"\s*(?:var_dump|dd|xdebug_break)\("),
    "go": re.compile(r"\s*(?:spew\.Dump|pp\.Println|runtime\.Breakpoint)\("),
}
_PRINTS: dict[Family, re.Pattern[str]] = {
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


def check(scene: Scene) -> Iterator[Finding]:
    for file in scene.files("docs", "generated"):
        if file.change == "deleted" or family(file.path) == "markup":
            continue
        added = [line for line in changed(file, "+") if line.text.strip() not in scene.removed_texts]
        yield from _breakpoints(scene, file, added)
        yield from _prints(scene, file, added)
        for line in added:
            if _NOTE.search(line.text):
                yield scene.finding(NOTE, Place(file.path, (line,)), "A note of something undone is added.")


def _breakpoints(scene: Scene, file: FileChange, added: list[DiffLine]) -> Iterator[Finding]:
    pattern = _BREAKPOINTS.get(family(file.path))
    hits = [line for line in added if pattern.match(line.text)] if pattern else []
    for line in scene.in_code(file.path, hits):
        yield scene.finding(
            BREAKPOINT,
            Place(file.path, (line,)),
            "A breakpoint or a dump for debugging is left here.",
            "Take it out.",
            "medium" if is_test(file.path) else None,
        )


def _prints(scene: Scene, file: FileChange, added: list[DiffLine]) -> Iterator[Finding]:
    pattern = _PRINTS.get(family(file.path))
    if pattern is None or is_test(file.path) or is_program(file.path) or scene.has_tag(file.path, "tests"):
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
            Place(file.path, (line,)),
            "This prints, in a file that printed nothing before.",
            "Take it out, or write to the log.",
        )
