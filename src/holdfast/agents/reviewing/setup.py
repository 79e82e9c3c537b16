"""From what a person wishes to a review with a model that is open: a new one, or one that is gone on with.

Rule: which change a review is of stands in its log, so that a question asked tomorrow is about the same change.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.coding.salvage import Salvaged, whole
from holdfast.agents.coding.setup import Ground, find_ground, opening_on
from holdfast.agents.coding.talks import REVIEW_SOURCE, begin_talk, find_talk, newest_talk
from holdfast.agents.coding.wish import Wish
from holdfast.agents.notices import Watch, unwatched
from holdfast.agents.reviewing.desk import ReviewDesk
from holdfast.errors import NotFound
from holdfast.events import LogStarted, Noted
from holdfast.log import Log
from holdfast.models.protocol import Model
from holdfast.review.reading.git import pinned
from holdfast.review.review import Review, begin_review, top_of
from holdfast.store import SqliteStore, Store

PROFILE = "review"
NOTE = "diff"
"""The kind of the note that holds a diff which cannot be read again."""

Tell = Callable[[str], None]


class Change(Struct, frozen=True):
    """Which change to review: `spec` as `--diff` takes it; `text` is a diff that `spec` is only the title of."""

    spec: str
    text: str | None = None


class OpenedReview(Struct, frozen=True):
    """`close` ends everything that was opened."""

    desk: ReviewDesk
    notes: tuple[str, ...]
    close: Callable[[], Awaitable[None]]


async def open_review(
    wish: Wish,
    change: Change | None,
    *,
    watch: Watch = unwatched,
    tell: Tell = lambda _: None,
    env: Mapping[str, str] = os.environ,
    model: Model | None = None,
) -> OpenedReview:
    """Open a review of a change; without one, go on with that which the wish names, else the newest of this folder.

    Raises `NoModel` where no model can be asked, and other errors of `holdfast.errors`.
    """
    asked = replace(wish, root=top_of(wish.root), profile=wish.profile or PROFILE, sandbox="off")
    ground = await asyncio.to_thread(find_ground, asked, env, model)
    store: Store | None = None
    try:
        store = await asyncio.to_thread(SqliteStore, ground.store)
        if change is None:
            talk = await asyncio.to_thread(_earlier, asked, store)
            change = await asyncio.to_thread(change_in, store, talk.log)
            review = await asyncio.to_thread(_read, wish.root, change, tell)
        else:
            review = await asyncio.to_thread(_read, wish.root, change, tell)
            talk = await asyncio.to_thread(_begun, wish.root, ground, store, change)
        tell(f"asking {ground.entry.name or ground.model.name}")
        opening = opening_on(ground, store, talk.log, wish.limits, watch)
        desk = await asyncio.to_thread(ReviewDesk, opening, review)
    except BaseException:
        await ground.model.aclose()
        if store is not None:
            store.close()
        raise
    notes = (*([talk.note] if talk.note else []), *ground.notes, *review.notes)
    return OpenedReview(desk, notes, _closing(desk, store))


def change_in(store: Store, log: str) -> Change:
    """The change that a log is about."""
    entries = Log.open(store, log).entries()
    spec = ""
    for entry in entries:
        match entry.event:
            case LogStarted(meta=meta):
                spec = str(meta.get("diff", ""))
            case Noted(kind="diff", text=text):
                return Change(spec, text)
    if not spec:
        raise NotFound(f"the log `{log}` is no review", hint="`holdfast logs` lists what there is")
    return Change(spec)


def _earlier(wish: Wish, store: Store) -> Salvaged:
    return whole(
        store, find_talk(store, wish.log) if wish.log else newest_talk(store, wish.root, REVIEW_SOURCE)
    )


def _begun(root: Path, ground: Ground, store: Store, change: Change) -> Salvaged:
    redact = ground.profile.redact
    log = begin_talk(
        store,
        ground.root,
        title=f"Review of {change.spec}",
        model=ground.model.name,
        redact=redact,
        source=REVIEW_SOURCE,
        meta={"diff": change.spec if change.text is not None else pinned(root, change.spec)},
    )
    if change.text is not None:
        Log.open(store, log, redact=None if redact else str).append(Noted(NOTE, change.text))
    return Salvaged(log)


def _read(root: Path, change: Change, tell: Tell) -> Review:
    return begin_review(root, change.spec, text=change.text, counts_uses=True, tell=tell)


def _closing(desk: ReviewDesk, store: Store) -> Callable[[], Awaitable[None]]:
    async def close() -> None:
        try:
            await desk.aclose()
        finally:
            store.close()

    return close
