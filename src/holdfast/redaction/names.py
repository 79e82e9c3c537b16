"""Which names promise a secret: `DB_PASSWORD`, `clientSecret`, `x-api-key`; not `max_tokens`, `token_url`.

Rule: the last word decides, because it says what the thing is (`token_count` is a count).
"""

import re
from enum import IntEnum
from functools import lru_cache


class Strength(IntEnum):
    """How much a name promises, and so how little its value must look like a secret to go."""

    NONE = 0
    WEAK = 1
    """Some `…_key`: only what is plainly random."""
    MEDIUM = 2
    """Tokens, secrets, API keys: what looks random, or anything in an environment assignment."""
    STRONG = 3
    """Passwords: low-entropy values too."""


_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SUFFIXES = frozenset(
    "prod production dev test staging stage local live value raw plain plaintext b64 base64".split()
)

_STRONG = ("password", "passwd", "passphrase", "passwort", "passcode")
_STRONG_WORDS = frozenset((*_STRONG, "pwd"))
_STRONG_LAST = frozenset(("pass", "pw", "psw"))
"""Too common alone (`pass: 5, fail: 2`); as the last of several words they mean passwords."""

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


def words(name: str) -> tuple[str, ...]:
    """The lowercase words of a name, whatever joins them: `apiKey`, `API_KEY`, `x-api-key`."""
    return tuple(w.lower() for w in _WORDS.findall(name))


@lru_cache(maxsize=4096)
def strength(name: str) -> Strength:
    parts = list(words(name))
    while len(parts) > 1 and (parts[-1].isdigit() or parts[-1] in _SUFFIXES):
        parts.pop()
    if not parts:
        return Strength.NONE
    last = parts[-1]
    if last in _STRONG_WORDS or last.endswith(_STRONG):
        return Strength.NONE if name in ("PWD", "OLDPWD") else Strength.STRONG
    if len(parts) > 1 and last in _STRONG_LAST:
        return Strength.STRONG
    if not _NOT_SECRET.isdisjoint(parts):
        return Strength.NONE
    if last in _MEDIUM_WORDS or last.endswith(_MEDIUM_ENDINGS):
        return Strength.MEDIUM
    if len(parts) > 1 and last == "key":
        return Strength.MEDIUM if parts[-2] in _KEY_OWNERS else Strength.WEAK
    return Strength.MEDIUM if parts == ["auth"] else Strength.NONE


_LABEL_WORDS = frozenset(
    """access admin api auth authorization basic bearer client credential credentials csrf current customer
    database db default email env field form github gitlab hash header id input jwt key login name new oauth
    old openai passphrase passwd password private pwd refresh reset secret session string text token type
    user username value web webhook x""".split()
)


def is_label(value: str) -> bool:
    """Is this the name of a secret rather than one: `access_token`, `Password`, `x-api-key`?"""
    if len(value) > 40:
        return False
    parts = words(value)
    return bool(parts) and sum(map(len, parts)) + len(parts) >= len(value) and _LABEL_WORDS.issuperset(parts)
