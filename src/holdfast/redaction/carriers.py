"""Places made to carry a secret: `Authorization` headers, cookies, URLs, command flags, SQL, netrc.

Rule: only the secret goes; scheme, user, host and cookie names stay readable.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator

from holdfast.redaction.found import Found, Rule
from holdfast.redaction.names import strength
from holdfast.redaction.randomness import is_random
from holdfast.redaction.values import Style, is_harmless, is_secret, is_type

_SCHEME = r"(?:Bearer|Basic|Token|ApiKey|Bot|Negotiate|Key|JWT)"
_PROSE = frozenset(
    """flag flags option options argument arguments parameter parameters or and to is are for from in with if
    when as on at the via not value values switch instead must should can will was has requires only into
    then env of that which a an stdin here support does you it may but so this field""".split()
)
"""What follows a flag in a sentence about it."""
_VALUE = r"[A-Za-z0-9._~+/=:-]{5,}[A-Za-z0-9_~+/=-]"


def _is_credential(match: re.Match[str]) -> bool:
    """With a scheme before it anything goes that is no word; alone it must look drawn and be no scheme itself."""
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
    """In a URL or a command even `password` may be the password; only references and blanks stay."""
    return re.match(r"[$%{<*\[]|x+$|\.+$|…|•|REDACTED", match["v"]) is None


def _is_command(match: re.Match[str]) -> bool:
    """Short flags mean a password in few programs: their name must stand before the flag, in the same command."""
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
    return is_secret(value, strength(match["name"]), Style.QUOTED)


RULES = (
    Rule(
        "authorization",
        ("authorization",),
        re.compile(
            rf"(?i)authorization\\*[\"'`]?\]?[ \t]{{0,4}}(?:[:=,]|=>)[ \t]{{0,4}}\\*[\"'`]?"
            rf"(?P<scheme>{_SCHEME}[ \t]{{1,4}})?(?P<v>{_VALUE})"
        ),
        _is_credential,
    ),
    Rule("bearer", ("bearer",), re.compile(rf"(?i)\bbearer[ \t]{{1,4}}(?P<v>{_VALUE})"), _is_bearer),
    Rule("basic", ("basic ",), re.compile(r"(?i)\bbasic (?P<v>[A-Za-z0-9+/]{8,}={0,2})"), _is_basic),
    Rule(
        "url",
        ("://",),
        re.compile(r"://[^\s/:@\"'<>\\`|]{0,100}:(?P<v>[^\s/\"'<>\\`|?#]{1,200})@(?=[\w\[.$%{-])"),
        _is_written_out,
    ),
    Rule(
        "command",
        ("sshpass", "mysql", "mariadb", "docker login", "redis-cli", "curl "),
        re.compile(
            r"[ \t](?P<flag>-u|--user|-p|-a)(?P<gap>[ \t]{0,4}+=?)(?P<quote>[\"'])?(?P<user>[^\s:\"'$]{1,60}:)?"
            r"(?P<v>(?(quote)[^\"'\n]|[^\s\"'\\|;&]){2,200})"
        ),
        _is_command,
    ),
    Rule(
        "flag",
        ("--",),
        re.compile(
            r"--(?P<name>[A-Za-z][\w-]{2,40})(?:[ \t]{1,4}|=|\\*[\"'],[ \t]{0,4}(?=\\*[\"']))"
            r"(?P<quote>\\*[\"'])?(?P<v>[^\s\"'\\]{3,400})"
        ),
        _is_flag,
    ),
    Rule(
        "sql",
        ("identified by", "password '"),
        re.compile(r"(?i)(?:identified[ \t]+by|\bpassword)[ \t]+'(?P<v>[^'\n]{3,200})'"),
        lambda m: not is_harmless(m["v"]),
    ),
    Rule(
        "netrc",
        ("machine ",),
        re.compile(r"\blogin[ \t]+\S{1,100}\s{1,20}password[ \t]+(?P<v>[^\s\"'\\]{1,200})"),
        _is_written_out,
    ),
)

_COOKIE_HEADER = re.compile(
    r"cookie\\*[\"'`]?[ \t]{0,4}[:=,][ \t]{0,4}\\*[\"'`]?(?=[\w.$-]{1,80}=)(?P<pairs>[^\n\"'\\]{1,4000})"
    r"|[ \t](?:-b|--cookie)[ \t=]\\*[\"'](?P<flag>[^\n\"'\\]{1,4000})"
)
_COOKIE_PAIR = re.compile(r"(?P<name>[\w.$-]{1,80})=(?P<v>[^;\s]{6,4000})")
_COOKIE_ATTRIBUTES = frozenset(("path", "domain", "expires", "max-age", "samesite", "version", "priority"))
_SESSION_NAME = re.compile(r"(?i)sess|sid\b|auth|token|csrf|xsrf|jwt|remember|login|secret|identity")


def find_cookies(text: str, lower: str) -> Iterator[Found]:
    if "cookie" not in lower and "curl " not in lower:
        return
    for header in _COOKIE_HEADER.finditer(lower):
        for pair in _COOKIE_PAIR.finditer(text, *header.span(header.lastgroup or "pairs")):
            if _is_session(pair["name"], pair["v"]):
                yield Found(pair.start("v"), pair.end("v"), "cookie")


def _is_session(name: str, value: str) -> bool:
    if name.lower() in _COOKIE_ATTRIBUTES or is_harmless(value):
        return False
    return _SESSION_NAME.search(name) is not None or is_random(value, shortest=16)
