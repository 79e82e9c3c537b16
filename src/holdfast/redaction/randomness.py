"""Random or written: tells `h7sjhvz13cb0` from `getLocalAddr2`, by pairs of neighbouring characters.

Rule: a measure of form only. Whether something random is a secret depends on its name and context.
"""

import re
from itertools import pairwise, product
from string import ascii_letters, digits

_FOLLOWERS = """
    a-bcdgiklmnprstuvxy b-aeilorsuy c-acdehiklmoprstu d-abcdefiloprstu e-abcdefgilmnopqrstvwxy f-aefilorstu
    g-aehilnorsu h-aeiort i-abcdefglmnoprstvxz k-eis l-acdeilnoprstuy m-abeilmopsu n-acdefgiklmnoprstuv
    o-abcdfgiklmnoprstuvw p-acdehiloprstuy q-u r-abcdefgiklmnoprstuvy s-acdefhiklmnopqrstuwy t-abcdefhilmnoprstuy
    u-abcdeilmnprst v-aeis w-aeior x-eipt y-pst z-e
""".split()
"""Which letters follow which: 93% of the pairs in 35 000 words of program text, 42% of all possible ones."""
_COMMON = frozenset(pair[0] + follower for pair in _FOLLOWERS for follower in pair[2:])

_THRESHOLD = 27
"""Of runs of 16 to 64 characters in recorded work 0.3% lie above it, of random ones of 20 characters 99%."""
_SPACE = re.compile(r"\s")
_HEX = re.compile(r"(?=.*[0-9])(?:[0-9a-f]{12,}|[0-9A-F]{12,})\Z")
_BARE_HASH = re.compile(r"[0-9a-f-]+|[0-9A-F-]+|[0-9]+T?[0-9]+Z?")
_KEY_CHARACTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_SPACED = bytes(c if c in _KEY_CHARACTERS else 32 for c in range(256))
_DIGITS = b"0123456789"
_ISSUED = re.compile(
    rb"A[KS]IA|AIza|gh[pousr]_|github_pat|gl(?:[a-z]{2,5}-|sa_)|hf_|npm_|rk_(?:live|test)|sk_(?:live|test)"
    rb"|sk-(?<![a-z]sk-)|xox|QUtJ|QVNJ"
)
"""How keys begin that may have no digit: all keys of Hugging Face, one in thirty of AWS; the last two are AWS keys
in base64."""
SHORTEST_RUN = 16


def _weight(first: str, second: str) -> int:
    """How much a pair of characters suggests randomness, in hundredths."""
    if first.isdigit():
        return 15 if second.isdigit() else 80
    if second.isdigit():
        return 60
    if first.islower() and second.isupper():
        return 50
    if first == second or (first + second).lower() in _COMMON:
        return 0
    return 100


_WEIGHTS = {pair: _weight(*pair) for pair in product(ascii_letters + digits, repeat=2)}


def is_random(value: str, *, shortest: int = 8) -> bool:
    """Does it look random rather than written?"""
    if len(value) < shortest or _SPACE.search(value):
        return False
    return randomness_score(value) >= _THRESHOLD or _HEX.match(value) is not None


def is_random_run(run: str) -> bool:
    """Is this run of `[A-Za-z0-9_-]` random, and not a bare hash, UUID or time?"""
    return _BARE_HASH.fullmatch(run) is None and randomness_score(run) >= _THRESHOLD


def randomness_score(value: str) -> int:
    """From 0 to 100: how little the value reads like words; random letters and digits are near 50."""
    total = sum(_WEIGHTS.get(pair, 0) for pair in pairwise(value))
    return total // max(1, len(value) - 1)


def long_runs(text: str) -> list[str]:
    """The runs of `[A-Za-z0-9_-]` of at least `SHORTEST_RUN` characters that could be a random key.

    Every text goes through here: translating and splitting takes half the time of a pattern. A run without a
    digit and without the beginning of a key is an identifier or a line of dashes.
    """
    words = text.encode("utf-8", "replace").translate(_SPACED).split()
    return [
        word.decode("ascii")
        for word in words
        if len(word) >= SHORTEST_RUN and (word.translate(None, _DIGITS) != word or _ISSUED.search(word))
    ]
