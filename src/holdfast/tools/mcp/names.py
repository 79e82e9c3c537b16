"""Names for the tools of MCP servers: `mcp__server__tool`, of letters that every provider takes.

Rule: the same servers and tools get the same names, in whatever order they come. A name that had to be changed so
much that another could be meant ends in a piece of the hash of what it was.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

PREFIX = "mcp__"
LONGEST = 64
HASHED = 6

_STRANGE = re.compile(r"[^A-Za-z0-9_-]")

Origin = tuple[str, str]
"""The name of a server and of a tool, as they name themselves."""


def name_tools(origins: Iterable[Origin]) -> dict[Origin, str]:
    """A name of its own for every tool."""
    ordered = sorted(set(origins))
    plain = {origin: PREFIX + "__".join(_STRANGE.sub("_", part) for part in origin) for origin in ordered}
    exact = {origin for origin in ordered if plain[origin] == PREFIX + "__".join(origin)}
    claims = Counter(plain.values())
    exact_claims = Counter(plain[origin] for origin in exact)
    kept = {
        origin
        for origin in ordered
        if len(plain[origin]) <= LONGEST
        and (claims[plain[origin]] == 1 or (origin in exact and exact_claims[plain[origin]] == 1))
    }
    names = {origin: plain[origin] for origin in ordered if origin in kept}
    taken = set(names.values())
    for origin in ordered:
        if origin not in kept:
            names[origin] = _hashed(plain[origin], origin, taken)
            taken.add(names[origin])
    return names


def _hashed(plain: str, origin: Origin, taken: set[str]) -> str:
    digest = hashlib.sha256("\0".join(origin).encode("utf-8", "surrogatepass")).hexdigest()
    # A server may have named a tool just like the hashed name of another; a longer piece tells them apart.
    for size in range(HASHED, len(digest)):
        name = f"{plain[: LONGEST - size - 1]}_{digest[:size]}"
        if name not in taken:
            return name
    raise AssertionError("two tools have one hash")
