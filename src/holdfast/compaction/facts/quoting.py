"""Quotes from a log: whole where they are short, else their first lines with the id that brings back the rest.

Rule: what is quoted stands word for word in the log; what is left out is said, with an id.
"""

from holdfast.ids import text_id
from holdfast.packing.renditions.marks import mark, one_line

LONGEST_QUOTE = 2_000
"""Characters of a message that is quoted whole."""
LONGEST_HEAD = 600
"""Characters of the first lines that stand for a longer one."""
LONGEST_LINE = 300
"""Characters of a quoted line; a line is cut at its end, with an ellipsis."""


def quoted(text: str, *, id_: str = "") -> str:
    """A text, or its first lines and the id of the whole. `id_` is of the text that this one is a part of."""
    whole = text.strip()
    if len(whole) <= LONGEST_QUOTE:
        return whole
    head = whole[:LONGEST_HEAD]
    cut = head.rfind("\n")
    head = head[:cut] if cut > LONGEST_HEAD // 3 else head
    return f"{head.rstrip()}\n{mark(f'{len(whole) - len(head)} further characters', id_ or text_id(text))}"


def line_of(text: str, most: int = LONGEST_LINE) -> str:
    """A text on one line, cut at its end."""
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"
