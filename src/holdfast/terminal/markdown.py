"""Markdown for a given width, as one piece of content.

Rule: one widget for a whole reply, however many paragraphs it has, and its text can be selected like any other.
"""

from collections.abc import Collection
from io import StringIO

from textual.content import Content, Span
from textual.style import Style

from holdfast.terminal.plain import neutral

LONGEST = 60_000
"""Characters beyond which a text stays plain: laying it out would hold up the screen."""

_THEME = {
    "markdown.code": "cyan",
    "markdown.code_block": "none",
    "markdown.h1": "bold underline",
    "markdown.h2": "bold underline",
    "markdown.h3": "bold",
    "markdown.h4": "bold italic",
    "markdown.block_quote": "dim",
    "markdown.item.bullet": "bold",
    "markdown.item.number": "bold",
    "markdown.hr": "dim",
    "markdown.link": "underline",
    "markdown.link_url": "dim underline",
    "markdown.table.border": "dim",
    "markdown.table.header": "bold",
}


def rendered(text: str, width: int) -> Content:
    """The text laid out in so many columns."""
    if len(text) > LONGEST or width < 4:
        return Content(neutral(text))
    # Loaded with the first reply and not with the screen: together they take longer than the rest of it.
    from rich.console import Console  # noqa: PLC0415
    from rich.markdown import Heading, Markdown  # noqa: PLC0415
    from rich.theme import Theme  # noqa: PLC0415

    Heading.LEVEL_ALIGN.update(dict.fromkeys(Heading.LEVEL_ALIGN, "left"))
    console = Console(
        width=width, theme=Theme(_THEME), file=StringIO(), force_terminal=True, color_system="standard"
    )
    document = Markdown(neutral(text), code_theme="ansi_dark", hyperlinks=False)
    lines: list[Content] = []
    kept: set[int] = set()
    for segments in console.render_lines(document, pad=False):
        parts, spans, at = [], [], 0
        for segment in segments:
            parts.append(segment.text)
            if segment.style:
                spans.append(Span(at, at + len(segment.text), Style.from_rich_style(segment.style)))
            at += len(segment.text)
        if len(segments) > 1:  # a line of code, which is a text of its own, is never of one piece
            kept.add(len(lines))
        lines.append(Content("".join(parts), spans).rstrip())
    return Content("\n").join(_trimmed(lines, kept))


def _trimmed(lines: list[Content], kept: Collection[int]) -> list[Content]:
    """Without the blank lines that Markdown puts at either end, and with one where it puts several. Those of code
    stay."""
    first = next((n for n, line in enumerate(lines) if line.plain.strip()), len(lines))
    last = next((n for n in range(len(lines), 0, -1) if lines[n - 1].plain.strip()), first)
    return [line for n, line in enumerate(lines) if first <= n < last and (line or lines[n - 1] or n in kept)]
