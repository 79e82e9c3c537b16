"""report_finding: one claim about one place in the change, verified before it is kept. list_findings: the findings
so far, word for word. set_level: how closely a unit is reviewed.

Rule: what cannot be shown in the file is dropped, counted, and answered with what the file does contain. `data`
says how the report changed the findings, so that they can be rebuilt from results alone: it gives the state after
the report, not what to add, so applying it twice is applying it once. A list gives the current state, not what the
model remembers. The level that a model asks for is combined with that of the rules and never replaces it.
"""

import asyncio
import difflib
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from holdfast.agents.reviewer.tools.file_lines import format_line, strip_line_number
from holdfast.agents.reviewer.tools.review_files import ReviewFiles, listing_result, require_unit
from holdfast.messages import Json
from holdfast.numbers import count_noun
from holdfast.review.finding import SEVERITIES, Category, Finding, Severity, Side
from holdfast.review.findings import (
    NumberedLines,
    RejectedFinding,
    ReviewFindings,
    Sides,
    VerifiedFinding,
    verify_finding,
)
from holdfast.review.unit import ReviewLevel
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, build_result, error_result, tool_result
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import printable_path

_BY = {"rule": "the rules decided", "model": "you decided", "larger": "the larger of both"}


class LevelArguments(Struct, frozen=True, forbid_unknown_fields=True):
    unit: Annotated[str, Meta(description="Id of a unit, such as `u-0123456789ab`.")]
    level: Annotated[ReviewLevel, Meta(description="How much of it should be read.")]
    reason: Annotated[str, Meta(min_length=1, max_length=500, description="Why, in a few words.")]


async def set_level(arguments: LevelArguments, _workspace: Workspace, *, files: ReviewFiles) -> ToolResult:
    unit = require_unit(files.review, arguments.unit)
    decided = files.review.ask_level(unit, arguments.level)
    asked = "" if decided.level == arguments.level else f", not `{arguments.level}`"
    text = f"`{unit.id}` is looked at as `{decided.level}`{asked}: {_BY[decided.by]}, {decided.reason}."
    data: dict[str, Json] = {
        "unit": unit.id,
        "asked": arguments.level,
        "reason": arguments.reason,
        "decision": {"level": decided.level, "by": decided.by, "reason": decided.reason},
    }
    return build_result(Envelope(status="success", text=text, data=data), f"{unit.id}: {decided.level}")


MOST_SHOWN = 100
MOST_CHARACTERS = 60_000


class FindingsArguments(Struct, frozen=True, forbid_unknown_fields=True):
    severity: Annotated[
        Severity | Literal[""], Meta(description="Lowest severity to list; all if left out.")
    ] = ""


async def list_findings(
    arguments: FindingsArguments, _workspace: Workspace, *, files: ReviewFiles
) -> ToolResult:
    findings = files.review.findings
    least = SEVERITIES.index(arguments.severity) if arguments.severity else 0
    ranked = [one for one in findings.ranked() if SEVERITIES.index(one.severity) >= least]
    blocks: list[str] = []
    for one in ranked[:MOST_SHOWN]:
        block = _describe_finding(one)
        if blocks and sum(map(len, blocks)) + len(block) > MOST_CHARACTERS:
            break
        blocks.append(block)
    shown = ranked[: len(blocks)]
    is_whole = len(shown) == len(ranked)
    which = f" of severity {arguments.severity} or more" if arguments.severity else ""
    head = f"{count_noun(len(ranked), 'finding')}{which}."
    notes = [] if is_whole else [f"{len(shown)} of {len(ranked)} are shown, the most severe"]
    if findings.dropped:
        counts = ", ".join(f"{reason} {number}" for reason, number in findings.dropped.items())
        notes.append(f"reports that were dropped: {counts}")
    data: dict[str, Json] = {"total": len(ranked), "findings": msgspec.to_builtins(shown)}
    return listing_result([head, *blocks], notes, data, is_whole=is_whole, shown=head)


def _describe_finding(finding: Finding) -> str:
    """A finding in full, with a bar before each quoted line."""
    lines = f"{finding.line}" if finding.line == finding.last_line else f"{finding.line}-{finding.last_line}"
    old = " (old side)" if finding.side == "old" else ""
    rule = f", rule {' and '.join((finding.rule, *finding.also))}" if finding.rule else ""
    where = f"`{printable_path(finding.path)}`:{lines}{old}, unit `{finding.unit}`{rule}"
    rows = [f"`{finding.id}` {finding.severity} {finding.category}, {where}: {finding.claim}"]
    rows += [f"    | {line}" for line in finding.evidence]
    if finding.suggestion:
        rows.append(f"    suggestion: {finding.suggestion}")
    if finding.patch:
        rows += ["    patch:", *(f"    | {line}" for line in finding.patch.rstrip("\n").split("\n"))]
    return "\n".join(rows)


MOST_COMPARED = 4_000
"""Lines around the place that are compared with a quote."""
MAX_LENGTH = 400
NEAREST = 3
SIMILAR = 0.5

