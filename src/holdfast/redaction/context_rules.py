"""Secrets by their context: after a sensitive name, in headers, cookies, URLs, command flags, SQL and netrc.

Names and values may be joined in any notation: `.env`, YAML, TOML, INI, JSON, escaped JSON, XML, code.

Rule: the name decides how much the value must look like a secret; a call, a reference or a type never does. Only
the secret goes; scheme, user, host and cookie names stay readable.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator

from holdfast.redaction.named_values import (
    LONGEST_WRITTEN,
    NameSensitivity,
    ValueStyle,
    is_harmless,
    is_plausible,
    is_secret,
    is_type,
    name_sensitivity,
    name_words,
)
from holdfast.redaction.randomness import is_random
from holdfast.redaction.secret_rule import SecretRule, SecretSpan

_STEMS = ("pass", "pw", "secret", "token", "key", "auth", "credential", "jwt", "dsn")
"""Every sensitive name contains one of these: nine substring searches cost less than one alternation."""

_NAME = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_LONGEST_NAME = 48

_QUOTE = r"\\{0,7}[\"'`]"
_RANDOM = rf"[A-Za-z0-9+/_.~-]{{{LONGEST_WRITTEN},}}+={{0,2}}"
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
        (?P<quoted>{_RANDOM}|(?:(?!(?P=quote))(?:\\.|[^\\\r\n])){{1,{LONGEST_WRITTEN}}})
        (?:(?P=quote)|(?=[\r\n])|\Z)
      | (?P<bare>{_RANDOM}|[^\s"'`\\]{{1,{LONGEST_WRITTEN}}}+(?:\\(?![nrt"'`\\])[^\s"'`\\]{{1,40}}+){{0,3}}) )
    """,
    re.VERBOSE,
)
_NEXT_PAIR = re.compile(r";|&(?=[\w.%-]{1,60}=)")
_LINE_START = re.compile(
    r"(?:\A|\n|\\n|(?<=[→\t]))[ \t>+#-]{0,40}(?:export[ \t]+)?(?:[\w-]{1,40}\.){0,6}[\"']?\Z"
)

_SCHEME = r"(?:Bearer|Basic|Token|ApiKey|Bot|Negotiate|Key|JWT)"
_PROSE = frozenset(
    """flag flags option options argument arguments parameter parameters or and to is are for from in with if
    when as on at the via not value values switch instead must should can will was has requires only into
    then env of that which a an stdin here support does you it may but so this field""".split()
)
"""Words that follow a flag in a sentence about it."""
_VALUE = r"[A-Za-z0-9._~+/=:-]{5,}[A-Za-z0-9_~+/=-]"
_COOKIE_HEADER = re.compile(
    r"cookie\\*[\"'`]?[ \t]{0,4}[:=,][ \t]{0,4}\\*[\"'`]?(?=[\w.$-]{1,80}=)(?P<pairs>[^\n\"'\\]{1,4000})"
    r"|[ \t](?:-b|--cookie)[ \t=]\\*[\"'](?P<flag>[^\n\"'\\]{1,4000})"
)
_COOKIE_PAIR = re.compile(r"(?P<name>[\w.$-]{1,80})=(?P<v>[^;\s]{6,4000})")
_COOKIE_ATTRIBUTES = frozenset(("path", "domain", "expires", "max-age", "samesite", "version", "priority"))
_SESSION_NAME = re.compile(r"(?i)sess|sid\b|auth|token|csrf|xsrf|jwt|remember|login|secret|identity")


def find_assignments(text: str, lower: str) -> Iterator[SecretSpan]:
    for stem in _STEMS:
        at = lower.find(stem)
        while at >= 0:
            end = at + len(stem)
            if match := _JOINED.match(text, end):
                yield from _judge(text, at, match)
            at = lower.find(stem, end)


def _judge(text: str, at: int, match: re.Match[str]) -> Iterator[SecretSpan]:
    before = text[max(0, at - _LONGEST_NAME) : at]
    left = before[len(before.rstrip(_NAME)) :]
    if left[:1] in ("n", "r", "t") and text[at - len(left) - 1 : at - len(left)] == "\\":
        left = left[1:]
    start = at - len(left)
    name = left + text[at : match.end("rest")]
    sensitivity = name_sensitivity(name)
    if sensitivity is NameSensitivity.NONE or text[start - 3 : start] == "://":  # the user of a URL
        return
    if match["quoted"]:
        style = ValueStyle.ENV if _is_env(text, start, name, match) else ValueStyle.QUOTED
        begin, value = match.start("quoted"), match["quoted"]
    else:
        begin, value = match.start("bare"), _trimmed(match["bare"], text[start - 1 : start], match["sep"])
        if _is_code(text, start, match) or not is_plausible(value):
            return
        style = _bare_style(text, start, name, match, begin + len(value))
    if is_secret(value, sensitivity, style) and name_words(value) != name_words(name):
        yield SecretSpan(begin, begin + len(value), "assignment")


