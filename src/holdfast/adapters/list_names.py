"""Names for lists of messages that nobody has named: a list that goes on keeps its name.

Rule: a list goes on if it begins with all that was last seen under a name, and its owner is the same. One that was
cut or edited is another list.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from threading import Lock
from uuid import uuid4

from holdfast.wire.recording_builder import encode_in_order
from holdfast.wire.sdk_objects import plain_message

MOST_NAMES = 1_000


class ListNames:
    """The names of the lists that were seen last, from any thread. `forget` is told each name that is given up."""

    def __init__(self, forget: Callable[[str], None], most: int = MOST_NAMES) -> None:
        self._names: dict[bytes, str] = {}
        self._forget = forget
        self._most = most
        self._lock = Lock()

    def name_of(self, owner: str, messages: Sequence[object]) -> str:
        digest = blake2b(owner.encode(), digest_size=16)
        seen: list[bytes] = []
        for place, message in enumerate(messages):
            digest.update(encode_in_order(plain_message(message, f"message {place}")))
            seen.append(digest.digest())
        with self._lock:
            known = next((one for one in reversed(seen) if one in self._names), None)
            name = f"list {uuid4().hex}" if known is None else self._names.pop(known)
            self._names[seen[-1]] = name
            old = [self._names.pop(oldest) for oldest in [*self._names][: len(self._names) - self._most]]
        for given_up in old:
            self._forget(given_up)
        return name
