"""Private key blocks: PEM, OpenSSH, PGP; whole or cut off, on many lines or escaped into one.

Rule: the BEGIN and END lines stay and so does every line break, escaped ones at the edges included; of each line
between them the key goes.
"""

import re
from collections.abc import Iterator

from holdfast.redaction.found import Found

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_END = "-----END "
_LONGEST = 65_536

_PIECE = re.compile(r"[A-Za-z0-9+/=]{20,}")
_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): (?:[^\n\\]|\\(?!r?n)){0,200}")
_GAP = re.compile(r"(?:\\+[rnt]|[^A-Za-z\\]){0,60}")
_LEAD = re.compile(r"(?:\\+[rnt]|[0-9]{1,6}(?=[ \t]*[→:|│\t])|[^A-Za-z0-9+/=\\])*")
_TRAIL = " \t\r\"'`,;>|"
_LAST = re.compile(r"(?P<gap>(?:\\+[rnt]|[^A-Za-z\\]){1,60}?)(?P<v>[A-Za-z0-9+/=]{1,76})(?=\s*\Z)")


def find_blocks(text: str) -> Iterator[Found]:
    for begin in _BEGIN.finditer(text):
        start = begin.end()
        stop = text.find("-----", start, start + _LONGEST)
        if stop >= 0 and text.startswith(_END, stop):
            yield from _whole(text, start, stop)
        else:
            yield from _cut_off(text, start, min(len(text), start + _LONGEST) if stop < 0 else stop)


def _whole(text: str, start: int, stop: int) -> Iterator[Found]:
    """Between two markers all goes that is mostly key: code that names both markers is not."""
    if sum(len(piece) for piece in _PIECE.findall(text, start, stop)) * 2 >= stop - start:
        yield from _lines(text, start, stop)


def _cut_off(text: str, start: int, stop: int) -> Iterator[Found]:
    """Without an END marker: the long pieces that follow one another, and a short one at the very end."""
    end = start
    while piece := _PIECE.search(text, end, min(stop, end + 600)):
        if not _GAP.fullmatch(_HEADER.sub("", text[end : piece.start()])):
            break
        end = piece.end()
    if end > start:
        last = _LAST.match(text, end, stop)
        yield from _lines(text, start, last.end("v") if last else end)


def _lines(text: str, start: int, stop: int) -> Iterator[Found]:
    """One span per line, from the key's first character to its last."""
    while start < stop:
        newline = text.find("\n", start, stop)
        end = stop if newline < 0 else newline
        lead = _LEAD.match(text, start, end)
        first = lead.end() if lead else start
        body = _without_trail(text[first:end])
        if body:
            yield Found(first, first + len(body), "private_key")
        start = end + 1


def _without_trail(body: str) -> str:
    while True:
        shorter = body.rstrip(_TRAIL)
        if shorter.endswith((" +", '"+', "'+")):  # strings joined in code
            shorter = shorter[:-1]
        if shorter.endswith(("\\n", "\\r", "\\t")):
            shorter = shorter[:-2].rstrip("\\")
        if shorter == body:
            return body
        body = shorter
