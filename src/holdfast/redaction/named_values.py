"""Whether a named value is a secret: by its name, how it is written, and what it looks like.

Rule: the last word of a name decides (`token_count` is a count): `DB_PASSWORD`, `clientSecret` and `x-api-key`
suggest a secret, `max_tokens` and `token_url` do not. What refers to a secret (`$TOKEN`, `os.environ[...]`,
`<your-key>`, `str`) is not one.
"""

import re
from enum import Enum, IntEnum
from functools import lru_cache

from holdfast.redaction.randomness import is_random
from holdfast.redaction.secret_rule import MARK

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SUFFIXES = frozenset(
    "prod production dev test staging stage local live value raw plain plaintext b64 base64".split()
)
_STRONG = ("password", "passwd", "passphrase", "passwort", "passcode")
_STRONG_WORDS = frozenset((*_STRONG, "pwd"))
_STRONG_LAST = frozenset(("pass", "pw", "psw"))
"""Too common alone (`pass: 5, fail: 2`); as the last of several words they mean a password."""
_MEDIUM_WORDS = frozenset(("secret", "token", "jwt", "authorization", "credential", "credentials", "dsn"))
_MEDIUM_ENDINGS = tuple("token secret apikey accesskey secretkey privatekey accountkey authkey".split())
_KEY_OWNERS = frozenset(
    "api access secret private auth signing encryption account master shared service session deploy".split()
)
_NOT_SECRET = frozenset(
    """page next prev continuation pagination sync start end eos bos pad sep mask unk cls special stop begin
    image input output prompt completion cached per cancel cancellation max min num total count public
    primary foreign cache partition sort object idempotency lookup dedupe query row""".split()
)
"""Words that turn a token or a key into something else: cursors, vocabulary, counts, columns."""
_LABEL_WORDS = frozenset(
    """access admin api auth authorization basic bearer client credential credentials csrf current customer
    database db default email env field form github gitlab hash header id input jwt key login name new oauth
    old openai passphrase passwd password private pwd refresh reset secret session string text token type
    user username value web webhook x""".split()
)
_REFERENCE = re.compile(
    r"""(?x)
    \$ (?: [A-Za-z_][\w.:>\[\]-]* | [0-9@*\#?!] | [({].* ) \Z
    | <.*> \Z | \{.*\} \Z | \[.*\] \Z | \(.*\) \Z | %.*% \Z | [*&!]\w+ \Z
    | (?: os | process | import | env | self | this | cls | ctx | req | request | config | cfg | settings | secrets
        | vars | args | opts | options | props | params | data | vault | user | client | response | res ) [.:\[(?]
    | (?: getenv | environ ) \b
    | (?i: [a-z][a-z0-9+.-]{0,12} :// | arn: | urn: | data: | file: )
    """,
    re.DOTALL,
)
_INSERTED = re.compile(
    r"[$#{%<.…*•](?:(?<=[$#{])\{|(?<=\$)\(|(?<=\{)[A-Za-z_]\w{0,40}\}|(?<=%)[sdvq](?![A-Za-z0-9])"
    r"|(?<=<)[\w. -]{1,60}>|(?<=…)|(?<=\.)\.\.|(?<=\*)\*\*|(?<=•)••)"
)
"""Something filled in later or left out: `${…}`, `{{…}}`, `{name}`, `%s`, `<name>`, `...`, `***`."""
_PLACEHOLDER = re.compile(
    r"""(?ix)
    true | false | null | none | nil | undefined | yes | no | on | off | empty | unset | todo | tbd | n/a | unknown
    | required | optional | missing | invalid | hidden | masked | omitted | removed | hash(?:ed)? | encrypted
    | change[_ -]?(?:me|it|this) | redacted | disabled | enabled | default | \W{1,4}
    """
)
_PLACEHOLDER_WORDS = (
    *("your-", "your_", "yourkey", "yourtoken", "placeholder", "example", "dummy", "insert-", "insert_"),
    *("replace-", "replace_", "redacted", "goes-here", "goes_here", "xxxx", "____", "----"),
)
"""Only in written text, not in random keys: the best known sample key of AWS contains EXAMPLE and is a key."""
_TYPE = re.compile(
    r"""(?ix)
    [&*]{0,2} (?: str | string | bytes? | char | text | varchar | int(?:eger)? | float | number | bool(?:ean)?
      | object | any | unknown | never | void | uuid | secretstr | secret | token | password | credentials? | type
      | interface | struct | null | none | optional | option | date | datetime | list | dict | map | array | self
      | var | let )
    (?: [\[<(|?*,;:)] .* )? [;,?]?
    """
)
_PATH = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:)[\\/].*|/[a-z][a-z0-9._-]{0,30}(?:/.*)?|(?:[\w.@-]{1,100}/){1,40}[\w.@-]+\.\w{1,5}"
)
_NUMBER = re.compile(r"[-+]?[0-9][0-9_,.]*(?:[eE][-+]?[0-9]+|[kKmMbB%]|ms|s|m|h|d)?")
_CODE = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*(?:[(\[{<].*)?")
_ABOUT_PASSWORDS = re.compile(
    r"(?i)\spass(?:word|phrase|wd)s?\b|\bpass(?:word|phrase|wd)s?\s|pwd|secret|token"
)
_NAMES_SECRET = re.compile(r"(?i)pass|pwd|secret|token")
_RANDOM = re.compile(r"[A-Za-z0-9+/_.~\r\n-]*+={0,2}\s*\Z")
_SPACE = re.compile(r"\s")
LONGEST_WRITTEN = 128
"""What a person types is shorter; longer values are secrets only if they look random."""


class NameSensitivity(IntEnum):
    """How strongly a name suggests a secret: the more it does, the less its value must look like one."""

    NONE = 0
    WEAK = 1
    """Some `…_key`: only clearly random values."""
    MEDIUM = 2
    """Tokens, secrets, API keys: values that look random, or any in an environment assignment."""
    STRONG = 3
    """Passwords: values of low entropy too."""


def name_words(name: str) -> tuple[str, ...]:
    """The lowercase words of a name, whatever joins them: `apiKey`, `API_KEY`, `x-api-key`."""
    return tuple(w.lower() for w in _WORDS.findall(name))


@lru_cache(maxsize=4096)
def name_sensitivity(name: str) -> NameSensitivity:
    parts = list(name_words(name))
    while len(parts) > 1 and (parts[-1].isdigit() or parts[-1] in _SUFFIXES):
        parts.pop()
    if not parts:
        return NameSensitivity.NONE
    last = parts[-1]
    if last in _STRONG_WORDS or last.endswith(_STRONG):
        return NameSensitivity.NONE if name in ("PWD", "OLDPWD") else NameSensitivity.STRONG
    if len(parts) > 1 and last in _STRONG_LAST:
        return NameSensitivity.STRONG
    if not _NOT_SECRET.isdisjoint(parts):
        return NameSensitivity.NONE
    if last in _MEDIUM_WORDS or last.endswith(_MEDIUM_ENDINGS):
        return NameSensitivity.MEDIUM
    if len(parts) > 1 and last == "key":
        return NameSensitivity.MEDIUM if parts[-2] in _KEY_OWNERS else NameSensitivity.WEAK
    return NameSensitivity.MEDIUM if parts == ["auth"] else NameSensitivity.NONE


def is_label(value: str) -> bool:
    """Is this the name of a secret rather than one: `access_token`, `Password`, `x-api-key`?"""
    if len(value) > 40:
        return False
    parts = name_words(value)
    return bool(parts) and sum(map(len, parts)) + len(parts) >= len(value) and _LABEL_WORDS.issuperset(parts)


class ValueStyle(Enum):
    """How a value is written beside its name."""

    FIELD = "a field of its own, as in decoded JSON or a query"
    QUOTED = "a string literal"
    ENV = "NAME=value or NAME: value, the name in capitals"
    LINE = "unquoted, alone on its line after its name"
    BARE = "unquoted in the middle of a line: prose, logs or code"


def is_secret(value: str, sensitivity: NameSensitivity, style: ValueStyle) -> bool:
    """Is this value, under a name of this sensitivity, a secret?"""
    if sensitivity is NameSensitivity.NONE or not value or MARK in value:
        return False
    if len(value) >= LONGEST_WRITTEN:
        return _RANDOM.match(value) is not None and is_random("".join(value.split()))
    if is_harmless(value):
        return False
    if sensitivity is NameSensitivity.STRONG:
        return _is_password(value, style)
    if _PATH.fullmatch(value) or _NUMBER.fullmatch(value):
        return False
    if sensitivity is NameSensitivity.WEAK:
        return style in (ValueStyle.ENV, ValueStyle.QUOTED) and is_random(value, shortest=20)
    match style:
        case ValueStyle.ENV:
            return _is_environment_value(value)
        case ValueStyle.FIELD:
            return is_random(value, shortest=6)
        case ValueStyle.QUOTED:
            return is_random(value)
        case ValueStyle.LINE:
            return is_random(value) and not _is_expression(value)
        case ValueStyle.BARE:
            return is_random(value, shortest=16) and not _is_expression(value)


def _is_environment_value(value: str) -> bool:
    """Anything that is long enough, except calls, sentences and cut-off samples (`sk-ant-`)."""
    if len(value) < 6 or _SPACE.search(value) or ("(" in value and _is_expression(value)):
        return False
    return value[-1] not in "-_" or is_random(value)


def _is_password(value: str, style: ValueStyle) -> bool:
    """A password may have low entropy, but not be a word of prose or of code."""
    if _PATH.fullmatch(value):
        return False
    if style is ValueStyle.FIELD:
        return not _ABOUT_PASSWORDS.search(value) or not _SPACE.search(value)
    if len(value) < 3 or _SPACE.search(value):
        return False
    if style in (ValueStyle.QUOTED, ValueStyle.ENV):
        return True
    if len(value) < 4 or is_type(value):
        return False
    if _NUMBER.fullmatch(value):
        return style is ValueStyle.LINE and len(value) >= 6
    if is_random(value):
        return not _is_expression(value)
    if value.isalpha():
        return style is ValueStyle.LINE and value.islower()
    return not _CODE.fullmatch(value) or (value.isalnum() and not _NAMES_SECRET.search(value))


def is_harmless(value: str) -> bool:
    """A reference, a placeholder, a truth value or a label: something in the place of a secret."""
    if _PLACEHOLDER.fullmatch(value) or _REFERENCE.match(value) or _INSERTED.search(value):
        return True
    if is_label(value) or len(set(value)) == 1:
        return True
    lower = value.lower()
    return any(word in lower for word in _PLACEHOLDER_WORDS) and not is_random(value)


def is_plausible(value: str) -> bool:
    """Can this, unquoted, be a value at all? Not a type, and nothing long that is not random."""
    if len(value) >= LONGEST_WRITTEN:
        return _RANDOM.match(value) is not None
    return _TYPE.fullmatch(value) is None


def is_type(value: str) -> bool:
    return len(value) <= LONGEST_WRITTEN and _TYPE.fullmatch(value) is not None


def _is_expression(value: str) -> bool:
    """`config.token`, `get_token(user)`; a mere name can as well be a secret."""
    return not value.replace("_", "").isalnum() and _CODE.fullmatch(value) is not None
