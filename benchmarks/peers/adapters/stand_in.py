"""A rule-based stand-in for the model that writes summaries: the user's text and the paths seen, ≤ 1 500 tokens.

Rule: a summary is a function of the prompt that the library wrote; one that shows its model less gets less.
"""

import re
from collections.abc import Iterable, Sequence

CHARACTERS_PER_TOKEN = 4
"""An estimate, used only to bill the model calls of a library and to cap the summary."""
SUMMARY_CHARACTERS = 1_500 * CHARACTERS_PER_TOKEN
USER_CHARACTERS = 1_000 * CHARACTERS_PER_TOKEN

_EXTENSIONS = "c|cc|cfg|cpp|css|go|h|html|ini|java|js|json|jsx|lock|md|py|rs|sh|sql|toml|ts|tsx|txt|xml|ya?ml"
_PATH = re.compile(
    rf"(?<![\w@+/.:-])(?:(?:[~.]{{0,2}}/)?(?:[\w@+.-]+/)+[\w@+-]+(?:\.\w+)*|[\w-]+\.(?:{_EXTENSIONS})\b)"
)
_SAID = "The user said:\n"
_SEEN = "\n\nPaths seen, newest first:"


def estimate_tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def summarize(user_texts: Sequence[str], everything: str) -> str:
    """What the user said, the first text and then the newest that fit; the paths in `everything`, newest first."""
    head = _SAID + "\n".join(_user_lines(list(map(_unwrapped, user_texts)))) + _SEEN
    return "\n".join([head, *_until_full(_paths(everything), SUMMARY_CHARACTERS - len(head))])


def _unwrapped(text: str) -> str:
    """What the user said, out of an earlier summary that comes back as if the user had written it."""
    _, marker, rest = text.partition(_SAID)
    said, seen, _ = rest.partition(_SEEN)
    return said if marker and seen else text


def _user_lines(texts: Sequence[str]) -> list[str]:
    if not texts:
        return []
    first = texts[0].strip()[: USER_CHARACTERS // 2]
    newest = _until_full((text.strip() for text in reversed(texts[1:])), USER_CHARACTERS - len(first))
    return [first, *reversed(newest)]


def _until_full(texts: Iterable[str], room: int) -> list[str]:
    """Texts in order while they fit with a line break each; the first that does not is cut, and ends the list."""
    kept: list[str] = []
    for text in texts:
        if len(text) + 1 > room:
            if room > 80:
                kept.append(text[: room - 1])
            break
        kept.append(text)
        room -= len(text) + 1
    return kept


def _paths(text: str) -> list[str]:
    """Each path once, by its last mention, newest first."""
    return list(dict.fromkeys(reversed(_PATH.findall(text))))
