"""The store of a place, whichever kind it is.

Rule: what only one kind needs is imported when such a store is opened.
"""

from importlib.util import find_spec
from pathlib import Path

from holdfast.errors import InputError
from holdfast.store.protocol import Store, WatchedStore
from holdfast.store.read_only import ReadOnlyStore
from holdfast.store.sqlite import SqliteStore
from holdfast.store_places import Place


def open_store(place: Place) -> Store:
    """The store at a place, made if there is none."""
    if isinstance(place, Path):
        return SqliteStore(place)
    _check_extra()
    from holdfast.store.postgres.store import PostgresStore  # noqa: PLC0415 - an extra that few have installed

    return PostgresStore(place)


def open_read_only(place: Place) -> WatchedStore:
    """The store at a place, which is never changed. NotFound if there is none."""
    if isinstance(place, Path):
        return ReadOnlyStore(place)
    _check_extra()
    from holdfast.store.postgres.store import ReadOnlyPostgresStore  # noqa: PLC0415 - likewise

    return ReadOnlyPostgresStore(place)


def _check_extra() -> None:
    if find_spec("psycopg") is None:
        raise InputError(
            "a store in PostgreSQL needs its client, which is not installed",
            hint="run `pip install '.[postgres]'` in a checkout of Holdfast",
        )
