"""Words as search sees them: every CJK character is a word of its own, since such text has no spaces.

Rule: text and query go through the same cut, and nothing of a query but its words reaches an index.
"""

import re
import unicodedata

_CJK = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
_WORD = re.compile(r"[^\W_]+")
_PIECE = re.compile(r'"([^"]*)"|(\S+)')
MAX_PHRASES = 40
"""More add nothing to a ranking, and an FTS5 expression may not be nested deeper than 256."""


def segmented(text: str) -> str:
    """The text with room around each CJK character, for an index that cuts at spaces."""
    return text if text.isascii() else _CJK.sub(r" \g<0> ", text)


def phrases(query: str) -> list[str]:
    """Each word of a query, or each part in double quotes, as the words that must stand side by side."""
    found: dict[str, None] = {}
    for quoted, word in _PIECE.findall(unicodedata.normalize("NFC", query)):
        words = _WORD.findall(segmented(quoted or word))
        if words:
            found[" ".join(words)] = None
    return list(found)[:MAX_PHRASES]


def folded(text: str) -> str:
    """Words of a text without case and accents, each between spaces, so that a phrase is a substring."""
    if not text.isascii():
        text = "".join(
            c for c in unicodedata.normalize("NFKD", segmented(text)) if not unicodedata.combining(c)
        )
        text = unicodedata.normalize("NFC", text)
    return f" {' '.join(_WORD.findall(text.lower()))} "


def score(text: str, wanted: list[str]) -> int:
    """How many of the phrases (already folded) stand in the text."""
    words = folded(text)
    return sum(phrase in words for phrase in wanted)


def wanted(query: str) -> list[str]:
    """The phrases of a query, ready for `score`."""
    return [folded(phrase) for phrase in phrases(query)]
