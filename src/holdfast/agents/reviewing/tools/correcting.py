"""Why a finding was dropped, in words that help to report it right.

Rule: what stands in the file is shown, as far as it is like what was quoted; nothing is made up.
"""

import difflib
from collections.abc import Iterable

from msgspec import Struct

from holdfast.agents.reviewing.tools.rows import said_row, without_number
from holdfast.review.finding import Finding, Side
from holdfast.review.places import Lines, Sides
from holdfast.review.verifying import Rejected
from holdfast.tools.envelope import ToolError
from holdfast.tools.places import name_for_people

MOST_COMPARED = 4_000
"""Lines around the place that are compared with a quote."""
LONGEST = 400
NEAREST = 3
ALIKE = 0.5


class Correction(Struct, frozen=True):
    """What is wrong, and lines of the file that may have been meant."""

    error: ToolError
    rows: tuple[str, ...] = ()


def correction(rejected: Rejected, finding: Finding, sides: Sides) -> Correction:
    shown = f"`{name_for_people(finding.path)}`"
    match rejected.reason:
        case "evidence":
            said = f"the evidence does not stand in the {finding.side} version of {shown}"
            hint, rows = _what_stands(rejected, finding, sides)
            return _dropped(f"{said}: `{rejected.detail}`", hint, rows)
        case "no_evidence":
            return _dropped("there is no evidence", f"Quote the lines of {shown} that show it")
        case "unit":
            return _dropped(
                f"there is no unit `{name_for_people(finding.unit[:100])}`", "Ids stand in the index"
            )
        case "file":
            return _dropped(
                f"the {finding.side} version of {shown} is not known",
                "Only files of the versions under review can be quoted; name the unit and leave `path` out",
            )
        case reason:
            return _dropped(f"its `{reason}` is empty or unknown", "")


def _dropped(why: str, hint: str, rows: Iterable[str] = ()) -> Correction:
    return Correction(ToolError("INVALID_PARAM", f"the finding was dropped: {why}", hint=hint), tuple(rows))


def _what_stands(rejected: Rejected, finding: Finding, sides: Sides) -> tuple[str, list[str]]:
    quoted = [line for part in finding.evidence for line in part.split("\n")]
    whole = next((line for line in quoted if line.strip().startswith(rejected.detail)), rejected.detail)
    whole = without_number(whole).strip()
    other: Side = "old" if finding.side == "new" else "new"
    for number, line in (sides.lines(finding.path, other) or {}).items():
        if line.strip() == whole and whole:
            return (
                f'It stands in line {number} of the {other} version: set `side` to "{other}" if so meant',
                [],
            )
    lines = sides.safe_lines(finding.path, finding.side)
    near = _near(whole, lines, finding.line)
    if near:
        said = "Lines that are like it follow; copy one exactly if it is meant"
        return said, [said_row(number, lines[number]) for number in near]
    around = [number for number in lines if abs(number - finding.line) <= NEAREST]
    said = (
        f"No line is like it; what stands at line {finding.line} follows" if around else "No line is like it"
    )
    return said, [said_row(number, lines[number]) for number in around]


def _near(quoted: str, lines: Lines, line: int) -> list[int]:
    """The numbers of the lines most like a quote, in order."""
    wanted = quoted[:LONGEST]
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    scored: list[tuple[float, int, int]] = []
    for number in sorted(lines, key=lambda n: abs(n - line))[:MOST_COMPARED]:
        score = _alike(matcher, lines[number].strip()[:LONGEST])
        if score >= ALIKE:
            scored.append((-score, abs(number - line), number))
    return sorted(number for _, _, number in sorted(scored)[:NEAREST])


def _alike(matcher: "difflib.SequenceMatcher[str]", text: str) -> float:
    if not text:
        return 0.0
    matcher.set_seq1(text)
    # Cheap bounds first: most lines are nothing like it.
    for bound in (matcher.real_quick_ratio, matcher.quick_ratio):
        if bound() < ALIKE:
            return 0.0
    return matcher.ratio()
