"""Whether a secret that the redaction found is worth a finding: is it real, and does it matter here?

Rule: redaction hides whatever might be a secret, which costs a reader nothing; a report must be right. So this only
narrows what redaction finds, and redaction does not know of it: what is not reported is still never shown.

A key of an issuer's format is known by itself. A value that is known by its name or its place must look chosen by a
person or by a generator, and is not reported where such values are made up: in tests, examples, documentation and
samples of settings.
"""

import re
from base64 import urlsafe_b64decode
from binascii import Error
from itertools import pairwise

from holdfast.redaction.named_values import name_words
from holdfast.redaction.randomness import is_random
from holdfast.review.file_types import is_lock_file, is_program_file, is_test_file, language_family
from holdfast.review.finding import Severity

_BY_CONTEXT = frozenset(
    """assignment authorization bearer basic url flag command cookie sql netrc pgpass password_hash azure""".split()
)
"""Rules that go by the text around a value."""
_COMMANDS = frozenset(("flag", "command"))
"""Rules for command lines: in other code they match sentences about commands."""
_OFTEN_MADE = frozenset(("jwt", "private_key"))
"""What tests and documentation make for themselves."""
_KINGFISHER = "kingfisher."

_SAMPLE_SETTINGS = re.compile(
    r"(?i)(?:^|/)[^/]*(?:example|sample|template|dist|default|skel)[^/]*$|(?:^|/)\.env\.(?:test|ci|testing)$"
)
_EXAMPLE_FOLDER = re.compile(
    r"(?i)(?:^|/)docs?[_-][\w-]+/|(?:^|/)(?:tutorials?|playgrounds?|stories)[\w.-]*/"
)
_TRANSLATION = re.compile(
    r"(?i)(?:^|/)(?:lang|langs|locales?|i18n|l10n|translations?|messages)/|\.(?:po|pot|xlf|resx|arb|strings)$"
    r"|(?:^|/)[a-z]{2,3}[-_][A-Z]{2}\.(?:ya?ml|json|ts|js|php)$"
)
_VECTOR = re.compile(
    r"(?i)(?:^|/)(?:[\w-]*vectors?|testdata|fixtures?|fuzz|corpus|cassettes|snapshots|mocks?)(?:/|[\w-]*\.\w+$)"
)
_SAMPLE_WORDS = frozenset(
    """a abc access account admin alice an and any api apikey app auth bar basic baz bearer bob change changeit
    changeme client credential credentials database db default demo dev development docker dummy enter
    example fake false foo foobar for get guest hash hashed here hunter id in insecure insert is it key
    letmein local localhost login me mock my mypassword mysecret mysql name new no none not null of old only
    or pass passcode passphrase passwd password placeholder please postgres postgresql private prod
    production pwd qwerty random redis refresh replace root sa sample secret secretkey secrets server
    service session set sign signing some string super supersecret swordfish temp test tester testing
    testpass testpassword the this tmp to todo token true type unsafe use user username value var web
    webhook with xxx yes you your yyy zzz""".split()
)
_SPOKEN = re.compile(
    r"(?i)example|sample|dummy|placeholder|changeme|your[-_]|redacted|not[-_]?a?[-_]?real|fake|"
    r"testtest|foobar|deadbeef|0123456789|123456789|abcdefgh|qwerty"
)
_CHOSEN = re.compile(r"[!-~]{6,400}")
_NOT_VALUE = re.compile(
    r"[\"'`<>(){}\[\]\\]|::|=>|==|->|&&|\|\||\$\w|^[.$@#%*&=]|^\w{1,40}(?:\.[A-Za-z_]\w*)+$|^(?:https?|file)://"
)
"""Code, a reference or a tag in the place of a value."""
_VERSION = re.compile(r"[\^~>=<v]*\d+(?:\.\d+)+(?:[-+.(@][\w.@()/+-]*)?")
_CONSTANT = re.compile(r"[A-Z]{2,12}\d?(?:_[A-Z]{2,12}\d?)+")
_HASH = re.compile(r"[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{2,})*|(?:sha\d+|md5)[-:=].*", re.DOTALL)
_HASHED = re.compile(r"\$(?:argon2|pbkdf2|scrypt|2[abxy]|[156])\b|^pbkdf2_|^[a-z0-9_]+\$\d+\$")
_LOCAL_HOST = re.compile(
    r"@(?:localhost|127\.|0\.0\.0\.0|\[?::1|host\.docker|[\w-]+(?=[:/\"'\s]|$)|[\w.-]*(?:example|\.test|\.local|\.invalid))"
)
_FEWEST_DIFFERENT = 7
_LONGEST_SEQUENCE = 6


