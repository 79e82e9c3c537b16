"""Simple commands of a shell script: assignments, words and redirections, here-documents included.

Rule: a here-document ends where bash ends it; where that depends on how lines are joined, it is `Unreadable`.
"""

import re

from holdfast.tools.commands.cursor import Cursor
from holdfast.tools.commands.syntax import Assignment, Redirect, Simple, Text, Word
from holdfast.tools.commands.words import read_document, read_word

_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\[\d+\])?\+?=", re.ASCII)
_REDIRECT = re.compile(r"\d*(&>>|&>|<<<|<<-|<<|<>|<&|>>|>\||>&|<(?!\()|>(?!\())", re.ASCII)


def read_simple(cursor: Cursor) -> Simple:
    start, end = cursor.at, cursor.at
    assignments, words, redirects = list[Assignment](), list[Word](), list[Redirect]()
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
        cursor.fail(f"no command stands at `{cursor.peek(10)}`")
    return Simple(tuple(words), cursor.text[start:end], tuple(assignments), tuple(redirects))


def read_redirects(cursor: Cursor) -> tuple[Redirect, ...]:
    redirects = list[Redirect]()
    cursor.skip_blanks()
    while redirect := read_redirect(cursor):
        redirects.append(redirect)
        cursor.skip_blanks()
    return tuple(redirects)


def read_redirect(cursor: Cursor) -> Redirect | None:
    found = _REDIRECT.match(cursor.text, cursor.at)
    if not found:
        return None
    cursor.at = found.end()
    if found[1] in ("&>", "&>>", "<<<"):
        cursor.only_bash(found[1])
    cursor.skip_blanks()
    target = read_word(cursor)
    if not target.pieces:
        cursor.fail(f"nothing stands behind `{found[1]}`")
    if found[1] in ("<<", "<<-"):
        return Redirect("<<", _read_document(cursor, target, strips_tabs=found[1] == "<<-"))
    return Redirect(found[1], target)


def _read_document(cursor: Cursor, delimiter: Word, *, strips_tabs: bool) -> Word:
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


def _document(cursor: Cursor, body: str, *, is_quoted: bool) -> Word:
    if is_quoted:
        return Word((Text(body, quoted=True),), body)
    return read_document(cursor.other(body))


def _read_assignment(cursor: Cursor) -> Assignment | None:
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


def _read_items(cursor: Cursor) -> tuple[Word, ...]:
    items = list[Word]()
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
