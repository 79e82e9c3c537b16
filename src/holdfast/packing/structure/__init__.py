"""The structure of a tool's result: what kind of text it is, which lines tell or are noise, and what they hang on.

Rule: pure and in linear time; a text of no known structure is plain, and nothing here fails on any text. What the
call was says where to look: a file that is read is no test run, even if it quotes one.
"""

import re
from collections.abc import Sequence

from holdfast.packing.structure.code import mark_code
from holdfast.packing.structure.diffs import mark_diffs
from holdfast.packing.structure.findings import BareText, LineFindings, Structure, StructureKind
from holdfast.packing.structure.json_text import is_json, mark_json
from holdfast.packing.structure.listings import mark_listing, mark_matches, mark_status
from holdfast.packing.structure.run_output import mark_noise, mark_outcomes
from holdfast.packing.structure.tables import mark_tables
from holdfast.packing.structure.traces import mark_traces
from holdfast.tool_use import ToolUse

__all__ = ["Structure", "StructureKind", "structure_of"]

_PROSE = re.compile(r"(?i)\.(?:md|mdx|rst|txt|adoc|csv|tsv|html?|svg)$")
_RECORD = re.compile(r"(?i)\.(?:log|out|err|patch|diff|txt)$|/(?:logs?|tmp)/[^/]*$")
"""Files that hold what a program printed."""
_FULL = 0.9
"""The share of claimed lines from which there is no noise left to look for."""
FEWEST_LINES = 3
"""Lines below which there is nothing to choose from."""
_CROWDED = 0.4
"""The share of claimed lines from which it is not asked what else a text may be."""


def structure_of(lines: Sequence[str], use: ToolUse) -> Structure:
    """What the lines of a text, `text.split("\\n")`, are to each other. `use` is the call whose result they are."""
    if not any(lines):
        return Structure("plain", [0.0] * len(lines), {})
    sight = BareText(lines)
    findings = LineFindings(sight.count)
    if len(lines) < FEWEST_LINES:
        return Structure("json" if is_json(sight) else "plain", findings.bonus, {})
    if use.kind == "grep":
        mark_matches(sight, findings, is_known=True)
        mark_listing(sight, findings, is_known=False)
        return findings.structure(sight, "plain")
    if use.kind in ("glob", "ls"):
        mark_tables(sight, findings)
        mark_listing(sight, findings, is_known=True)
        return findings.structure(sight, "plain")
    if is_json(sight):
        mark_json(sight, findings)
        return Structure("json", findings.bonus, findings.anchors)
    if use.kind in ("read", "edit", "multiedit", "write") and not _RECORD.search(use.path):
        return _file_structure(sight, findings, use)
    return _output_structure(sight, findings)


def _file_structure(sight: BareText, findings: LineFindings, use: ToolUse) -> Structure:
    """A file, or a part of one."""
    if _PROSE.search(use.path):
        mark_tables(sight, findings)
        return findings.structure(sight, "plain")
    if use.kind == "multiedit" or not sight.numbers_end:
        mark_diffs(sight, findings)
    is_code = mark_code(sight, findings, is_known=use.kind == "read" or bool(sight.numbers_end))
    return findings.structure(sight, "code" if is_code else "plain")


def _output_structure(sight: BareText, findings: LineFindings) -> Structure:
    """What a program printed: any of the structures, some below others."""
    mark_diffs(sight, findings)
    mark_traces(sight, findings)
    mark_outcomes(sight, findings)
    mark_status(sight, findings)
    mark_tables(sight, findings)
    fallback: StructureKind = "plain"
    if findings.share(sight.filled) < _CROWDED:
        mark_matches(sight, findings, is_known=False)
        mark_listing(sight, findings, is_known=False)
        is_open = findings.share(sight.filled) < _CROWDED
        if is_open and mark_code(sight, findings, is_known=bool(sight.numbers_end)):
            fallback = "code"
    if fallback == "plain" and findings.share(sight.filled) < _FULL:
        mark_noise(sight, findings)
    return findings.structure(sight, fallback)
