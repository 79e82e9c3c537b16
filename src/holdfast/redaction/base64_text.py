"""Secrets in base64: text that a known rule finds a secret in once it is decoded.

Rule: the whole encoded text goes; base64 of anything else, such as a picture or a hash, stays.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator

from holdfast.redaction.secret_rule import SecretSpan

_FOUR = r"[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]"
"""Three bytes below 128 in base64: the highest bit of each is zero. Of random base64 one in eight is like it."""
_ASCII = re.compile(rf"(?:{_FOUR}){{6,}}+(?:[A-Za-f][A-Za-z0-9+/_-]{{1,2}}={{0,2}})?")
_URL_SAFE = str.maketrans("-_", "+/")


def find_in_base64(
    text: str, runs: Iterable[str], find: Callable[[str], Iterable[SecretSpan]]
) -> Iterator[SecretSpan]:
    """`runs` are the text's long runs; base64 of text is nearly always one, because `+` and `/` are rare in it."""
    if not any(map(_ASCII.search, runs)):
        return
    for match in _ASCII.finditer(text):
        if any(find(_decoded(match.group()))):
            yield SecretSpan(match.start(), match.end(), "base64")


def _decoded(encoded: str) -> str:
    encoded = encoded.rstrip("=").translate(_URL_SAFE)
    return b64decode(encoded + "=" * (-len(encoded) % 4)).decode("ascii", "replace")