def _is_code(text: str, start: int, match: re.Match[str]) -> bool:
    """A call, a block, an arrow, an opening bracket; `>` joins a name and a value only in a tag."""
    bare = match["bare"]
    if match["sep"] == ">":
        return not (text[start - 1 : start] == "<" and "</" in bare)
    return bare[0] in "([{<" or bare.endswith((":", "(", "{")) or text[match.end() : match.end() + 1] == "("


def _bare_style(text: str, start: int, name: str, match: re.Match[str], end: int) -> ValueStyle:
    if match["pair"] or match["sep"] == ">":
        return ValueStyle.QUOTED
    if text[start - 1 : start] in ("?", "&"):
        return ValueStyle.FIELD
    if _is_env(text, start, name, match):
        return ValueStyle.ENV
    if match["gap"] and text[match.start("bare") : end].isalpha():  # `pwd = parent` is code
        return ValueStyle.BARE
    rest = text[end : end + 60].partition("\n")[0].partition("\\n")[0].lstrip()
    if (not rest or rest[0] == "#") and _LINE_START.search(text, max(0, start - 80), start):
        return ValueStyle.LINE
    return ValueStyle.BARE


def _is_env(text: str, start: int, name: str, match: re.Match[str]) -> bool:
    """`NAME=value` as in a shell or a `.env` file, or `NAME: value` on a line of its own."""
    if not name.isupper():
        return False
    if match["sep"] == "=" and not match["gap"]:
        return not text[match.end("sep") : match.end("sep") + 1].isspace()
    return match["sep"] == ":" and _LINE_START.search(text, max(0, start - 80), start) is not None


def _trimmed(value: str, before: str, sep: str | None) -> str:
    """An unquoted value without what follows it: the rest of a query, a connection string, a tag, a sentence."""
    if before in ("?", "&", "<"):
        value = value.partition("<" if before == "<" else "&")[0]
    if sep == "=":
        value = _NEXT_PAIR.split(value, maxsplit=1)[0]
    return value.rstrip(",;)]}>|.")


def _is_credential(match: re.Match[str]) -> bool:
    """After a scheme, anything that is not a word; alone it must look random and not be a scheme itself."""
    value = match["v"].rstrip("=")
    return (
        not is_harmless(value)
        and not value.startswith("AWS4-")
        and (is_random(value) or (match["scheme"] is not None and not value.isalpha()))
    )


def _is_bearer(match: re.Match[str]) -> bool:
    return not is_harmless(match["v"]) and is_random(match["v"])


def _is_basic(match: re.Match[str]) -> bool:
    try:
        return b":" in b64decode(match["v"], validate=True)
    except binascii.Error:
        return False


def _is_written_out(match: re.Match[str]) -> bool:
    """In a URL or a command even `password` may be the password; only references and placeholders stay."""
    return re.match(r"[$%{<*\[]|x+$|\.+$|…|•|REDACTED", match["v"]) is None


def _is_pgpass(match: re.Match[str]) -> bool:
    """At a port of PostgreSQL, or where the file is named: elsewhere, five fields are the output of a search."""
    is_known = match["port"] in ("*", "5432") or "pgpass" in match.string
    return is_known and _is_written_out(match)


def _is_command(match: re.Match[str]) -> bool:
    """Short flags mean a password in few programs: the program must be named before the flag, in the same
    command."""
    line = re.split(r"[\n|;&]", match.string[max(0, match.start() - 200) : match.start()])[-1]
    flag, glued = match["flag"], not match["gap"]
    if flag in ("-u", "--user"):
        is_meant = bool(match["user"]) and "curl" in line
    elif flag == "-a":
        is_meant = "redis-cli" in line and not glued
    else:
        is_meant = "sshpass" in line or ("docker login" in line and not glued)
        is_meant = is_meant or (
            glued and re.search(r"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b", line) is not None
        )
    return is_meant and _is_written_out(match)


def _is_flag(match: re.Match[str]) -> bool:
    """`--password foo` in a command, not `--password flag` in prose nor `--password TEXT` in a help text."""
    value = match["v"]
    if (
        (value[0] == "-" and not is_random(value))
        or is_type(value)
        or (value.isupper() and value.replace("_", "").isalpha())
    ):
        return False
    if not match["quote"] and value.lower() in _PROSE:
        return False
    return is_secret(value, name_sensitivity(match["name"]), ValueStyle.QUOTED)


