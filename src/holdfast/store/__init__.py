"""Where logs and artifacts are stored: in SQLite, or in memory for a stateless call, with one protocol for both."""

from holdfast.store.integrity import Damage, verify
from holdfast.store.memory import MemoryStore
from holdfast.store.protocol import LogHead, LogInfo, Store
from holdfast.store.read_only import ReadOnlyStore
from holdfast.store.sqlite import SqliteStore
from holdfast.store.sqlite_file import default_path

__all__ = [
    "Damage",
    "LogHead",
    "LogInfo",
    "MemoryStore",
    "ReadOnlyStore",
    "SqliteStore",
    "Store",
    "default_path",
    "verify",
]
