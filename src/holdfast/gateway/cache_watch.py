"""Whether a provider still reads a conversation from its cache after we changed the requests.

Rule: only what the provider reports counts, and one bad request proves nothing: a client may have changed its
tools, or a cache may have been lost.
"""

from holdfast.messages import Usage

FALLEN = 0.5
"""The share of the best that was seen below which a reading counts as a fall."""
FALLS = 2
"""So many falls in a row are our fault."""


class CacheWatch:
    """What a provider reported for the requests of one conversation."""

    def __init__(self) -> None:
        self._prompt = 0
        self._at = 0.0
        self._best = 0.0
        self._falls = 0

    def has_fallen(self, usage: Usage, at: float, *, is_changed: bool, is_folded: bool, life: float) -> bool:
        """Whether reads have fallen since we change requests. A request for which we folded is expected to be
        read less, and one after the cache's life to be not read at all."""
        before, since = self._prompt, at - self._at
        self._prompt, self._at = usage.prompt, at
        if not before or is_folded or since > life:
            return False
        share = min(1.0, usage.cache_read / min(before, usage.prompt))
        if is_changed and share < self._best * FALLEN:
            self._falls += 1
            return self._falls >= FALLS
        self._falls = 0
        self._best = max(self._best, share)
        return False
