"""Which new results are too large to be sent whole, and what is sent instead.

Rule: lines are kept byte for byte and in their order, and the mark above them names the file with the whole text.
What an agent asked for by its lines, or fetched back from such a file, is never reduced; nothing grows.
"""

import re

from holdfast.gateway.replacements import SHORTEST_RESULT, Replacement
from holdfast.gateway.result_texts import NewResult
from holdfast.gateway.text_files import TextFiles
from holdfast.ids import text_id
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.lines.weights import built_in_vectors
from holdfast.packing.rendering.first_sight import reduce_new_result
from holdfast.packing.rendering.marks import MARK, text_without_recall
from holdfast.redaction import redact
from holdfast.tool_use import recognize_tool

_BY_LINES = re.compile(
    r"""(?<![\w.-])(?:sed\s+(?:-[a-zA-Z]*n|--quiet\b|--silent\b)|(?:head|tail)\s+-|awk\s[^|]*\bNR\b)"""
)
"""A command that says which lines it prints, wherever in a script it stands."""
LEAST_GAIN = 0.25
"""A reduction that saves less of a result than this share is not worth a mark."""


def reduced_result(new: NewResult, cap: int, counter: TokenCounter, files: TextFiles) -> Replacement | None:
    """What to send in place of a new result; None where it is sent as it is. Its file is written.

    A result with a secret is sent whole: it may be in no file, and what is sent once must be sent again.
    """
    text = new.result.text
    if len(text) < SHORTEST_RESULT or MARK in text[:200] or _was_asked_for(new, files):
        return None
    size = counter.text(text)
    if size * (1 - LEAST_GAIN) < cap or redact(text) != text:
        return None
    shorter = reduce_new_result(recognize_tool(new.call), text, cap, counter, built_in_vectors("learned"))
    sent = text_without_recall(shorter, files.retrieval_hint)
    saved = size - counter.text(sent)
    id_ = text_id(text)
    if saved < size * LEAST_GAIN or len(sent) >= len(text) or str(files.path(id_)) not in sent:
        return None
    files.keep(id_, text)
    return Replacement(sent, saved)


def _was_asked_for(new: NewResult, files: TextFiles) -> bool:
    """Whether the agent named the lines that it wants, or fetched back what was left out."""
    use = recognize_tool(new.call)
    if use.kind == "recall" or "recall" in new.call.name.lower():
        return True
    if use.kind == "read" and (use.first or use.last):
        return True
    if _BY_LINES.search(use.command):
        return True
    return files.are_named_in(new.call)
