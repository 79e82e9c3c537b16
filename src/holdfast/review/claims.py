"""Whether two claims say the same.

Rule: nothing that differs is the same. Only words that carry no meaning of their own, endings and punctuation are
ignored; every other word, number and operator counts, and so does their order. Chinese, which has no spaces, is
compared whole.
"""

import re
import unicodedata

_PART = re.compile(r"`[^`]*`|\w+(?:['’]\w+)*|(?<!\w)-(?=\d)|[<>=!+*%&|^~]+")
_FILLER = frozenset(
    """a an the this that these those it its is are was were be been being here there may might can could will
    would do does did""".split()
)
_NOT = frozenset("not never cannot".split())
_ENDING = re.compile(r"(?:ing|ed|es|e|s)$")
_SHORTEST = 4
"""Letters that are left of a word without its ending."""


def claim_words(claim: str) -> list[str]:
    """What a claim says: `Inputs aren't validated.` and `The input is not validated` give the same."""
    parts = _PART.findall(unicodedata.normalize("NFKC", claim))
    return [word for part in parts for word in ([part.strip("`")] if part[0] == "`" else _words(part))]


def _words(part: str) -> list[str]:
    if part == "!":
        return []
    word = part.replace("’", "'").removesuffix("'s")
    if word != word.lower() and word != word.capitalize():
        return [word]  # a name in code
    word = word.lower()
    if word in _FILLER:
        return []
    if word in _NOT or word.endswith("n't"):
        return ["not"]
    return [_stem(word) if word.isascii() and word.isalpha() else word]


def _stem(word: str) -> str:
    stem = _ENDING.sub("", word)
    if len(stem) < _SHORTEST:
        return word.removesuffix("s") if len(word) > _SHORTEST else word
    return stem[:-1] if len(stem) > _SHORTEST and stem[-1] == stem[-2] else stem
