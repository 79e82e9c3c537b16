"""report_finding: one claim about one place of the change, verified before it is kept.

Rule: what cannot be shown in the file is dropped, counted, and answered with what does stand there. `data` says
what the report did to the findings, so that they can be rebuilt from results alone.
"""

import asyncio
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from holdfast.agents.reviewing.tools.correcting import correction
from holdfast.agents.reviewing.tools.effects import effect_of
from holdfast.agents.reviewing.tools.rows import without_number
from holdfast.agents.reviewing.tools.shelf import Shelf
from holdfast.messages import Json
from holdfast.review.finding import Category, Finding, Severity, Side
from holdfast.review.findings import Findings
from holdfast.review.verifying import Rejected, Verified, verify
from holdfast.tools.envelope import Envelope, ToolResult, answered, failed
from holdfast.tools.places import name_for_people
from holdfast.tools.protocol import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

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


def report_finding_tool(shelf: Shelf) -> Tool:
    return TypedTool(NAME, ReportArguments, prompt_beside(__file__), partial(report_finding, shelf=shelf))


async def report_finding(arguments: ReportArguments, workspace: Workspace, *, shelf: Shelf) -> ToolResult:
    finding = _finding(arguments, workspace, shelf)
    review = shelf.review
    outcome = await asyncio.to_thread(_verified, finding, shelf)
    before = review.findings
    # In the loop's own thread: nobody reads findings while they are replaced.
    review.findings = after = before.take(outcome)
    data = effect_of(before, after, outcome)
    if isinstance(outcome, Rejected):
        corrected = await asyncio.to_thread(correction, outcome, finding, review.sides)
        refused = failed(corrected.error, {"tool": NAME})
        text = "\n".join([refused.envelope.text, *corrected.rows])
        return answered(replace(refused.envelope, text=text, data=data), refused.shown)
    return _kept(arguments, outcome, after, data)


def _finding(arguments: ReportArguments, workspace: Workspace, shelf: Shelf) -> Finding:
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


def _verified(finding: Finding, shelf: Shelf) -> Verified | Rejected:
    """As it was quoted, else without the signs and numbers that lines are shown with."""
    with shelf.lock:
        outcome = verify(finding, shelf.review.sides)
        if isinstance(outcome, Rejected) and outcome.reason == "evidence":
            bare = replace(finding, evidence=tuple(without_number(line) for line in finding.evidence))
            again = verify(bare, shelf.review.sides)
            return again if isinstance(again, Verified) else outcome
        return outcome


def _kept(
    arguments: ReportArguments, outcome: Verified, findings: Findings, data: dict[str, Json]
) -> ToolResult:
    finding = outcome.finding
    stays = findings.find(finding.id)
    assert stays is not None, "a finding that was taken is there"
    where = f"`{name_for_people(stays.path)}`:{stays.line}"
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
    return answered(envelope, f"{stays.id} {stays.severity}: {' '.join(stays.claim.split())[:120]}")
