"""A session in the list.

Rule: what is known without reading the session; its figures come when it is read.
"""

from msgspec import Struct


class ListedSession(Struct, frozen=True):
    """`size` is that of its file in bytes, and `place` where the file is. `is_several`: the file may hold several
    sessions."""

    id: str
    title: str
    source: str
    entries: int
    at: float | None
    last_at: float | None
    model: str = ""
    place: str = ""
    size: int = 0
    is_several: bool = False
