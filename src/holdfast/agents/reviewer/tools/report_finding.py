"""Why a finding was dropped, in words that help to report it right.

Rule: what stands in the file is shown, as far as it is like what was quoted; nothing is made up.
"""

import asyncio
import difflib
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from holdfast.agents.reviewer.tools.numbered_rows import format_line, strip_line_number
from holdfast.agents.reviewer.tools.review_files import ReviewFiles
from holdfast.messages import Json
from holdfast.review.finding import Category, Finding, Severity, Side
from holdfast.review.findings import ReviewFindings
from holdfast.review.sides import Lines, Sides
from holdfast.review.verification import RejectedFinding, VerifiedFinding, verify_finding
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, build_result, error_result
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import printable_path

MOST_COMPARED = 4_000
"""Lines around the place that are compared with a quote."""
LONGEST = 400
NEAREST = 3
ALIKE = 0.5


class Correction(Struct, frozen=True):
    """What is wrong, and lines of the file that may have been meant."""

    error: ToolError
    rows: tuple[str, ...] = ()


def explain_rejection(rejected: RejectedFinding, finding: Finding, sides: Sides) -> Correction:
    shown = f"`{printable_path(finding.path)}`"
    match rejected.reason:
        case "evidence":
            said = f"the evidence does not stand in the {finding.side} version of {shown}"
            hint, rows = _what_stands(rejected, finding, sides)
            return _dropped(f"{said}: `{rejected.detail}`", hint, rows)
        case "no_evidence":
            return _dropped("there is no evidence", f"Quote the lines of {shown} that show it")
        case "unit":
            return _dropped(
                f"there is no unit `{printable_path(finding.unit[:100])}`", "Ids stand in the index"
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


def _what_stands(rejected: RejectedFinding, finding: Finding, sides: Sides) -> tuple[str, list[str]]:
    quoted = [line for part in finding.evidence for line in part.split("\n")]
    whole = next((line for line in quoted if line.strip().startswith(rejected.detail)), rejected.detail)
    whole = strip_line_number(whole).strip()
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
        return said, [format_line(number, lines[number]) for number in near]
    around = [number for number in lines if abs(number - finding.line) <= NEAREST]
    said = (
        f"No line is like it; what stands at line {finding.line} follows" if around else "No line is like it"
    )
    return said, [format_line(number, lines[number]) for number in around]


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


# What a report did to the findings, as plain data, and the same done again.
#
# Rule: an effect says what stands after it, not what to add, so that one that is done twice is done once. Done in
# order, the effects of all reports give the findings that the reports gave.


class FindingEffect(Struct, frozen=True, kw_only=True):
    """`finding` is the one that stands now, `replaces` the id of the one that stood there; `merged` and `parted`
    are what was put into, and taken from, the names of findings that went into others. Counts are totals."""

    outcome: Literal["kept", "merged", "rejected"]
    finding: Finding | None = None
    replaces: str = ""
    merged: dict[str, str] = field(default_factory=dict)
    parted: tuple[str, ...] = ()
    dropped: dict[str, int] = field(default_factory=dict)
    patches: dict[str, int] = field(default_factory=dict)
    reason: str = ""
    patch_dropped: str = ""


def describe_effect(
    before: ReviewFindings, after: ReviewFindings, outcome: VerifiedFinding | RejectedFinding
) -> dict[str, Json]:
    if isinstance(outcome, RejectedFinding):
        effect = FindingEffect(
            outcome="rejected", reason=outcome.reason, dropped=after.dropped, patches=after.patches
        )
    else:
        gone = {one.id for one in before.kept} - {one.id for one in after.kept}
        effect = FindingEffect(
            outcome="kept" if len(after.kept) > len(before.kept) else "merged",
            finding=after.find(outcome.finding.id),
            replaces=next(iter(gone), ""),
            merged={name: into for name, into in after.merged.items() if before.merged.get(name) != into},
            parted=tuple(name for name in before.merged if name not in after.merged),
            dropped=after.dropped,
            patches=after.patches,
            patch_dropped=outcome.patch or "",
        )
    # As the log gives it back, with lists and no tuples.
    plain: dict[str, Json] = msgspec.json.decode(msgspec.json.encode(effect))
    return plain


def reapply_effect(findings: ReviewFindings, data: Mapping[str, Json], sides: Sides) -> ReviewFindings:
    """The findings with an effect. A finding that no longer stands in the files, since the change became another,
    is left out."""
    effect = msgspec.convert(data, FindingEffect)
    counted = replace(
        findings,
        dropped=_larger(findings.dropped, effect.dropped),
        patches=_larger(findings.patches, effect.patches),
    )
    verified = verify_finding(effect.finding, sides) if effect.finding else None
    if not isinstance(verified, VerifiedFinding):
        return counted
    merged = {name: into for name, into in findings.merged.items() if name not in effect.parted}
    return replace(
        counted,
        kept=_placed(findings.kept, verified.finding, effect.replaces),
        merged=merged | effect.merged,
    )


def _placed(kept: tuple[Finding, ...], finding: Finding, replaces: str) -> tuple[Finding, ...]:
    """At its own place if it has one, else at that of the one it replaces, else behind all."""
    ids = [one.id for one in kept]
    at = next((ids.index(name) for name in (finding.id, replaces) if name in ids), len(kept))
    placed = (*kept[:at], finding, *kept[at + 1 :])
    return tuple(one for one in placed if one.id != replaces or one is finding)


def _larger(ours: Mapping[str, int], theirs: Mapping[str, int]) -> dict[str, int]:
    return {key: max(ours.get(key, 0), theirs.get(key, 0)) for key in sorted({*ours, *theirs})}


# report_finding: one claim about one place of the change, verified before it is kept.
#
# Rule: what cannot be shown in the file is dropped, counted, and answered with what does stand there. `data` says
# what the report did to the findings, so that they can be rebuilt from results alone.

NAME = "report_finding"

_PATCHES = {
    "unreadable": "it is no unified diff",
    "several_files": "it changes several files",
    "other_file": "it changes another file",
    "no_text": "the file's text is not known",
    "does_not_apply": "its lines do not stand in the new version of the file",
    "no_change": "it changes nothing",
    "secret": "there is a secret in it",
}


class ReportArguments(Struct, frozen=True, forbid_unknown_fields=True):
    unit: Annotated[str, Meta(description="Id of the unit that it is about.")]
    line: Annotated[int, Meta(ge=0, description="First line, counted from 1.")]
    last_line: Annotated[int, Meta(ge=0, description="Last line; the same if it is one line.")]
    severity: Severity
    category: Category
    claim: Annotated[str, Meta(min_length=1, max_length=4000, description="What is wrong, and what follows.")]
    evidence: Annotated[
        list[Annotated[str, Meta(max_length=10_000)]],
        Meta(max_length=100, description="Lines of the file that show it, copied exactly."),
    ]
    suggestion: Annotated[str, Meta(max_length=4000, description="What to do about it.")] = ""
    patch: Annotated[str, Meta(max_length=100_000, description="A unified diff that does it.")] = ""
    side: Annotated[Side, Meta(description="`old` for lines that the change deletes.")] = "new"
    path: Annotated[str, Meta(description="The file, if it is another than the unit's.")] = ""


def report_finding_tool(shelf: ReviewFiles) -> Tool:
    return TypedTool(NAME, ReportArguments, prompt_beside(__file__), partial(report_finding, shelf=shelf))


async def report_finding(
    arguments: ReportArguments, workspace: Workspace, *, shelf: ReviewFiles
) -> ToolResult:
    finding = _finding(arguments, workspace, shelf)
    review = shelf.review
    outcome = await asyncio.to_thread(_verified, finding, shelf)
    before = review.findings
    # In the loop's own thread: nobody reads findings while they are replaced.
    review.findings = after = before.take(outcome)
    data = describe_effect(before, after, outcome)
    if isinstance(outcome, RejectedFinding):
        corrected = await asyncio.to_thread(explain_rejection, outcome, finding, review.sides)
        refused = error_result(corrected.error, {"tool": NAME})
        text = "\n".join([refused.envelope.text, *corrected.rows])
        return build_result(replace(refused.envelope, text=text, data=data), refused.shown)
    return _kept(arguments, outcome, after, data)


def _finding(arguments: ReportArguments, workspace: Workspace, shelf: ReviewFiles) -> Finding:
    unit = shelf.review.unit(arguments.unit.strip())
    path = unit.path if unit else ""
    if arguments.path and arguments.path != path:
        change = shelf.change(arguments.path, workspace)
        path = change.path if change else workspace.locate(arguments.path).inner
    return Finding(
        id="",
        unit=arguments.unit.strip(),
        path=path,
        line=arguments.line,
        last_line=max(arguments.last_line, arguments.line),
        side="old" if unit and unit.change == "deleted" and path == unit.path else arguments.side,
        severity=arguments.severity,
        category=arguments.category,
        claim=_writable(arguments.claim),
        evidence=tuple(map(_writable, arguments.evidence)),
        suggestion=_writable(arguments.suggestion),
        patch=_writable(arguments.patch),
    )


def _writable(text: str) -> str:
    """Without halves of characters, which no log could take."""
    return text.encode("utf-8", "replace").decode()


def _verified(finding: Finding, shelf: ReviewFiles) -> VerifiedFinding | RejectedFinding:
    """As it was quoted, else without the signs and numbers that lines are shown with."""
    with shelf.lock:
        outcome = verify_finding(finding, shelf.review.sides)
        if isinstance(outcome, RejectedFinding) and outcome.reason == "evidence":
            bare = replace(finding, evidence=tuple(strip_line_number(line) for line in finding.evidence))
            again = verify_finding(bare, shelf.review.sides)
            return again if isinstance(again, VerifiedFinding) else outcome
        return outcome


def _kept(
    arguments: ReportArguments, outcome: VerifiedFinding, findings: ReviewFindings, data: dict[str, Json]
) -> ToolResult:
    finding = outcome.finding
    stays = findings.find(finding.id)
    assert stays is not None, "a finding that was taken is there"
    where = f"`{printable_path(stays.path)}`:{stays.line}"
    said = [f"Kept as `{stays.id}`: {stays.severity} {stays.category}, {where}."]
    if data["outcome"] == "merged":
        said = [f"This was known: it is one with `{stays.id}` ({stays.severity} {stays.category}, {where})."]
        if stays.claim != finding.claim:
            said.append(f"That one says: {stays.claim}")
    if finding.line != arguments.line:
        said.append(f"The evidence stands in line {finding.line}, not {arguments.line}.")
    if outcome.patch:
        said.append(f"The patch was dropped: {_PATCHES[outcome.patch]}.")
    elif finding.patch:
        said.append("The patch applies.")
    envelope = Envelope(status="success", text=" ".join(said), data=data)
    return build_result(envelope, f"{stays.id} {stays.severity}: {' '.join(stays.claim.split())[:120]}")
