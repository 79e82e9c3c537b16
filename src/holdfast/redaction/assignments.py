"""A sensitive name and its value, however they are joined: `.env`, YAML, TOML, INI, JSON, escaped JSON, XML, code.

Rule: the name decides how much the value must look like a secret; a call, a reference or a type never does.
"""

import re
from collections.abc import Iterator

from holdfast.redaction.found import Found
from holdfast.redaction.names import Strength, strength, words
from holdfast.redaction.values import LONGEST_WRITTEN, Style, is_plausible, is_secret

_STEMS = ("pass", "pw", "secret", "token", "key", "auth", "credential", "jwt", "dsn")
"""Every sensitive name holds one of these: nine substring searches cost less than one alternation of them."""

_NAME = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_LONGEST_NAME = 48

_QUOTE = r"\\{0,7}[\"'`]"
_DRAWN = rf"[A-Za-z0-9+/_.~-]{{{LONGEST_WRITTEN},}}+={{0,2}}"
_JOINED = re.compile(
    rf"""
    (?P<rest>[A-Za-z0-9_-]{{0,24}}+)
    (?:{_QUOTE})?+\]?+[?!]?+
    (?: (?P<gap>[ \t]{{0,8}}+)
        (?P<sep> :[ \t]{{0,4}}[A-Za-z_&*][\w.\[\]<>|&*]{{0,40}}[ \t]=(?=[ \t])  # an annotated variable
               | :=|=>|={{1,3}}|!=|:|>|is:?(?=[ \t]) )
      | (?P<pair> ,?\s{{1,40}}(?:{_QUOTE})?value(?:{_QUOTE})?[ \t]{{0,4}}[:=]) )
    [ \t]{{0,8}}
    (?: [brufBRUF@]{{0,2}}(?P<quote>{_QUOTE})
        (?P<quoted>{_DRAWN}|(?:(?!(?P=quote))(?:\\.|[^\\\r\n])){{1,{LONGEST_WRITTEN}}}) (?:(?P=quote)|(?=[\r\n])|\Z)
      | (?P<bare>{_DRAWN}|[^\s"'`\\]{{1,{LONGEST_WRITTEN}}}+(?:\\(?![nrt"'`\\])[^\s"'`\\]{{0,40}}+){{0,3}}) )
    """,
    re.VERBOSE,
)
_NEXT_PAIR = re.compile(r";|&(?=[\w.%-]{1,60}=)")
_LINE_START = re.compile(
    r"(?:\A|\n|\\n|(?<=[→\t]))[ \t>+#-]{0,40}(?:export[ \t]+)?(?:[\w-]{1,40}\.){0,6}[\"']?\Z"
)


def find_assignments(text: str, lower: str) -> Iterator[Found]:
    for stem in _STEMS:
        at = lower.find(stem)
        while at >= 0:
            end = at + len(stem)
            if match := _JOINED.match(text, end):
                yield from _judge(text, at, match)
            at = lower.find(stem, end)


def _judge(text: str, at: int, match: re.Match[str]) -> Iterator[Found]:
    before = text[max(0, at - _LONGEST_NAME) : at]
    left = before[len(before.rstrip(_NAME)) :]
    if left[:1] in ("n", "r", "t") and text[at - len(left) - 1 : at - len(left)] == "\\":
        left = left[1:]
    start = at - len(left)
    name = left + text[at : match.end("rest")]
    promise = strength(name)
    if promise is Strength.NONE or text[start - 3 : start] == "://":  # the user of a URL
        return
    if match["quoted"]:
        style = Style.ENV if _is_env(text, start, name, match) else Style.QUOTED
        begin, value = match.start("quoted"), match["quoted"]
    else:
        begin, value = match.start("bare"), _trimmed(match["bare"], text[start - 1 : start], match["sep"])
        if _is_code(text, start, match) or not is_plausible(value):
            return
        style = _bare_style(text, start, name, match, begin + len(value))
    if is_secret(value, promise, style) and words(value) != words(name):
        yield Found(begin, begin + len(value), "assignment")


def _is_code(text: str, start: int, match: re.Match[str]) -> bool:
    """A call, a block, an arrow, an opened bracket; `>` joins only what is a tag."""
    bare = match["bare"]
    if match["sep"] == ">":
        return not (text[start - 1 : start] == "<" and "</" in bare)
    return bare[0] in "([{<" or bare.endswith((":", "(", "{")) or text[match.end() : match.end() + 1] == "("


def _bare_style(text: str, start: int, name: str, match: re.Match[str], end: int) -> Style:
    if match["pair"] or match["sep"] == ">":
        return Style.QUOTED
    if text[start - 1 : start] in ("?", "&"):
        return Style.FIELD
    if _is_env(text, start, name, match):
        return Style.ENV
    if match["gap"] and text[match.start("bare") : end].isalpha():  # `pwd = parent` is code
        return Style.BARE
    rest = text[end : end + 60].partition("\n")[0].partition("\\n")[0].lstrip()
    if (not rest or rest[0] == "#") and _LINE_START.search(text, max(0, start - 80), start):
        return Style.LINE
    return Style.BARE


def _is_env(text: str, start: int, name: str, match: re.Match[str]) -> bool:
    """`NAME=value` as a shell or a `.env` file has it, or `NAME: value` on a line of its own."""
    if not name.isupper():
        return False
    if match["sep"] == "=" and not match["gap"]:
        return not text[match.end("sep") : match.end("sep") + 1].isspace()
    return match["sep"] == ":" and _LINE_START.search(text, max(0, start - 80), start) is not None


def _trimmed(value: str, before: str, sep: str | None) -> str:
    """An unquoted value up to where its surroundings go on: a query, a connection string, a tag, a sentence."""
    if before in ("?", "&", "<"):
        value = value.partition("<" if before == "<" else "&")[0]
    if sep == "=":
        value = _NEXT_PAIR.split(value, maxsplit=1)[0]
    return value.rstrip(",;)]}>|.")
