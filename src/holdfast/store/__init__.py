"""Where logs and artifacts are stored: SQLite, PostgreSQL, or memory for a stateless call, with one protocol."""

from holdfast.store.integrity import Damage, verify
from holdfast.store.memory import MemoryStore
from holdfast.store.opening import open_read_only, open_store
from holdfast.store.protocol import LogHead, LogInfo, Store
from holdfast.store.read_only import ReadOnlyStore
from holdfast.store.sqlite import SqliteStore

__all__ = [
    "Damage",
    "LogHead",
    "LogInfo",
    "MemoryStore",
    "ReadOnlyStore",
    "SqliteStore",
    "Store",
    "open_read_only",
    "open_store",
    "verify",
]