def report_severity(path: str, rule: str, value: str, line: str) -> Severity | None:
    """How severe a secret at this place is; None if it is not worth a finding. `line` is where it is written."""
    is_sample = _is_sample(path)
    is_issued = rule not in _BY_CONTEXT and (not rule.startswith(_KINGFISHER) or "hooks.slack.com" in value)
    if not is_issued:
        if is_sample or is_lock_file(path) or not _is_chosen(value, line, rule):
            return None
        if rule in _COMMANDS and language_family(path) not in ("shell", "", "data"):
            return None
        return "high"
    if is_made_up(value) or (is_lock_file(path) and rule in _OFTEN_MADE):
        return None
    if rule in _OFTEN_MADE:
        return None if rule == "jwt" and _is_known_jwt(value) else "low" if is_sample else "high"
    return "medium" if is_sample else "high"


def _is_sample(path: str) -> bool:
    """A test, a script, documentation, a sample of settings or a translation: values in it are made up."""
    return (
        is_test_file(path)
        or is_program_file(path)
        or language_family(path) == "markup"
        or any(kind.search(path) for kind in (_SAMPLE_SETTINGS, _EXAMPLE_FOLDER, _TRANSLATION, _VECTOR))
    )


def is_made_up(value: str) -> bool:
    """`AKIAIOSFODNN7EXAMPLE`, `sk-1234567890abcdef…`: a person wrote it to show what a key looks like."""
    body = re.split(r"[-_]", value)[-1] or value
    body = body if len(body) >= 16 else value
    return (
        _SPOKEN.search(value) is not None
        or len(set(body)) < _FEWEST_DIFFERENT
        or _sequence(body) >= _LONGEST_SEQUENCE
        or _is_repeated(body)
    )


def _sequence(value: str) -> int:
    """The length of the longest run such as `abcdef`, `987654` or `aaaaaa`."""
    longest = length = 1
    last = 2
    for one, other in pairwise(value):
        step = ord(other) - ord(one)
        length = (length + 1 if step == last else 2) if step in (-1, 0, 1) else 1
        last = step
        longest = max(longest, length)
    return longest


def _is_repeated(value: str) -> bool:
    """The same few characters again and again."""
    return any(value[:size] * 3 == value[: size * 3] for size in range(2, len(value) // 3 + 1))


def _is_chosen(value: str, line: str, rule: str) -> bool:
    """Does a value that only its context makes a secret look like one that opens something?"""
    if not _CHOSEN.fullmatch(value) or is_made_up(value) or _is_words(value) or _HASHED.search(value):
        return False
    if rule.startswith(_KINGFISHER):
        return not _HASH.fullmatch(value) and is_random(value)
    if _VERSION.fullmatch(value) or _NOT_VALUE.search(value):
        return False
    if rule == "url" and not is_random(value) and _LOCAL_HOST.search(line):
        return False
    return (
        is_random(value) or sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", r"\d", r"\W")) > 1
    )


def _is_words(value: str) -> bool:
    """A word, the name of a constant, or words of which samples are made: `postgres`, `AUTH_V2`, `Test@123`."""
    value = value.rstrip("=:;,")
    if _CONSTANT.fullmatch(value) or (value.isalpha() and not is_random(value)):
        return True
    return all(word.isdigit() or word in _SAMPLE_WORDS for word in name_words(value))


def _is_known_jwt(value: str) -> bool:
    """The token that every page about them shows."""
    payload = value.split(".")[1] if "." in value else ""
    try:
        return b"1234567890" in urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
    except (Error, ValueError):
        return False