CONTEXT_RULES = (
    SecretRule(
        "authorization",
        ("authorization",),
        re.compile(
            rf"(?i)authorization\\*[\"'`]?\]?[ \t]{{0,4}}(?:[:=,]|=>)[ \t]{{0,4}}\\*[\"'`]?"
            rf"(?P<scheme>{_SCHEME}[ \t]{{1,4}})?(?P<v>{_VALUE})"
        ),
        _is_credential,
        at_anchor=True,
    ),
    SecretRule(
        "bearer",
        ("bearer",),
        re.compile(rf"(?i)\bbearer[ \t]{{1,4}}(?P<v>{_VALUE})"),
        _is_bearer,
        at_anchor=True,
    ),
    SecretRule(
        "basic",
        ("basic ",),
        re.compile(r"(?i)\bbasic (?P<v>[A-Za-z0-9+/]{8,}={0,2})"),
        _is_basic,
        at_anchor=True,
    ),
    SecretRule(
        "url",
        ("://",),
        re.compile(r"://[^\s/:@\"'<>\\`|]{0,100}:(?P<v>[^\s/\"'<>\\`|?#]{1,200})@(?=[\w\[.$%{-])"),
        _is_written_out,
    ),
    SecretRule(
        "command",
        ("sshpass", "mysql", "mariadb", "docker login", "redis-cli", "curl "),
        re.compile(
            r"[ \t](?P<flag>-u|--user|-p|-a)(?P<gap>[ \t]{0,4}+=?)(?P<quote>[\"'])?(?P<user>[^\s:\"'$]{1,60}:)?"
            r"(?P<v>(?(quote)[^\"'\n]|[^\s\"'\\|;&]){2,200})"
        ),
        _is_command,
    ),
    SecretRule(
        "flag",
        ("--",),
        re.compile(
            r"--(?P<name>[A-Za-z][\w-]{2,40})(?:[ \t]{1,4}|=|\\*[\"'],[ \t]{0,4}(?=\\*[\"']))"
            r"(?P<quote>\\*[\"'])?(?P<v>[^\s\"'\\]{3,400})"
        ),
        _is_flag,
    ),
    SecretRule(
        "sql",
        ("identified by", "password '"),
        re.compile(r"(?i)(?:identified by|\bpassword)[ \t]+'(?P<v>[^'\n]{3,200})'"),
        lambda m: not is_harmless(m["v"]),
        at_anchor=True,
    ),
    SecretRule(
        "netrc",
        ("machine ",),
        re.compile(r"\blogin[ \t]+\S{1,100}\s{1,20}password[ \t]+(?P<v>[^\s\"'\\]{1,200})"),
        _is_written_out,
    ),
    SecretRule(
        "pgpass",
        (":5432:", ":*:", "pgpass"),
        re.compile(
            r"(?<![^\s+>\"'`])[\w.*-]{1,100}:(?P<port>[0-9]{2,5}|\*):[\w.*$-]{1,64}:[\w.*@$-]{1,64}:"
            r"(?P<v>(?:\\[:\\]|[^\s:\\\"'`]){3,200})(?=[\"'`]|\s|\Z)"
        ),
        _is_pgpass,
    ),
    SecretRule(
        "password_hash",
        ("$",),
        re.compile(
            r"(?P<v>\$\$?(?:(?:apr1|[156])\$\$?(?:rounds=[0-9]{1,9}\$\$?)?[A-Za-z0-9./]{1,16}\$\$?[A-Za-z0-9./]{22,86}"
            r"|2[abxy]\$\$?[0-9]{2}\$\$?[A-Za-z0-9./]{53}"
            r"|y\$\$?[A-Za-z0-9./]{1,8}\$\$?[A-Za-z0-9./]{1,86}\$\$?[A-Za-z0-9./]{43}))(?![A-Za-z0-9./])"
        ),
    ),
    SecretRule(
        "password_hash",
        ("sha}",),
        re.compile(r"(?P<v>\{S?SHA\}[A-Za-z0-9+/]{27,60}={0,2})(?![A-Za-z0-9+/])"),
    ),
    SecretRule(
        "password_hash",
        ("htpasswd",),
        re.compile(r"(?m)^[+ \t]{0,8}[\w.@-]{1,64}:(?P<v>[A-Za-z0-9./]{13})\r?$"),
        lambda m: is_random(m["v"]),
    ),
)


def find_cookies(text: str, lower: str) -> Iterator[SecretSpan]:
    if "cookie" not in lower and "curl " not in lower:
        return
    for header in _COOKIE_HEADER.finditer(lower):
        for pair in _COOKIE_PAIR.finditer(text, *header.span(header.lastgroup or "pairs")):
            if _is_session(pair["name"], pair["v"]):
                yield SecretSpan(pair.start("v"), pair.end("v"), "cookie")


def _is_session(name: str, value: str) -> bool:
    if name.lower() in _COOKIE_ATTRIBUTES or is_harmless(value):
        return False
    return _SESSION_NAME.search(name) is not None or is_random(value, shortest=16)
