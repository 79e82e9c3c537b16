"""Words of a shell script: quotes, `$name`, `${…}`, `$(…)`, backquotes and `$((…))`.

Rule: what bash reads as one word is one word here, with the same characters. A form that is not surely understood
raises `Unreadable`; it is never taken for plain text.
"""

import re

from holdfast.tools.commands.cursor import Cursor
from holdfast.tools.commands.syntax import Parameter, Piece, Substitution, Sum, Text, Word

_PLAIN = re.compile(r"[^ \t\n'\"\\$`|&;()<>]+")
_BRACE = re.compile(r"\{[^}]")
_IN_QUOTES = re.compile(r'[^"\\$`]+')
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SPECIAL = re.compile(r"[@*#?$!0-9-]")
_SUBSCRIPT = re.compile(r"\[(?:\d+|[@*])\]", re.ASCII)
_OPERATION = re.compile(r":?[-+?]|##?|%%?|//?|\^\^?|,,?")
_SLICE = re.compile(r":[ ]?-?\d+(?::-?\d+)?(?=\})", re.ASCII)
_SUM = re.compile(r"[\w\s+\-*/%<>=!&|^~?:,()]*", re.ASCII)
_IN_SUM = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
_BEFORE_BRACE = re.compile(r"[^}'\"\\$`]+")
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "v": "\v",
}
_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|(.))", re.DOTALL
)


def read_word(cursor: Cursor) -> Word:
    """The word that begins here; one without pieces where none does."""
    start, pieces = cursor.at, list[Piece]()
    while not cursor.is_done:
        if found := _PLAIN.match(cursor.text, cursor.at):
            cursor.at = found.end()
            pieces.append(Text(found[0], quoted=False))
            if _BRACE.search(found[0]):
                cursor.only_bash("{…}")
        elif cursor.take("\\\n"):
            pass
        elif cursor.take("\\"):
            pieces.append(Text(_next(cursor), quoted=True))
        elif cursor.take("'"):
            pieces.append(Text(cursor.one_line(cursor.until("'")), quoted=True))
        elif cursor.take('"'):
            pieces += _quoted(cursor)
        elif cursor.follows("<(") or cursor.follows(">("):
            cursor.only_bash("<(…)")
            cursor.at += 2
            pieces.append(Substitution(cursor.inner_script(")"), quoted=False, is_file=True))
        elif cursor.peek() in ("$", "`"):
            pieces += _expansion(cursor, is_quoted=False)
        else:
            break
    return Word(tuple(pieces), cursor.text[start : cursor.at])


def read_document(cursor: Cursor) -> Word:
    """A text in which only `$` and backquotes mean something: the body of a here-document."""
    start, pieces = cursor.at, list[Piece]()
    while not cursor.is_done:
        if cursor.peek() in ("$", "`"):
            pieces += _expansion(cursor, is_quoted=True)
        elif cursor.take("\\\n"):
            pass
        else:
            taken = cursor.peek(2) if cursor.peek(2) in ("\\$", "\\`", "\\\\") else cursor.peek()
            cursor.at += len(taken)
            pieces.append(Text(taken[-1], quoted=True))
    return Word(tuple(pieces), cursor.text[start : cursor.at])


def _next(cursor: Cursor) -> str:
    if cursor.is_done:
        cursor.fail("it ends with a backslash")
    cursor.at += 1
    return cursor.text[cursor.at - 1]


def _quoted(cursor: Cursor) -> list[Piece]:
    pieces: list[Piece] = [Text("", quoted=True)]
    while not cursor.take('"'):
        if found := _IN_QUOTES.match(cursor.text, cursor.at):
            cursor.at = found.end()
            pieces.append(Text(cursor.one_line(found[0]), quoted=True))
        elif cursor.take("\\\n"):
            pass
        elif cursor.take("\\"):
            escaped = _next(cursor)
            pieces.append(Text(escaped if escaped in '$`"\\' else "\\" + escaped, quoted=True))
        elif cursor.is_done:
            cursor.fail("a quote is not closed")
        else:
            pieces += _expansion(cursor, is_quoted=True)
    return pieces


def _expansion(cursor: Cursor, *, is_quoted: bool) -> list[Piece]:
    if cursor.take("`"):
        return [_backquoted(cursor, is_quoted=is_quoted)]
    cursor.need("$")
    if cursor.follows("\\\n"):
        cursor.fail("a line break stands behind a dollar sign")
    if cursor.take("(("):
        return [_sum(cursor, "))")]
    if cursor.take("("):
        return [Substitution(cursor.inner_script(")"), quoted=is_quoted)]
    if cursor.take("{"):
        return [_braced(cursor, is_quoted=is_quoted)]
    if cursor.follows("["):
        cursor.fail("`$[` is an old form")
    if not is_quoted and cursor.peek() in ("'", '"'):
        cursor.only_bash("$'…'")
    if not is_quoted and cursor.take("'"):
        return [Text(_ansi(cursor), quoted=True)]
    if not is_quoted and cursor.take('"'):
        return _quoted(cursor)
    for pattern in (_NAME, _SPECIAL):
        if found := pattern.match(cursor.text, cursor.at):
            cursor.at = found.end()
            return [Parameter(found[0], is_quoted)]
    return [Text("$", quoted=True)]


