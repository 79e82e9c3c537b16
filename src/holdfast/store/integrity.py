"""Checks that a store holds everything, as it was written. Ids are hashes of content, so the store can tell.

Rule: a check reports everything it finds, by entry, and changes nothing.
"""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from holdfast.errors import StoreError
from holdfast.ids import entry_id, text_id
from holdfast.store.encoding import decode_entry, encode_event, referenced_ids
from holdfast.store.protocol import EntryPage, EntryRow, Store

PAGE = 500


class Damage(Struct, frozen=True):
    """One fault. `entry` is empty where the file itself is damaged."""

    what: str
    log: str = ""
    entry: str = ""
    seq: int = 0


def verify(store: Store, log: str | None = None) -> list[Damage]:
    """All damage in one log, or in every log and the file itself."""
    if log is not None:
        return list(_log_damage(store, log))
    found = [Damage(what) for what in store.damage()]
    for info in store.logs():
        found.extend(_log_damage(store, info.head.id))
    return found


def _log_damage(store: Store, log: str) -> Iterator[Damage]:
    known: set[str] = set()
    seq = 0
    while True:
        page = store.read(log, since=seq, limit=PAGE)
        for row in page.rows:
            if row.seq != seq + 1:
                yield Damage(
                    f"entries {seq + 1} to {row.seq - 1} are missing before it", log, row.id, row.seq
                )
            if row.parent is not None and row.parent not in known:
                yield Damage(f"its parent `{row.parent}` is not before it", log, row.id, row.seq)
            yield from _row_damage(row, page)
            known.add(row.id)
            seq = row.seq
        if len(page.rows) < PAGE:
            return


def _row_damage(row: EntryRow, page: EntryPage) -> Iterator[Damage]:
    if entry_id(row.log, row.seq, row.parent, row.body) != row.id:
        yield Damage("its content does not match its id", row.log, row.id, row.seq)
    try:
        wanted = referenced_ids(row.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        yield Damage("its body is not JSON", row.log, row.id, row.seq)
        return
    wrong = _text_damage(wanted, page)
    if not wrong:
        try:
            body, kept = encode_event(decode_entry(row, page.texts).event)
            # An event may keep a text that its body does not refer to: several parts joined. Another version may
            # have encoded the event in another way; then only what the body refers to can be checked.
            if body == row.body:
                wrong = _text_damage(kept.keys() - wanted, page)
        except StoreError as error:
            wrong = [error.message]
    yield from (Damage(what, row.log, row.id, row.seq) for what in wrong)


def _text_damage(ids: set[str], page: EntryPage) -> list[str]:
    missing = [f"its text `{id_}` is not in the store" for id_ in sorted(ids - page.texts.keys())]
    changed = [
        f"its text `{id_}` is not what was written"
        for id_ in sorted(ids & page.texts.keys())
        if text_id(page.texts[id_]) != id_
    ]
    return missing + changed
