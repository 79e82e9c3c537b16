"""Where logs and artifacts live: SQLite by default, memory for a stateless call, one protocol for both."""

from holdfast.store.memory import MemoryStore
from holdfast.store.place import default_path
from holdfast.store.protocol import LogHead, LogInfo, Store
from holdfast.store.sqlite import SqliteStore
from holdfast.store.verifying import Damage, verify

__all__ = ["Damage", "LogHead", "LogInfo", "MemoryStore", "SqliteStore", "Store", "default_path", "verify"]
