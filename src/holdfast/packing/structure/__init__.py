"""The structure of a tool result: what kind of text it is, which lines tell or are noise, what they depend on.

Rule: pure and in linear time; a text of no known structure is plain, and nothing here fails on any text. What the
call was says where to look: a file that is read is no test run, even if it quotes one.
"""

import re
from collections.abc import Sequence

from holdfast.packing.structure.code import mark_code
from holdfast.packing.structure.diffs import mark_diffs
from holdfast.packing.structure.findings import BareText, LineFindings, Structure, StructureKind
from holdfast.packing.structure.json_text import is_json
from holdfast.packing.structure.run_output import mark_noise, mark_outcomes
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
"""The share of claimed lines from which a text is not searched for code."""


def structure_of(lines: Sequence[str], use: ToolUse) -> Structure:
    """What the lines of a text, `text.split("\\n")`, are to each other. `use` is the call whose result they are."""
    plain = Structure("plain", [0.0] * len(lines), {})
    if not any(lines):
        return plain
    if use.kind in ("grep", "glob", "ls") and len(lines) >= FEWEST_LINES:
        # One line of what was found says as much as the next.
        return plain
    text = BareText(lines)
    if is_json(text):
        return Structure("json", plain.bonus, {})
    if len(lines) < FEWEST_LINES:
        return plain
    if use.kind in ("read", "edit", "multiedit", "write") and not _RECORD.search(use.path):
        return plain if _PROSE.search(use.path) else _file_structure(text, use)
    return _output_structure(text)


def _file_structure(text: BareText, use: ToolUse) -> Structure:
    """A file, or a part of one."""
    findings = LineFindings(text.count)
    if use.kind == "multiedit" or not text.numbers_end:
        mark_diffs(text, findings)
    is_code = mark_code(text, findings, is_known=use.kind == "read" or bool(text.numbers_end))
    return findings.structure(text, "code" if is_code else "plain")


def _output_structure(text: BareText) -> Structure:
    """What a program printed: any of the structures, some below others."""
    findings = LineFindings(text.count)
    mark_diffs(text, findings)
    mark_traces(text, findings)
    mark_outcomes(text, findings)
    if findings.share(text.filled) < _CROWDED and mark_code(text, findings, is_known=bool(text.numbers_end)):
        return findings.structure(text, "code")
    if findings.share(text.filled) < _FULL:
        mark_noise(text, findings)
    return findings.structure(text, "plain")
