"""list_findings: the findings so far, word for word.

Rule: the current state, not what the model remembers.
"""

from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from holdfast.agents.reviewer.tools.review_files import ReviewFiles
from holdfast.messages import Json
from holdfast.numbers import count_noun
from holdfast.review.finding import SEVERITIES, Finding, Severity
from holdfast.tools.envelope import ToolResult, tool_result
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import printable_path

NAME = "list_findings"
MOST_SHOWN = 100
MOST_CHARACTERS = 60_000


class FindingsArguments(Struct, frozen=True, forbid_unknown_fields=True):
    severity: Annotated[Severity | Literal[""], Meta(description="At least so severe; all if left out.")] = ""


def list_findings_tool(files: ReviewFiles) -> Tool:
    work = partial(list_findings, files=files)
    return TypedTool(NAME, FindingsArguments, prompt_beside(__file__), work, is_read_only=True)


async def list_findings(
    arguments: FindingsArguments, _workspace: Workspace, *, files: ReviewFiles
) -> ToolResult:
    findings = files.review.findings
    least = SEVERITIES.index(arguments.severity) if arguments.severity else 0
    ranked = [one for one in findings.ranked() if SEVERITIES.index(one.severity) >= least]
    shown: list[Finding] = []
    blocks: list[str] = []
    for one in ranked[:MOST_SHOWN]:
        block = describe_finding(one)
        if blocks and sum(map(len, blocks)) + len(block) > MOST_CHARACTERS:
            break
        shown.append(one)
        blocks.append(block)
    is_whole = len(shown) == len(ranked)
    which = f" of severity {arguments.severity} or more" if arguments.severity else ""
    head = f"{count_noun(len(ranked), 'finding')}{which}."
    notes = [] if is_whole else [f"({len(shown)} of {len(ranked)} are shown, the most severe)"]
    if findings.dropped:
        counts = ", ".join(f"{reason} {number}" for reason, number in findings.dropped.items())
        notes.append(f"(reports that were dropped: {counts})")
    data: dict[str, Json] = {
        "total": len(ranked),
        "truncated": not is_whole,
        "findings": [msgspec.to_builtins(one) for one in shown],
    }
    return tool_result("\n".join([head, *blocks, *notes]), head, data=data, is_partial=not is_whole)


def describe_finding(finding: Finding) -> str:
    """A finding in full, with a bar before each quoted line."""
    lines = f"{finding.line}" if finding.line == finding.last_line else f"{finding.line}-{finding.last_line}"
    old = " (old side)" if finding.side == "old" else ""
    rule = f", rule {finding.rule}" if finding.rule else ""
    where = f"`{printable_path(finding.path)}`:{lines}{old}, unit `{finding.unit}`{rule}"
    rows = [f"`{finding.id}` {finding.severity} {finding.category}, {where}: {finding.claim}"]
    rows += [f"    | {line}" for line in finding.evidence]
    if finding.suggestion:
        rows.append(f"    suggestion: {finding.suggestion}")
    if finding.patch:
        rows += ["    patch:", *(f"    | {line}" for line in finding.patch.rstrip("\n").split("\n"))]
    return "\n".join(rows)
