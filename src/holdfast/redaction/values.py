"""Which values are secrets, given how much their name promised and how they are written.

Rule: what stands for a secret (`$TOKEN`, `os.environ[...]`, `<your-key>`, `str`) is not one.
"""

import re
from enum import Enum

from holdfast.redaction.found import MARK
from holdfast.redaction.names import Strength, is_label
from holdfast.redaction.randomness import is_random


class Style(Enum):
    """How a value is written beside its name."""

    FIELD = "a field of its own, as in decoded JSON or a query"
    QUOTED = "a string literal"
    ENV = "NAME=value or NAME: value, the name in capitals"
    LINE = "unquoted, alone on its line behind its name"
    BARE = "unquoted in the middle of a line: prose, logs or code"


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
"""Only in what is written, not drawn: the best known sample key of AWS contains EXAMPLE and is a key."""
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
_DRAWN = re.compile(r"[A-Za-z0-9+/_.~\r\n-]*+={0,2}\s*\Z")
_SPACE = re.compile(r"\s")

LONGEST_WRITTEN = 128
"""What a person types is shorter; longer values are secrets only if they look drawn."""


def is_secret(value: str, strength: Strength, style: Style) -> bool:
    """Does this value, under a name of this strength, have to go?"""
    if strength is Strength.NONE or not value or MARK in value:
        return False
    if len(value) >= LONGEST_WRITTEN:
        return _DRAWN.match(value) is not None and is_random("".join(value.split()))
    if is_harmless(value):
        return False
    if strength is Strength.STRONG:
        return _is_password(value, style)
    if _PATH.fullmatch(value) or _NUMBER.fullmatch(value):
        return False
    if strength is Strength.WEAK:
        return style in (Style.ENV, Style.QUOTED) and is_random(value, shortest=20)
    match style:
        case Style.ENV:
            return _is_environment_value(value)
        case Style.FIELD:
            return is_random(value, shortest=6)
        case Style.QUOTED:
            return is_random(value)
        case Style.LINE:
            return is_random(value) and not _is_expression(value)
        case Style.BARE:
            return is_random(value, shortest=16) and not _is_expression(value)


def _is_environment_value(value: str) -> bool:
    """Anything goes that is long enough, but calls, sentences and cut-off samples (`sk-ant-`)."""
    if len(value) < 6 or _SPACE.search(value) or ("(" in value and _is_expression(value)):
        return False
    return value[-1] not in "-_" or is_random(value)


def _is_password(value: str, style: Style) -> bool:
    """Low entropy does not save a password; being a word of prose or of code does."""
    if _PATH.fullmatch(value):
        return False
    if style is Style.FIELD:
        return not _ABOUT_PASSWORDS.search(value) or not _SPACE.search(value)
    if len(value) < 3 or _SPACE.search(value):
        return False
    if style in (Style.QUOTED, Style.ENV):
        return True
    if len(value) < 4 or is_type(value):
        return False
    if _NUMBER.fullmatch(value):
        return style is Style.LINE and len(value) >= 6
    if is_random(value):
        return not _is_expression(value)
    if value.isalpha():
        return style is Style.LINE and value.islower()
    return not _CODE.fullmatch(value) or (value.isalnum() and not _NAMES_SECRET.search(value))


def is_harmless(value: str) -> bool:
    """A reference, a placeholder, a truth value or a label: what stands where a secret would."""
    if _PLACEHOLDER.fullmatch(value) or _REFERENCE.match(value) or _INSERTED.search(value):
        return True
    if is_label(value) or len(set(value)) == 1:
        return True
    lower = value.lower()
    return any(word in lower for word in _PLACEHOLDER_WORDS) and not is_random(value)


def is_plausible(value: str) -> bool:
    """Can this, unquoted, be a value at all? Not a type, and nothing long that is not drawn."""
    if len(value) >= LONGEST_WRITTEN:
        return _DRAWN.match(value) is not None
    return _TYPE.fullmatch(value) is None


def is_type(value: str) -> bool:
    return len(value) <= LONGEST_WRITTEN and _TYPE.fullmatch(value) is not None


def _is_expression(value: str) -> bool:
    """`config.token`, `get_token(user)`; a mere name can as well be a secret."""
    return not value.replace("_", "").isalnum() and _CODE.fullmatch(value) is not None
