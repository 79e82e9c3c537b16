"""Long runs of letters and digits: the only places where a drawn key can stand.

Rule: cheap, because it looks at every text; what a run means is for others to say.
"""

_KEY_CHARACTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_SPACED = bytes(c if c in _KEY_CHARACTERS else 32 for c in range(256))
_DIGITS = b"0123456789"
_ISSUED = (
    b"AKIA",
    b"ASIA",
    b"AIza",
    b"gh",
    b"gl",
    b"github_",
    b"hf_",
    b"npm_",
    b"rk_",
    b"sk-",
    b"sk_",
    b"xox",
)
"""How keys begin that may come without a digit: always at Hugging Face, one in thirty at AWS."""
SHORTEST = 16


def long_runs(text: str) -> list[str]:
    """The runs of `[A-Za-z0-9_-]` of at least `SHORTEST` characters that could be drawn.

    Translating and splitting takes half the time of a pattern. A run without a digit, and not begun like a key, is
    an identifier or a line of dashes. The `n` of an escaped line break may stand before a key's beginning.
    """
    words = text.encode("utf-8", "replace").translate(_SPACED).split()
    return [
        word.decode("ascii")
        for word in words
        if len(word) >= SHORTEST
        and (word.translate(None, _DIGITS) != word or word.startswith(_ISSUED) or word.startswith(_ISSUED, 1))
    ]
