"""A page in HTML as readable text: headings, lists, links, code and tables as Markdown, without menus and scripts.

Rule: it imports nothing of ours, since it runs in a process of its own: how long the parser takes depends on the
page, and a page can be written to waste time. Text that a reader would not see is left out.

    readable.py ADDRESS < page > text
"""

import re
import sys
from html.parser import HTMLParser
from urllib.parse import urljoin

SKIPPED = frozenset(
    "script style noscript template svg math iframe object canvas audio video select button textarea nav footer"
    " aside dialog".split()
)
TIGHT = frozenset("body dd div dt html li summary tbody tfoot thead tr".split())
"""Blocks that begin on a line of their own."""
LOOSE = frozenset(
    "address article blockquote center details dl fieldset figcaption figure form h1 h2 h3 h4 h5 h6 header hr main"
    " ol p pre section table ul".split()
)
"""Blocks with a blank line around them."""
VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_CELLS, _PARTS = frozenset({"td", "th", "tr"}), frozenset({"tbody", "tfoot"})
ENDED_BY = {
    "p": TIGHT | LOOSE,
    "li": frozenset({"li"}),
    **dict.fromkeys(("dd", "dt"), frozenset({"dd", "dt"})),
    **dict.fromkeys(("td", "th"), _CELLS | _PARTS),
    "tr": {"tr"} | _PARTS,
    **dict.fromkeys(("thead", "tbody", "tfoot"), _PARTS),
}
"""Elements whose end tag may be left out, and the tags that end them by beginning."""
HOLDERS = (TIGHT | LOOSE) - VOID - ENDED_BY.keys()
"""Blocks that end such an element inside them when they end."""
ALWAYS_SHOWN = VOID | {"body", "html"}
"""Not left out even if hidden: scripts show a body that is hidden at first."""
DEEPEST = 20
"""Levels of lists that are indented; without a limit a small page could become gigabytes."""
LONGEST_TEXT = 2_000_000
"""Characters that are written: enough for any page, but not for a long address at each of many links."""
LEAST_MAIN = 200
"""Characters of the main part of a page; a shorter one is a frame that a script would fill."""

_SPACE = re.compile(r"[ \t\n\r\f\xa0]+")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden")
_DECLARATION = re.compile(r"<!\[[^>]*>?")

Attributes = dict[str, str | None]


