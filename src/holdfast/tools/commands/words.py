"""Words of a shell script: quotes, `$name`, `${…}`, `$(…)`, backquotes and `$((…))`.

Rule: what bash reads as one word is one word here, with the same characters. A form that is not surely understood
raises `UnreadableScript`; it is never taken for plain text.
"""

import re

from holdfast.tools.commands.syntax import (
    Assignment,
    Parameter,
    Piece,
    Redirect,
    ScriptCursor,
    ShellText,
    ShellWord,
    Simple,
    Substitution,
    Sum,
)

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


def read_word(cursor: ScriptCursor) -> ShellWord:
    """The word that begins here; one without pieces where none does."""
    start, pieces = cursor.at, list[Piece]()
    while not cursor.is_done:
        if found := _PLAIN.match(cursor.text, cursor.at):
            cursor.at = found.end()
            pieces.append(ShellText(found[0], quoted=False))
            if _BRACE.search(found[0]):
                cursor.only_bash("{…}")
        elif cursor.take("\\\n"):
            pass
        elif cursor.take("\\"):
            pieces.append(ShellText(_next(cursor), quoted=True))
        elif cursor.take("'"):
            pieces.append(ShellText(cursor.one_line(cursor.until("'")), quoted=True))
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
    return ShellWord(tuple(pieces), cursor.text[start : cursor.at])


def read_document(cursor: ScriptCursor) -> ShellWord:
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
            pieces.append(ShellText(taken[-1], quoted=True))
    return ShellWord(tuple(pieces), cursor.text[start : cursor.at])


def _next(cursor: ScriptCursor) -> str:
    if cursor.is_done:
        cursor.fail("it ends with a backslash")
    cursor.at += 1
    return cursor.text[cursor.at - 1]


def _quoted(cursor: ScriptCursor) -> list[Piece]:
    pieces: list[Piece] = [ShellText("", quoted=True)]
    while not cursor.take('"'):
        if found := _IN_QUOTES.match(cursor.text, cursor.at):
            cursor.at = found.end()
            pieces.append(ShellText(cursor.one_line(found[0]), quoted=True))
        elif cursor.take("\\\n"):
            pass
        elif cursor.take("\\"):
            escaped = _next(cursor)
            pieces.append(ShellText(escaped if escaped in '$`"\\' else "\\" + escaped, quoted=True))
        elif cursor.is_done:
            cursor.fail("a quote is not closed")
        else:
            pieces += _expansion(cursor, is_quoted=True)
    return pieces


def _expansion(cursor: ScriptCursor, *, is_quoted: bool) -> list[Piece]:
    if cursor.take("`"):
        return [_backquoted(cursor, is_quoted=is_quoted)]
    cursor.need("$")
    if cursor.follows("\\\n"):
        cursor.fail("a line break follows a dollar sign")
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
        return [ShellText(_ansi(cursor), quoted=True)]
    if not is_quoted and cursor.take('"'):
        return _quoted(cursor)
    for pattern in (_NAME, _SPECIAL):
        if found := pattern.match(cursor.text, cursor.at):
            cursor.at = found.end()
            return [Parameter(found[0], is_quoted)]
    return [ShellText("$", quoted=True)]


def _backquoted(cursor: ScriptCursor, *, is_quoted: bool) -> Substitution:
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


def _sum(cursor: ScriptCursor, closing: str) -> Sum:
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


def read_sum(cursor: ScriptCursor) -> Sum:
    return _sum(cursor, "))")


def _braced(cursor: ScriptCursor, *, is_quoted: bool) -> Parameter:
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


def _until_brace(cursor: ScriptCursor) -> ShellWord:
    """The word behind an operator in `${…}`. Quotes in it are read unless they might not be quotes."""
    start, pieces = cursor.at, list[Piece]()
    cursor.deeper()
    while not cursor.take("}"):
        if found := _BEFORE_BRACE.match(cursor.text, cursor.at):
            cursor.at = found.end()
            pieces.append(ShellText(cursor.one_line(found[0]), quoted=False))
            if "<(" in found[0] or ">(" in found[0]:
                cursor.fail("`${…}` contains a substitution")
        elif cursor.take("\\"):
            pieces.append(ShellText(_next(cursor), quoted=True))
        elif cursor.peek() in ("$", "`"):
            pieces += _expansion(cursor, is_quoted=True)
        else:
            # Whether a quote here is one depends on the quotes around the braces and on the operator.
            cursor.fail("`${…}` contains a quote")
    cursor.depth -= 1
    return ShellWord(tuple(pieces), cursor.text[start : cursor.at - 1])


def _ansi(cursor: ScriptCursor) -> str:
    """`$'…'` with its escapes."""
    start = cursor.at
    while not cursor.take("'"):
        if cursor.is_done:
            cursor.fail("a quote is not closed")
        cursor.at += 1 + cursor.follows("\\")
    return _ANSI.sub(lambda m: _character(cursor, m), cursor.one_line(cursor.text[start : cursor.at - 1]))


