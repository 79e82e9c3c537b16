"""Reads a shell script: lists, pipelines, compound commands and functions.

Rule: strict where the reader of `views` is lenient. That one looks for what a script most likely did; this one
decides what may run, so a text that bash might read in another way is `UnreadableScript`. The grammar is that of
bash without its options (`extglob`, aliases), which only a script that is asked about can turn on.
"""

import re

from holdfast.tools.commands.syntax import (
    Branch,
    Command,
    Connector,
    Function,
    Loop,
    Pipeline,
    ScriptCursor,
    ShellGroup,
    ShellScript,
    ShellTest,
    ShellWord,
    UnreadableScript,
)
from holdfast.tools.commands.words import read_redirects, read_simple, read_sum, read_word

LONGEST = 100_000
"""Characters of a script that is read at all."""
_NO_TEXT = re.compile("[\0\ue000-\ue009]")
"""Characters that stand for what is not known, and one that ends a text; none may come from outside."""

_CLOSING = frozenset({"}", "then", "do", "done", "fi", "elif", "else", "esac"})
_COMPOUND = frozenset({"{", "if", "while", "until", "for", "select", "case", "function", "[["})
_NAME = re.compile(r"[A-Za-z_:][\w.:-]*", re.ASCII)
_PARENTHESES = re.compile(r"[ \t]*\([ \t]*\)")
_IN_TEST = re.compile(r"[()<>|&]+")


def read_script(text: str, *, is_posix: bool = False) -> ShellScript:
    """The whole text as a script, or `UnreadableScript`; with `is_posix` only what all shells read alike."""
    if len(text) > LONGEST:
        raise UnreadableScript("it is too long")
    if _NO_TEXT.search(text):
        raise UnreadableScript("it holds a character that is not for text")
    return ScriptCursor(text, _read_until, is_posix=is_posix).inner_script("")


def _read_until(cursor: ScriptCursor, closing: str) -> ShellScript:
    script = _read_list(cursor)
    if closing:
        cursor.need(closing)
    elif not cursor.is_done:
        cursor.fail(f"unexpected `{cursor.peek()}`")
    elif cursor.resume:
        # The last line ended without a line break, behind its here-documents nothing follows.
        cursor.resume = 0
    return script


def _read_list(cursor: ScriptCursor) -> ShellScript:
    """Commands up to something that closes a list. An empty list is one."""
    steps: list[tuple[Pipeline, Connector]] = []
    cursor.skip_lines()
    while not _is_closed(cursor):
        pipeline = _read_pipeline(cursor)
        connector = _read_connector(cursor)
        steps.append((pipeline, connector))
        cursor.skip_lines()
        if connector in ("&&", "||") and _is_closed(cursor):
            cursor.fail(f"nothing follows `{connector}`")
    return ShellScript(tuple(steps))


def _is_closed(cursor: ScriptCursor) -> bool:
    if cursor.is_done or cursor.peek() == ")" or cursor.peek(2) in (";;", ";&"):
        return True
    return _bare(cursor) in _CLOSING


def _bare(cursor: ScriptCursor) -> str:
    """The bare word at the cursor, if it is short enough to be a reserved one."""
    end = cursor.at
    while end < len(cursor.text) and cursor.text[end] not in " \t\n;|&()<>":
        end += 1
        if end - cursor.at > 8:
            return ""
    return cursor.text[cursor.at : end]


def _take_bare(cursor: ScriptCursor, *words: str) -> str:
    word = _bare(cursor)
    if word not in words:
        cursor.fail(f"`{words[0]}` is missing")
    cursor.at += len(word)
    return word


def _read_connector(cursor: ScriptCursor) -> Connector:
    cursor.skip_blanks()
    if cursor.take("&&"):
        return "&&"
    if cursor.take("||"):
        return "||"
    if cursor.take("&"):
        return "&"
    if not (_is_closed(cursor) or cursor.peek() in ("\n", "#") or cursor.take(";")):
        cursor.fail(f"unexpected `{cursor.peek()}`")
    return ";"


def _read_pipeline(cursor: ScriptCursor) -> Pipeline:
    is_negated = False
    while (word := _bare(cursor)) in ("!", "time"):
        cursor.at += len(word)
        is_negated ^= word == "!"
        cursor.skip_blanks()
        if word == "time" and _bare(cursor) == "-p":
            cursor.at += 2
            cursor.skip_blanks()
    commands = [_read_command(cursor)]
    cursor.skip_blanks()
    while cursor.follows("|") and not cursor.follows("||"):
        if cursor.follows("|&"):
            cursor.only_bash("|&")
        cursor.at += 1 + cursor.follows("|&")
        cursor.skip_lines()
        commands.append(_read_command(cursor))
        cursor.skip_blanks()
    return Pipeline(tuple(commands), is_negated)


def _read_command(cursor: ScriptCursor) -> Command:
    start, word = cursor.at, _bare(cursor)
    if cursor.peek() == "(" or word in _COMPOUND:
        cursor.deeper()
        command = _read_compound(cursor, word)
        cursor.depth -= 1
        return command
    if word in ("coproc", "in", *_CLOSING):
        cursor.fail(f"`{word}` is not supported")
    if (found := _NAME.match(cursor.text, cursor.at)) and _PARENTHESES.match(cursor.text, found.end()):
        cursor.at = found.end()
        return _read_function(cursor, found[0], start)
    return read_simple(cursor)