class PageReader(HTMLParser):
    """Collects the text of a page in pieces; `main` are the places of its main part in them."""

    def __init__(self, address: str) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.pieces: list[str] = []
        self.main: list[tuple[int, int]] = []
        self._address = address
        self._skipping = ""
        self._depth = 0
        self._in_title = False
        self._pre = 0
        self._lists: list[int] = []
        self._links: list[tuple[int, str]] = []
        self._parts: list[tuple[str, int]] = []
        self._cells = 0
        self._rows = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given: Attributes = dict(attrs)
        if self._depth == 1 and tag in ENDED_BY.get(self._skipping, ()):
            self._skipping = ""
        if self._skipping:
            self._depth += self._nests(tag)
        elif tag in SKIPPED or (tag not in ALWAYS_SHOWN and _is_hidden(given)):
            self._skipping, self._depth = tag, 1
        elif tag == "title":
            self._in_title = not self.title
        else:
            self._begin(tag, given)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # In HTML the slash means nothing, except in drawings, which are left out.
        if not self._skipping or self._skipping in ENDED_BY:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._skipping:
            is_own = tag == self._skipping and self._depth == 1
            self._depth -= is_own or self._nests(tag)
            if self._depth:
                return
            self._skipping = ""
            if is_own:
                return
        if tag == "title":
            self._in_title = False
        else:
            self._end(tag)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif self._skipping:
            return
        elif self._pre:
            self.pieces.append(data)
        elif data.strip():
            self.pieces.append(_SPACE.sub(" ", data))
        elif self.pieces and not self.pieces[-1].endswith((" ", "\n")):
            self.pieces.append(" ")

    def _nests(self, tag: str) -> bool:
        """Whether a tag begins or ends a level within what is skipped."""
        return tag in HOLDERS if self._skipping in ENDED_BY else tag == self._skipping

    def _begin(self, tag: str, given: Attributes) -> None:
        if tag == "tr":
            self._end_row()
        self._break(tag)
        match tag:
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                self.pieces.append(f"{'#' * int(tag[1])} ")
            case "ul" | "ol":
                self._lists.append(0 if tag == "ul" else 1)
            case "li":
                self.pieces.append(self._bullet())
            case "pre":
                self._pre += 1
                self.pieces.append("```\n")
            case "code" | "kbd" | "samp" if not self._pre:
                self.pieces.append("`")
            case "blockquote":
                self.pieces.append("> ")
            case "br":
                self.pieces.append("\n" if not self._cells else " ")
            case "hr":
                self.pieces.append("---\n")
            case "a":
                self._links.append((len(self.pieces), given.get("href") or ""))
            case "img" if words := (given.get("alt") or "").strip():
                self.pieces.append(f"[image: {words}]")
            case "table":
                self._rows = 0
            case "td" | "th":
                self.pieces.append(" | " if self._cells else "| ")
                self._cells += 1
            case "main" | "article":
                self._parts.append((tag, len(self.pieces)))

    def _end(self, tag: str) -> None:
        match tag:
            case "ul" | "ol" if self._lists:
                self._lists.pop()
            case "pre" if self._pre:
                self._pre -= 1
                self.pieces.append("\n```\n")
            case "code" | "kbd" | "samp" if not self._pre:
                self.pieces.append("`")
            case "a" if self._links:
                self._end_link(*self._links.pop())
            case "tr" | "tbody" | "thead" | "tfoot" | "table":
                self._end_row()
            case "main" | "article" if self._parts and self._parts[-1][0] == tag:
                _, start = self._parts.pop()
                if not self._parts:
                    self.main.append((start, len(self.pieces)))
        self._break(tag)

    def _end_row(self) -> None:
        if self._cells:
            self.pieces.append(" |\n" + "| --- " * self._cells + "|\n" if not self._rows else " |\n")
            self._rows, self._cells = self._rows + 1, 0

    def _end_link(self, start: int, href: str) -> None:
        words = "".join(self.pieces[start:])
        if not words.strip() or "\n" in words or href.startswith(("#", "javascript:", "data:")) or not href:
            return
        try:
            target = urljoin(self._address, href.strip())
        except ValueError:
            return
        lead = " " * words.startswith(" ")
        self.pieces[start:] = [f"{lead}[{words.strip()}]({target}){' ' * words.endswith(' ')}"]

    def _bullet(self) -> str:
        if not self._lists:
            return "- "
        number = self._lists[-1]
        self._lists[-1] += bool(number)
        return "  " * min(len(self._lists) - 1, DEEPEST) + (f"{number}. " if number else "- ")

    def _break(self, tag: str) -> None:
        if tag not in TIGHT | LOOSE or self._pre:
            return
        if self._cells:
            self.pieces.append(" ")
            return
        wanted = 2 if tag in LOOSE and not self._lists else 1
        for piece in reversed(self.pieces):
            wanted -= piece.count("\n") if not piece.strip() else len(piece) - len(piece.rstrip("\n"))
            if piece.strip():
                break
        self.pieces.append("\n" * max(0, wanted))


def _is_hidden(given: Attributes) -> bool:
    return (
        "hidden" in given
        or given.get("aria-hidden") == "true"
        or bool(_HIDDEN.search((given.get("style") or "").lower()))
    )


def readable_text(page: str, address: str) -> str:
    """The text of a page; of its main part where it says which one that is."""
    reader = PageReader(address)
    # The parser fails on declarations that it does not know, and they hold nothing to read.
    reader.feed(_DECLARATION.sub("", page))
    reader.close()
    whole = _tidy(reader.pieces)
    main = _tidy([piece for start, end in reader.main for piece in reader.pieces[start:end]])
    text = main if len(main) >= LEAST_MAIN else whole
    title = _SPACE.sub(" ", reader.title).strip()
    return f"{title}\n\n{text}" if title and not text.startswith(f"# {title}\n") else text


def _tidy(pieces: list[str]) -> str:
    """The text with single blank lines, and no spaces at the ends of lines; code keeps its own."""
    lines: list[str] = []
    is_code = False
    for line in "".join(pieces).split("\n"):
        kept = line.rstrip() if is_code else re.sub(r"(?<=\S) {2,}", " ", line.rstrip())
        is_code ^= kept.strip() == "```"
        if kept.strip() or is_code or (lines and lines[-1]):
            lines.append(kept)
    return "\n".join(lines).strip("\n")


if __name__ == "__main__":
    given = sys.stdin.buffer.read().decode("utf-8", "replace")
    text = readable_text(given, sys.argv[1])[:LONGEST_TEXT]
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
