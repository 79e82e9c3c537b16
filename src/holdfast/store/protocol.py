"""The interface of a store: a few verbs over logs and the texts they refer to.

Rule: a store keeps bytes and their order, and understands neither events nor secrets. `log.py` redacts and encodes
events, and is the only caller of `create`, `append` and `put`. Reading a text by line or by pattern needs no store
(`text_parts.py`, `text_search.py`); only search over all texts does.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol, Self

from msgspec import Struct

from holdfast.errors import InputError, NotFound
from holdfast.ids import entry_id
from holdfast.store_places import Place

ArtifactKind = Literal["text", "image", "opaque", "echo"]
"""Search finds only `text`. `opaque` is a provider's own block; `echo` repeats what other texts hold."""

MIN_PREFIX = 6


class Artifact(Struct, frozen=True):
    id: str
    text: str
    kind: ArtifactKind = "text"


class LogHead(Struct, frozen=True):
    """What a store knows about a log besides its entries."""

    id: str
    title: str = ""
    source: str = ""
    origin: str = "live"
    schema: int = 1
    at: float | None = None


class LogInfo(Struct, frozen=True):
    head: LogHead
    entries: int
    last_at: float | None = None


class EntryDraft(Struct, frozen=True):
    """An entry that is not stored yet. It follows the entry `parent`, or the draft number `after` of the same
    batch, or else the newest entry of its chain."""

    body: bytes
    artifacts: tuple[Artifact, ...] = ()
    chain: str = ""
    at: float | None = None
    parent: str | None = None
    after: int | None = None


class EntryRow(Struct, frozen=True):
    """An entry as stored: `body` still refers to its texts."""

    id: str
    log: str
    seq: int
    parent: str | None
    chain: str
    at: float | None
    body: bytes


class EntryPage(Struct, frozen=True):
    """Whole entries and every text they refer to, read in one transaction."""

    rows: tuple[EntryRow, ...]
    texts: Mapping[str, str]


class SearchHit(Struct, frozen=True):
    """A text that search found, and the first entry that refers to it ("" for none)."""

    artifact: str
    log: str = ""
    entry: str = ""
    seq: int = 0


class ResolvedId(Struct, frozen=True, order=True):
    kind: Literal["log", "entry", "artifact"]
    id: str


class LogSize(Struct, frozen=True):
    """Bytes of a log as they lie in the store: its entries and all texts it refers to. Of these, `own` goes when
    the log is deleted, and `last` when every log that was quiet before it is deleted too."""

    log: str
    all: int
    own: int
    last: int


class StoreSize(Struct, frozen=True):
    """Bytes that a store takes on its disk, those that `vacuum` would give back, and its logs, quietest first."""

    disk: int
    unused: int
    logs: tuple[LogSize, ...]


class Store(Protocol):
    """**Contract:** every method may be called from any thread; what one call writes is stored whole or not at
    all, and other processes see it once the call has returned."""

    @property
    def place(self) -> Place | None:
        """Where it is; None in memory."""

    def create(self, head: LogHead, drafts: Sequence[EntryDraft]) -> tuple[EntryRow, ...]:
        """A new log with its first entries. Empty, and nothing is written, if a log of that id exists."""

    def append(self, log: str, drafts: Sequence[EntryDraft]) -> tuple[EntryRow, ...]:
        """The drafts as stored, one after the other. NotFound for an unknown log or parent."""

    def read(self, log: str, since: int = 0, limit: int | None = None) -> EntryPage:
        """The entries after `since`, oldest first."""

    def entry(self, entry: str) -> EntryPage:
        """One entry by its full id."""

    def info(self, log: str) -> LogInfo: ...

    def logs(self) -> tuple[LogInfo, ...]:
        """All logs, in the order of their creation."""

    def delete(self, *logs: str) -> None:
        """Remove logs, one after the other, with every text of theirs that no other log's entry refers to."""

    def put(self, artifact: Artifact, log: str) -> None:
        """Keep a text that no entry refers to, as part of a log: it is deleted with the log."""

    def text(self, artifact: str) -> str:
        """A text by its full id."""

    def search(self, query: str, *, log: str | None = None, limit: int = 20) -> tuple[SearchHit, ...]:
        """Texts that hold all words of `query`, best first; those with any word if none holds all."""

    def resolve(self, prefix: str) -> ResolvedId:
        """The one log, entry or artifact whose id is `prefix` or begins with it (at least six characters)."""

    def size(self) -> StoreSize: ...

    def vacuum(self) -> None:
        """Compress what is not compressed yet, and give space that is not used back to the disk."""

    def damage(self) -> tuple[str, ...]:
        """What is wrong with the file itself; `verify` checks the entries."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class WatchedStore(Store, Protocol):
    """A store that other processes write to, while this one reads."""

    def data_version(self) -> int:
        """A number that differs once another process has changed the store; cheap to ask."""


def place_drafts(
    log: str,
    drafts: Sequence[EntryDraft],
    *,
    last: int,
    tip: Callable[[str], str | None],
    known: Callable[[str], bool],
) -> tuple[EntryRow, ...]:
    """Rows for `drafts` after entry number `last`. Called inside the store's write lock.

    A chain without entries starts at the newest entry of the main chain.
    """
    rows: list[EntryRow] = []
    tips: dict[str, str] = {}

    def newest(chain: str) -> str | None:
        return tips.get(chain) or tip(chain)

    for number, draft in enumerate(drafts):
        if draft.after is not None:
            assert 0 <= draft.after < number, "a draft follows an earlier draft of its batch"
            parent: str | None = rows[draft.after].id
        elif draft.parent is not None:
            if not known(draft.parent):
                raise NotFound(f"log `{log}` has no entry `{draft.parent}` to follow")
            parent = draft.parent
        else:
            parent = newest(draft.chain) or newest("")
        seq = last + number + 1
        row = EntryRow(
            entry_id(log, seq, parent, draft.body), log, seq, parent, draft.chain, draft.at, draft.body
        )
        rows.append(row)
        tips[draft.chain] = row.id
    return tuple(rows)


def pick_id(prefix: str, exact: Sequence[ResolvedId], near: Sequence[ResolvedId]) -> ResolvedId:
    """The one id that `prefix` names: an exact match, or the only one that begins with it."""
    candidates = exact or (near if len(prefix) >= MIN_PREFIX else ())
    if not candidates:
        short = 0 < len(prefix) < MIN_PREFIX
        raise NotFound(
            f"nothing in the store has the id `{prefix}`",
            hint=f"give at least {MIN_PREFIX} characters of an id" if short else "",
        )
    if len(candidates) > 1:
        some = ", ".join(f"`{found.id}`" for found in sorted(candidates)[:5])
        raise InputError(
            f"more than one id begins with `{prefix}`: {some}", hint="give more characters of the id"
        )
    return candidates[0]
