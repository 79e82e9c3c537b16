"""Directives that a user took back later: "Don't commit yet." and then "Looks good. Commit it.".

Rule: only what plainly allows or asks for the same thing takes a prohibition back; in doubt it stays. A prohibition
with an object is taken back only by words for that object, and one for ever never by a pronoun.
"""

import re
from collections.abc import Iterable

from holdfast.views.prose import sentences

_BAN = re.compile(
    r"(?i)(?:\b(?P<ever>never)|\b(?:don'?t|don’t|do not|hold off(?: on)?|wait (?:with|before)))\s+(?:you\s+)?"
    r"(?P<verb>[a-z]{3,}?)(?P<ing>ing)?\b(?P<rest>[^.;:!?\n]*)"
)
_CHINESE_BAN = re.compile(
    r"(?P<ever>永远|千万)?(?:先|暂时|目前|还)?(?:不要|不用|别|请勿|勿)(?:先|再)?(?P<verb>[\u4e00-\u9fff]{2})(?P<rest>[^。；！？\n]*)"
)
_LEADS = (
    r"(?i)(?:^|[.,;:!—–-]\s*|\b(?:now|please|then|and|so|ok|okay|yes|just|let'?s|you (?:can|may|should)"
    r"|feel free to|go ahead(?: and)?|it'?s (?:ok|okay|fine|time) to|ready to)[,:]?\s+)"
    r"(?:now\s+|please\s+|just\s+)*"
)
_CHINESE_LEADS = r"(?<![不别勿])(?:^|[，。,；、\s]|可以|现在|请|那就|就|直接|好了?|帮我|开始)"
_SMALL = frozenset(
    "a an the any my our your this that these those it them yet now for i me we say so to of in on with and or "
    "anything everything something again just still please before after first right here there all".split()
)
_CONDITION = re.compile(r"(?i)\b(?:without|unless|except|before|if|when)\b|除非|未经|之前|如果")
"""What makes a rule of a prohibition: a single permission keeps to it, and does not take it back."""
_PRONOUN = re.compile(r"(?i)^\s*(?:it|them|this|that|these|those|everything|all)\b|^\s*$")


def taken_back(directive: str, later: Iterable[str]) -> bool:
    """Whether what the user said later takes a directive back."""
    ban, is_chinese = _BAN.search(directive), False
    if ban is None:
        ban, is_chinese = _CHINESE_BAN.search(directive), True
    if ban is None or _CONDITION.search(ban["rest"]):
        return False
    leads = _CHINESE_LEADS if is_chinese else _LEADS
    ending = "" if is_chinese else r"\b"
    allows = re.compile(rf"{leads}(?P<verb>{re.escape(ban['verb'])}){ending}(?P<rest>[^.;:!?。；！？\n]*)")
    for text in later:
        for start, end in sentences(text):
            sentence = text[start:end]
            again = (_CHINESE_BAN if is_chinese else _BAN).search(sentence)
            found = allows.search(sentence)
            is_banned_again = again is not None and again["verb"].lower() == ban["verb"].lower()
            if found and not is_banned_again and _is_same_thing(ban, found["rest"], is_chinese=is_chinese):
                return True
    return False


def _is_same_thing(ban: re.Match[str], rest: str, *, is_chinese: bool) -> bool:
    """Whether a permission is about what was forbidden."""
    if is_chinese:
        return not ban["ever"]
    forbidden, allowed = _things(ban["rest"]), _things(rest)
    if not forbidden:
        return not ban["ever"]
    return bool(forbidden & allowed) or (not ban["ever"] and bool(_PRONOUN.match(rest)))


def _things(text: str) -> set[str]:
    words = re.findall(r"[\w./-]{2,}", text.lower())
    return {word.rstrip("s.") for word in words if word not in _SMALL}