def _character(cursor: ScriptCursor, found: re.Match[str]) -> str:
    code = next((int(found[n], base) for n, base in ((1, 16), (2, 8), (3, 16), (4, 16)) if found[n]), None)
    if code is None:
        if found[5] not in _ESCAPES and found[5] not in "\\'\"?":
            cursor.fail("an escape in `$'…'` is not known")
        return _ESCAPES.get(found[5], found[5])
    if not 0 < code < 128:
        # A zero ends the text early, and bytes above make characters only together.
        cursor.fail("an escape in `$'…'` is not a plain character")
    return chr(code)


# Simple commands of a shell script: assignments, words and redirections, here-documents included.
#
# Rule: a here-document ends where bash ends it; where that depends on how lines are joined,
# `UnreadableScript` is raised.

_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\[\d+\])?\+?=", re.ASCII)
_REDIRECT = re.compile(r"\d*(&>>|&>|<<<|<<-|<<|<>|<&|>>|>\||>&|<(?!\()|>(?!\())", re.ASCII)


def read_simple(cursor: ScriptCursor) -> Simple:
    start, end = cursor.at, cursor.at
    assignments, words, redirects = list[Assignment](), list[ShellWord](), list[Redirect]()
    while True:
        if redirect := read_redirect(cursor):
            redirects.append(redirect)
        elif not words and (assignment := _read_assignment(cursor)):
            assignments.append(assignment)
        else:
            word = read_word(cursor)
            if not word.pieces:
                break
            words.append(word)
        end = cursor.at
        cursor.skip_blanks()
        if cursor.follows("#"):
            break
    if end == start:
        cursor.fail(f"expected a command at `{cursor.peek(10)}`")
    return Simple(tuple(words), cursor.text[start:end], tuple(assignments), tuple(redirects))


def read_redirects(cursor: ScriptCursor) -> tuple[Redirect, ...]:
    redirects = list[Redirect]()
    cursor.skip_blanks()
    while redirect := read_redirect(cursor):
        redirects.append(redirect)
        cursor.skip_blanks()
    return tuple(redirects)


def read_redirect(cursor: ScriptCursor) -> Redirect | None:
    found = _REDIRECT.match(cursor.text, cursor.at)
    if not found:
        return None
    cursor.at = found.end()
    if found[1] in ("&>", "&>>", "<<<"):
        cursor.only_bash(found[1])
    cursor.skip_blanks()
    target = read_word(cursor)
    if not target.pieces:
        cursor.fail(f"nothing follows `{found[1]}`")
    if found[1] in ("<<", "<<-"):
        return Redirect("<<", _read_document(cursor, target, strips_tabs=found[1] == "<<-"))
    return Redirect(found[1], target)


def _read_document(cursor: ScriptCursor, delimiter: ShellWord, *, strips_tabs: bool) -> ShellWord:
    """The here-document that begins behind this line, or behind the one before it."""
    is_quoted = any(mark in delimiter.raw for mark in "'\"\\$`")
    ending = delimiter.literal
    if ending is None or "\n" in delimiter.raw:
        cursor.fail("the end of a here-document is not plain")
    start = cursor.resume
    if not start:
        line = cursor.text.find("\n", cursor.at)
        if line < 0 or cursor.text[line - 1] == "\\":
            cursor.fail("a here-document does not begin in the next line")
        start = line + 1
    lines, at = list[str](), start
    while True:
        if at >= len(cursor.text):
            cursor.fail(f"the here-document has no end `{ending}`")
        end = cursor.text.find("\n", at)
        end = end if end >= 0 else len(cursor.text)
        line_text = cursor.text[at:end]
        line_text = line_text.lstrip("\t") if strips_tabs else line_text
        at = end + 1
        if line_text == ending:
            cursor.resume = min(at, len(cursor.text))
            return _document(cursor, "".join(line + "\n" for line in lines), is_quoted=is_quoted)
        if not is_quoted and line_text.endswith("\\"):
            cursor.fail("a line of a here-document is joined to the next")
        lines.append(line_text)


def _document(cursor: ScriptCursor, body: str, *, is_quoted: bool) -> ShellWord:
    if is_quoted:
        return ShellWord((ShellText(body, quoted=True),), body)
    return read_document(cursor.other(body))


def _read_assignment(cursor: ScriptCursor) -> Assignment | None:
    found = _ASSIGNED.match(cursor.text, cursor.at)
    if not found:
        return None
    name, is_whole = found[1], not found[2] and not found[0].endswith("+=")
    cursor.at = found.end()
    if cursor.take("("):
        cursor.only_bash("=(…)")
        return Assignment(name, None, _read_items(cursor))
    value = read_word(cursor)
    return Assignment(name, value) if is_whole else Assignment(name, None, (value,))


def _read_items(cursor: ScriptCursor) -> tuple[ShellWord, ...]:
    items = list[ShellWord]()
    start = cursor.at
    cursor.skip_lines()
    while not cursor.take(")"):
        if cursor.follows("["):
            cursor.fail("a list with subscripts could run commands")
        item = read_word(cursor)
        if not item.pieces:
            cursor.fail("a list is not closed")
        items.append(item)
        cursor.skip_lines()
    cursor.one_line(cursor.text[start : cursor.at])
    return tuple(items)
