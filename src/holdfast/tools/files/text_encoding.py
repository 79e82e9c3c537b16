"""Bytes as text and back: which encoding a file has, its byte order mark, and its lines.

Rule: nothing is lost. `encode(decode(raw, e), e) == raw` for every encoding that `detect` gives, also for bytes
that are not text, so that an edit changes what it names and no other byte. Lines end only at `\\n`:
`str.splitlines` would also split at form feeds and U+2028, and no other tool counts that way.

No library guesses here. A guess is only needed for a file that is neither UTF-8 nor marked, which is rare; the
model is told that it is a guess and can name the encoding.
"""

import codecs
import re

from msgspec import Struct

from holdfast.tools.envelope import ToolError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""The mark of UTF-32 begins with that of UTF-16, so it comes first."""

WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
"""Encodings in which a line feed is more than one byte."""

LOOKED_AT = 8192
"""A NUL among this many bytes at the beginning makes a file binary, as in Git."""

_ERRORS = {"utf-8": "surrogateescape", **dict.fromkeys(WIDE, "surrogatepass")}
_NAMES = {"utf-8": "UTF-8", "utf-16-le": "UTF-16 LE", "utf-16-be": "UTF-16 BE", "cp1252": "Windows-1252"}
_NAMES |= {"latin-1": "ISO-8859-1", "gb18030": "GB18030", "utf-32-le": "UTF-32 LE", "utf-32-be": "UTF-32 BE"}
_CONTROLS = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_HIGH_RUNS = re.compile(rb"[\x80-\xff]+")
_NO_TEXT = re.compile("[\ud800-\udfff\0]")
_HALF = re.compile("[\ud800-\udfff]")


class Encoding(Struct, frozen=True):
    """`mark` is the byte order mark at the beginning of the file; the reader is told `is_guess`."""

    name: str
    mark: bytes = b""
    is_guess: bool = False

    @property
    def label(self) -> str:
        name = _NAMES.get(self.name, self.name)
        if self.mark:
            return f"{name} with a byte order mark"
        return f"{name}, which is a guess" if self.is_guess else name

    @property
    def errors(self) -> str:
        return _ERRORS.get(self.name, "strict")


UTF8 = Encoding("utf-8")

GUESSES = ("gb18030", "cp1252", "latin-1")
"""Encodings that are never certain."""


def encoding_named(name: str, head: bytes) -> Encoding:
    """The encoding that somebody asked for."""
    try:
        codec = codecs.lookup(name)
        "a".encode(name)
    except (LookupError, ValueError):
        message = f"there is no encoding named `{name[:40]}`"
        raise ToolError("INVALID_PARAM", message, hint="Name one such as `gb18030`") from None
    known = {"iso8859-1": "latin-1", "ascii": "utf-8", "utf-8-sig": "utf-8"}.get(codec.name, codec.name)
    if known in ("utf-16", "utf-32"):
        wides = [wide for mark, wide in _MARKS if wide.startswith(known) and head.startswith(mark)]
        known = wides[0] if wides else f"{known}-le"
    mark = next((mark for mark, marked in _MARKS if marked == known and head.startswith(mark)), b"")
    return Encoding(known, mark)


def detect_encoding(sample: bytes, *, is_whole: bool = True) -> Encoding | None:
    """The encoding of a file, by its beginning or by all of it; None if it is not text."""
    for mark, name in _MARKS:
        if sample.startswith(mark):
            marked = Encoding(name, mark)
            is_sure = name not in WIDE or not is_whole or decodes(sample[len(mark) :], marked)
            return marked if is_sure else None
    if b"\0" in sample[:LOOKED_AT]:
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=is_whole)
    except UnicodeDecodeError:
        return _legacy(sample)
    return UTF8


def _legacy(sample: bytes) -> Encoding | None:
    """The encoding of bytes that are not UTF-8: UTF-8 with some bad bytes, Chinese, or Western; None if they are
    not text."""
    if len(_CONTROLS.findall(sample)) * 50 > len(sample):
        return None
    text = sample.decode("utf-8", "surrogateescape")
    bad = len(_HALF.findall(text))
    if bad * 2 < sum(1 for char in text if char > "\x7f"):
        return Encoding("utf-8")
    runs = _HIGH_RUNS.findall(sample)
    # Chinese text has its high bytes in pairs; Western languages have single ones.
    if len(runs) * 2 < sum(map(len, runs)) and all(len(run) % 2 == 0 for run in runs[:-1]):
        chinese = Encoding("gb18030", is_guess=True)
        if decodes(sample, chinese):
            return chinese
    western = Encoding("cp1252", is_guess=True)
    return western if decodes(sample, western) else Encoding("latin-1", is_guess=True)


def decodes(raw: bytes, encoding: Encoding) -> bool:
    """Whether bytes can be decoded and encoded again without loss."""
    try:
        return raw.decode(encoding.name, encoding.errors).encode(encoding.name, encoding.errors) == raw
    except UnicodeError:
        return False


def decode(raw: bytes, encoding: Encoding, shown: str) -> str:
    """The text without its byte order mark. EXECUTION_ERROR if the bytes have another encoding."""
    body = raw[len(encoding.mark) :]
    if encoding.name != "utf-8" and not decodes(body, encoding):
        message = f"`{shown}` cannot be read as {encoding.label} without loss"
        raise ToolError("EXECUTION_ERROR", message, hint="Read it with another `encoding`")
    return body.decode(encoding.name, encoding.errors)


def encode(text: str, encoding: Encoding, shown: str) -> bytes:
    """The bytes of a text, mark included. INVALID_PARAM for characters that the encoding does not have."""
    try:
        return encoding.mark + text.encode(encoding.name, encoding.errors)
    except UnicodeEncodeError as error:
        char = text[error.start]
        raise ToolError(
            "INVALID_PARAM",
            f"`{shown}` is {encoding.label}, which has no `{char}` (U+{ord(char):04X})",
            hint="Use other characters, or convert the file with Bash (`iconv`) first",
        ) from None


def expect_no_surrogates(value: str, argument: str) -> None:
    """INVALID_PARAM for half a character: it would be written as a byte that is not text."""
    if _HALF.search(value):
        raise ToolError("INVALID_PARAM", f"`{argument}` contains half a character (a lone surrogate)")


def escape_bytes(text: str) -> tuple[str, int]:
    """A text that is valid in JSON, and how many bytes or characters in it are spelled out as `\\xNN`."""
    if text.isascii() and "\0" not in text:
        return text, 0
    return _NO_TEXT.subn(_spelled, text)


def _spelled(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code:02x}"


def split_lines(text: str) -> list[str]:
    """The lines of a text, each with the line feed that ends it."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *filter(None, [last])]


def unify_line_endings(text: str) -> str:
    """A text whose lines all end in `\\n`, for comparing; a carriage return elsewhere stays."""
    return text.replace("\r\n", "\n") if "\r" in text else text


def plain_lines(text: str) -> list[str]:
    """The lines of a text, each ending in `\\n`, for comparing."""
    return split_lines(unify_line_endings(text))