def _read_compound(cursor: ScriptCursor, word: str) -> Command:
    if cursor.follows("((") or word in ("[[", "function", "select"):
        cursor.only_bash(word or "((…))")
    if cursor.take("(("):
        start = cursor.at - 2
        names = read_sum(cursor).names
        return ShellTest((), cursor.text[start : cursor.at], names, read_redirects(cursor))
    if cursor.take("("):
        body = cursor.inner_script(")")
        return ShellGroup(body, is_subshell=True, redirects=read_redirects(cursor))
    cursor.at += len(word)
    match word:
        case "{":
            body = _read_list(cursor)
            _take_bare(cursor, "}")
            return ShellGroup(body, is_subshell=False, redirects=read_redirects(cursor))
        case "if":
            return _read_if(cursor)
        case "while" | "until":
            scripts = _read_loop(cursor, _read_list(cursor))
            return Loop(scripts, is_until=word == "until", redirects=read_redirects(cursor))
        case "for" | "select":
            return _read_for(cursor)
        case "case":
            return _read_case(cursor)
        case "[[":
            return _read_test(cursor)
        case _:
            cursor.skip_blanks()
            if not (found := _NAME.match(cursor.text, cursor.at)):
                cursor.fail("a function has no plain name")
            start, cursor.at = cursor.at, found.end()
            return _read_function(cursor, found[0], start)


def _read_function(cursor: ScriptCursor, name: str, start: int) -> Function:
    if found := _PARENTHESES.match(cursor.text, cursor.at):
        cursor.at = found.end()
    cursor.skip_lines()
    if cursor.peek() != "(" and _bare(cursor) not in _COMPOUND - {"function"}:
        cursor.fail("a function has no body")
    body = _read_command(cursor)
    return Function(name, body, cursor.text[start : cursor.at])


def _read_if(cursor: ScriptCursor) -> Branch:
    scripts = [_read_list(cursor)]
    _take_bare(cursor, "then")
    scripts.append(_read_list(cursor))
    while (word := _take_bare(cursor, "fi", "elif", "else")) != "fi":
        scripts.append(_read_list(cursor))
        if word == "elif":
            _take_bare(cursor, "then")
            scripts.append(_read_list(cursor))
    return Branch(tuple(scripts), redirects=read_redirects(cursor))


def _read_loop(cursor: ScriptCursor, *before: ShellScript) -> tuple[ShellScript, ...]:
    _take_bare(cursor, "do")
    body = _read_list(cursor)
    _take_bare(cursor, "done")
    return (*before, body)


def _read_for(cursor: ScriptCursor) -> Loop:
    cursor.skip_blanks()
    if not (found := _NAME.match(cursor.text, cursor.at)) or ":" in found[0]:
        cursor.fail("a loop has no plain variable")
    cursor.at = found.end()
    cursor.skip_lines()
    items: list[ShellWord] | None = None
    if _bare(cursor) == "in":
        cursor.at += 2
        items = []
        cursor.skip_blanks()
        while (word := read_word(cursor)).pieces:
            items.append(word)
            cursor.skip_blanks()
    cursor.take(";")
    cursor.skip_lines()
    scripts = _read_loop(cursor)
    listed = None if items is None else tuple(items)
    return Loop(scripts, found[0], listed, redirects=read_redirects(cursor))


def _read_case(cursor: ScriptCursor) -> Branch:
    cursor.skip_blanks()
    words, scripts = [read_word(cursor)], list[ShellScript]()
    cursor.skip_lines()
    _take_bare(cursor, "in")
    cursor.skip_lines()
    while _bare(cursor) != "esac":
        cursor.take("(")
        cursor.skip_blanks()
        while (word := read_word(cursor)).pieces:
            words.append(word)
            cursor.skip_blanks()
            if not cursor.take("|"):
                break
            cursor.skip_blanks()
        cursor.need(")")
        scripts.append(_read_list(cursor))
        if cursor.follows(";&") or cursor.follows(";;&"):
            cursor.only_bash(";&")
        if not (cursor.take(";;&") or cursor.take(";;") or cursor.take(";&")) and _bare(cursor) != "esac":
            cursor.fail("`;;` is missing")
        cursor.skip_lines()
    cursor.at += len("esac")
    return Branch(tuple(scripts), tuple(words), read_redirects(cursor))


def _read_test(cursor: ScriptCursor) -> ShellTest:
    """`[[ … ]]`: brackets, bars and angles in it are its own."""
    start, words = cursor.at - 2, list[ShellWord]()
    cursor.skip_blanks()
    while _bare(cursor) != "]]":
        word = read_word(cursor)
        if word.pieces:
            words.append(word)
        elif found := _IN_TEST.match(cursor.text, cursor.at):
            cursor.at = found.end()
        else:
            cursor.fail("`]]` is missing")
        cursor.skip_blanks()
    cursor.at += 2
    return ShellTest(tuple(words), cursor.text[start : cursor.at], (), read_redirects(cursor))