_PATCH_PROBLEMS = {
    "unreadable": "it is not a unified diff",
    "several_files": "it changes several files",
    "other_file": "it changes another file",
    "no_text": "the file's text is not known",
    "does_not_apply": "its lines are not in the new version of the file",
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


async def report_finding(
    arguments: ReportArguments, workspace: Workspace, *, files: ReviewFiles
) -> ToolResult:
    finding = _finding(arguments, workspace, files)
    review = files.review
    outcome = await asyncio.to_thread(_verify, finding, files)
    before = review.findings
    # In the thread of the event loop: nobody reads findings while they are replaced.
    review.findings = after = before.add(outcome)
    data = describe_effect(before, after, outcome)
    if isinstance(outcome, RejectedFinding):
        error, rows = await asyncio.to_thread(_explain_rejection, outcome, finding, review.sides)
        rejected = error_result(error, {"tool": "report_finding"})
        text = "\n".join([rejected.envelope.text, *rows])
        return build_result(replace(rejected.envelope, text=text, data=data), rejected.shown)
    return _kept_result(arguments, outcome, after, data)


def _finding(arguments: ReportArguments, workspace: Workspace, files: ReviewFiles) -> Finding:
    unit = files.review.unit(arguments.unit.strip())
    path = unit.path if unit else ""
    if arguments.path and arguments.path != path:
        change = files.change(arguments.path, workspace)
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
    """Without unpaired surrogates, which a log cannot store."""
    return text.encode("utf-8", "replace").decode()


def _verify(finding: Finding, files: ReviewFiles) -> VerifiedFinding | RejectedFinding:
    """As it was quoted, else without the signs and numbers that lines are shown with."""
    with files.lock:
        outcome = verify_finding(finding, files.review.sides)
        if isinstance(outcome, RejectedFinding) and outcome.reason == "evidence":
            stripped = replace(finding, evidence=tuple(strip_line_number(line) for line in finding.evidence))
            again = verify_finding(stripped, files.review.sides)
            return again if isinstance(again, VerifiedFinding) else outcome
        return outcome


def _kept_result(
    arguments: ReportArguments, outcome: VerifiedFinding, findings: ReviewFindings, data: dict[str, Json]
) -> ToolResult:
    finding = outcome.finding
    stays = findings.find(finding.id)
    assert stays is not None, "a verified finding is kept"
    where = f"`{printable_path(stays.path)}`:{stays.line}"
    text = [f"Kept as `{stays.id}`: {stays.severity} {stays.category}, {where}."]
    if data["outcome"] == "merged":
        text = [f"Already reported: merged into `{stays.id}` ({stays.severity} {stays.category}, {where})."]
        if stays.claim != finding.claim:
            text.append(f"That one says: {stays.claim}")
    if finding.line != arguments.line:
        text.append(f"The evidence is at line {finding.line}, not {arguments.line}.")
    if outcome.patch_problem:
        text.append(f"The patch was dropped: {_PATCH_PROBLEMS[outcome.patch_problem]}.")
    elif finding.patch:
        text.append("The patch applies.")
    shown = f"{stays.id} {stays.severity}: {' '.join(stays.claim.split())[:120]}"
    return tool_result(" ".join(text), shown, data=data)


def _explain_rejection(
    rejected: RejectedFinding, finding: Finding, sides: Sides
) -> tuple[ToolError, list[str]]:
    """What is wrong, and lines of the file that may have been meant."""
    shown = f"`{printable_path(finding.path)}`"
    match rejected.reason:
        case "evidence":
            problem = f"the evidence is not in the {finding.side} version of {shown}"
            hint, rows = _similar_lines(rejected, finding, sides)
            return _dropped(f"{problem}: `{rejected.detail}`", hint), rows
        case "no_evidence":
            return _dropped("there is no evidence", f"Quote the lines of {shown} that show it"), []
        case "unit":
            unit = printable_path(finding.unit[:100])
            return _dropped(f"there is no unit `{unit}`", "The index lists the ids"), []
        case "file":
            hint = "Only files of the versions under review can be quoted; name the unit and leave `path` out"
            return _dropped(f"the {finding.side} version of {shown} is not known", hint), []
        case reason:
            return _dropped(f"its `{reason}` is empty or unknown", ""), []


def _dropped(why: str, hint: str) -> ToolError:
    return ToolError("INVALID_PARAM", f"the finding was dropped: {why}", hint=hint)


def _similar_lines(rejected: RejectedFinding, finding: Finding, sides: Sides) -> tuple[str, list[str]]:
    quoted = [line for part in finding.evidence for line in part.split("\n")]
    whole = next((line for line in quoted if line.strip().startswith(rejected.detail)), rejected.detail)
    whole = strip_line_number(whole).strip()
    other: Side = "old" if finding.side == "new" else "new"
    for number, line in (sides.lines(finding.path, other) or {}).items():
        if line.strip() == whole and whole:
            where = f"line {number} of the {other} version"
            return f'It is in {where}: set `side` to "{other}" if that is what you mean', []
    lines = sides.safe_lines(finding.path, finding.side)
    if numbers := _most_similar(whole, lines, finding.line):
        hint = "Lines that are like it follow; copy one exactly if it is meant"
    else:
        hint = "No line is like it"
        if numbers := [number for number in lines if abs(number - finding.line) <= NEAREST]:
            hint += f"; line {finding.line} reads as follows"
    return hint, [format_line(number, lines[number]) for number in numbers]


def _most_similar(quoted: str, lines: NumberedLines, line: int) -> list[int]:
    """The numbers of the lines most similar to a quote, in order."""
    wanted = quoted[:MAX_LENGTH]
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    scored: list[tuple[float, int, int]] = []
    for number in sorted(lines, key=lambda n: abs(n - line))[:MOST_COMPARED]:
        score = _ratio(matcher, lines[number].strip()[:MAX_LENGTH])
        if score >= SIMILAR:
            scored.append((-score, abs(number - line), number))
    return sorted(number for _, _, number in sorted(scored)[:NEAREST])


def _ratio(matcher: "difflib.SequenceMatcher[str]", text: str) -> float:
    if not text:
        return 0.0
    matcher.set_seq1(text)
    # Cheap upper bounds first: most lines are not similar at all.
    for bound in (matcher.real_quick_ratio, matcher.quick_ratio):
        if bound() < SIMILAR:
            return 0.0
    return matcher.ratio()


class FindingEffect(Struct, frozen=True, kw_only=True):
    """`finding` is the one that is kept now, `replaces` the id of the one that was there; `merged` and `parted`
    are the entries added to and removed from the merged findings, `duplicate` the finding that was listed as one.
    Counts are totals."""

    outcome: Literal["kept", "merged", "rejected"]
    finding: Finding | None = None
    replaces: str = ""
    merged: dict[str, str] = field(default_factory=dict)
    parted: tuple[str, ...] = ()
    duplicate: Finding | None = None
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
        removed = {one.id for one in before.kept} - {one.id for one in after.kept}
        effect = FindingEffect(
            outcome="kept" if len(after.kept) > len(before.kept) else "merged",
            finding=after.find(outcome.finding.id),
            replaces=next(iter(removed), ""),
            merged={name: into for name, into in after.merged.items() if before.merged.get(name) != into},
            parted=tuple(name for name in before.merged if name not in after.merged),
            duplicate=next((one for one in after.duplicates if one not in before.duplicates), None),
            dropped=after.dropped,
            patches=after.patches,
            patch_dropped=outcome.patch_problem or "",
        )
    # As the log returns it, with lists instead of tuples.
    plain: dict[str, Json] = msgspec.json.decode(msgspec.json.encode(effect))
    return plain


def reapply_effect(findings: ReviewFindings, data: Mapping[str, Json], sides: Sides) -> ReviewFindings:
    """The findings after an effect, with the ids they had. A finding that can no longer be verified, because the
    change is a different one now, is listed as gone."""
    effect = msgspec.convert(data, FindingEffect)
    counted = replace(
        findings,
        dropped=_maximum(findings.dropped, effect.dropped),
        patches=_maximum(findings.patches, effect.patches),
    )
    if effect.finding is None:
        return counted
    verified = verify_finding(effect.finding, sides)
    same = (effect.finding.id, effect.replaces)
    gone = tuple(one for one in findings.gone if one.id not in same)
    if not isinstance(verified, VerifiedFinding):
        return replace(counted, gone=(*gone, effect.finding))
    listed = findings.duplicates
    if effect.duplicate and effect.duplicate not in listed:
        listed = (*listed, effect.duplicate)
    kept = replace(verified.finding, id=effect.finding.id)
    merged = {name: into for name, into in findings.merged.items() if name not in effect.parted}
    return replace(
        counted,
        kept=_insert(findings.kept, kept, effect.replaces),
        merged=merged | effect.merged,
        duplicates=listed,
        gone=gone,
    )


def _insert(kept: tuple[Finding, ...], finding: Finding, replaces: str) -> tuple[Finding, ...]:
    """At its own place if it has one, else at that of the one it replaces, else at the end."""
    ids = [one.id for one in kept]
    at = next((ids.index(name) for name in (finding.id, replaces) if name in ids), None)
    if at is None and (finding.rule or replaces):
        at = next((ids.index(one.id) for one in kept if _is_reworded(one, finding)), None)
    at = len(kept) if at is None else at
    placed = (*kept[:at], finding, *kept[at + 1 :])
    return tuple(one for one in placed if one.id != replaces or one is finding)


def _is_reworded(one: Finding, logged: Finding) -> bool:
    """Is this a rule's finding whose id has changed since the log was written, because the rule has new words?"""
    same_place = (one.path, one.side, one.category) == (logged.path, logged.side, logged.category)
    same_rule = one.rule and one.rule == (logged.rule or one.rule)
    return bool(
        same_place and same_rule and set(one.evidence) & set(logged.evidence) and one.line == logged.line
    )


def _maximum(ours: Mapping[str, int], theirs: Mapping[str, int]) -> dict[str, int]:
    return {key: max(ours.get(key, 0), theirs.get(key, 0)) for key in sorted({*ours, *theirs})}