def _backquoted(cursor: Cursor, *, is_quoted: bool) -> Substitution:
    """In backquotes a backslash is taken away before the script is read."""
    start, text = cursor.at, list[str]()
    while not cursor.take("`"):
        if cursor.is_done:
            cursor.fail("a backquote is not closed")
        if is_quoted and cursor.follows('\\"'):
            cursor.only_bash('\\"')
        escaped = cursor.peek(2) in ("\\`", "\\\\", "\\$") or (is_quoted and cursor.follows('\\"'))
        cursor.at += 1 + escaped
        text.append(cursor.text[cursor.at - 1])
    cursor.one_line(cursor.text[start : cursor.at])
    inner = cursor.other("".join(text))
    return Substitution(inner.inner_script(""), quoted=is_quoted)


def _sum(cursor: Cursor, closing: str) -> Sum:
    """Only plain arithmetic: a subscript or a string in it could run commands."""
    start, level = cursor.at, 0
    while level or not cursor.follows(closing):
        level += {"(": 1, ")": -1}.get(cursor.peek(), 0)
        if level < 0 or cursor.is_done:
            cursor.fail("arithmetic is not closed")
        cursor.at += 1
    text = cursor.one_line(cursor.text[start : cursor.at])
    cursor.at += len(closing)
    text = _IN_SUM.sub(lambda m: f" {m[1] or m[2]} ", text)
    if not _SUM.fullmatch(text):
        cursor.fail("this arithmetic could run commands")
    return Sum(tuple(_NAME.findall(re.sub(r"\b0[xX][0-9a-fA-F]+", "", text))))


def read_sum(cursor: Cursor) -> Sum:
    return _sum(cursor, "))")


def _braced(cursor: Cursor, *, is_quoted: bool) -> Parameter:
    """`${name}` and its operations, but for those that evaluate or set: `${!name}`, `${name@P}`, `${name:=…}`."""
    counts = cursor.follows("#") and not cursor.follows("#}")
    cursor.at += counts
    found = _NAME.match(cursor.text, cursor.at) or _SPECIAL.match(cursor.text, cursor.at)
    if not found or found[0] == "!":
        cursor.fail("`${…}` has a form that could run commands")
    cursor.at = found.end()
    if is_list := _SUBSCRIPT.match(cursor.text, cursor.at):
        cursor.at = is_list.end()
    if cursor.take("}"):
        return Parameter(found[0], is_quoted, plain=not counts and not is_list)
    if sliced := _SLICE.match(cursor.text, cursor.at):
        cursor.at = sliced.end()
        cursor.need("}")
        return Parameter(found[0], is_quoted, plain=False)
    operation = _OPERATION.match(cursor.text, cursor.at)
    if not operation or counts:
        cursor.fail("`${…}` has a form that could run commands")
    cursor.at = operation.end()
    inner = _until_brace(cursor)
    return Parameter(found[0], is_quoted, plain=False, inner=(inner,))


def _until_brace(cursor: Cursor) -> Word:
    """The word behind an operator in `${…}`. Quotes in it are read unless they might not be quotes."""
    start, pieces = cursor.at, list[Piece]()
    cursor.deeper()
    while not cursor.take("}"):
        if found := _BEFORE_BRACE.match(cursor.text, cursor.at):
            cursor.at = found.end()
            pieces.append(Text(cursor.one_line(found[0]), quoted=False))
            if "<(" in found[0] or ">(" in found[0]:
                cursor.fail("a substitution stands in `${…}`")
        elif cursor.take("\\"):
            pieces.append(Text(_next(cursor), quoted=True))
        elif cursor.peek() in ("$", "`"):
            pieces += _expansion(cursor, is_quoted=True)
        else:
            # Whether a quote here is one depends on the quotes around the braces and on the operator.
            cursor.fail("a quote stands in `${…}`")
    cursor.depth -= 1
    return Word(tuple(pieces), cursor.text[start : cursor.at - 1])


def _ansi(cursor: Cursor) -> str:
    """`$'…'` with its escapes."""
    start = cursor.at
    while not cursor.take("'"):
        if cursor.is_done:
            cursor.fail("a quote is not closed")
        cursor.at += 1 + cursor.follows("\\")
    return _ANSI.sub(lambda m: _character(cursor, m), cursor.one_line(cursor.text[start : cursor.at - 1]))


def _character(cursor: Cursor, found: re.Match[str]) -> str:
    code = next((int(found[n], base) for n, base in ((1, 16), (2, 8), (3, 16), (4, 16)) if found[n]), None)
    if code is None:
        if found[5] not in _ESCAPES and found[5] not in "\\'\"?":
            cursor.fail("an escape in `$'…'` is not known")
        return _ESCAPES.get(found[5], found[5])
    if not 0 < code < 128:
        # A zero ends the text early, and bytes above make characters only together.
        cursor.fail("an escape in `$'…'` is no plain character")
    return chr(code)
