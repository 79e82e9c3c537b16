"""A reply in chunks of Markdown that can be laid out one by one, while it streams and afterwards.

Rule: pure, and the same chunks come out however the text arrived. A chunk ends between two blocks; one that would
be too long to be laid out at once is cut at a line, and code goes on as code.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

SOFT = 2_000
"""Characters after which a chunk ends with the block that it is in."""
HARD = 6_000
"""Characters after which it ends with a line."""

_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<about>[^\n]*)")
_INSIDE = re.compile(r"\s|[-*+] |\d{1,9}[.)] ")
"""How a line begins that may belong to the block before, though a blank line is between them."""


class MarkdownChunk(Struct, frozen=True):
    """`text` is Markdown of its own, and `end` is where it ends in the text that was cut. `opens` is what the next
    chunk has to begin with: the fence that is still open. `is_inside`: it ends inside a block."""

    text: str
    end: int
    opens: str = ""
    is_inside: bool = False


def cut_blocks(text: str) -> list[str]:
    """The parts that are laid out by themselves, the last of which may not be complete."""
    found = list(cut_chunks(text, soft=0))
    last = found[-1] if found else MarkdownChunk("", 0)
    return [*(chunk.text for chunk in found), last.opens + text[last.end :]]


def cut_chunks(text: str, start: int = 0, opens: str = "", *, soft: int = SOFT) -> Iterator[MarkdownChunk]:
    """The chunks from `start` on that are complete; the last of a text that has not ended never is."""
    while True:
        cut, next_opens, is_inside = _find_cut(text, start, opens, soft)
        if not cut:
            return
        yield MarkdownChunk(opens + text[start:cut], cut, next_opens, is_inside)
        start, opens = cut, next_opens


def _find_cut(text: str, start: int, opens: str, soft: int) -> tuple[int, str, bool]:
    """Where the chunk that begins at `start` ends (0 if it does not yet), what the next one begins with, and
    whether that one is inside a block."""
    # Only whole lines of this window are looked at, so that it makes no difference when the rest arrives.
    window = text[start : start + HARD]
    at, fence, best = 0, opens.rstrip("\n"), 0
    was_blank = False
    while len(window) > soft and (end := window.find("\n", at)) >= 0:
        line = window[at:end]
        if not fence and was_blank and line and not _INSIDE.match(line):
            if at > soft:
                return start + (best or at), "", False
            best = at
        elif at > soft and best:
            return start + best, "", False
        fence = _fence_after(line, fence)
        was_blank = not line.strip()
        at = end + 1
    if len(text) - start <= HARD:
        return 0, "", False
    if best:
        return start + best, "", False
    return start + (at or HARD), f"{fence}\n" if fence else "", True


def _fence_after(line: str, fence: str) -> str:
    """The line that opened the code which is still open after this line; empty outside of code."""
    found = _FENCE.match(line)
    if not found:
        return fence
    if not fence:
        return "" if found["mark"][0] == "`" and "`" in found["about"] else line
    opened = _FENCE.match(fence)
    assert opened, "a fence opens code"
    is_end = found["mark"].startswith(opened["mark"]) and not found["about"].strip()
    return "" if is_end else fence
