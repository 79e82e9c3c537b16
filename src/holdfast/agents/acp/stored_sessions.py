"""The stored sessions that an editor can list and open.

Rule: the store is only read, and a log that cannot be read hides no other.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from acp.schema import SessionInfo

from holdfast.agents.options import AgentOptions
from holdfast.agents.resolved_config import store_place
from holdfast.agents.sessions import SOURCE, all_sessions, read_session, session_folder, sessions_in
from holdfast.config import load_config
from holdfast.errors import InputError, NotFound
from holdfast.store import MemoryStore, Store, open_read_only
from holdfast.store.protocol import LogInfo


def list_sessions(
    options: AgentOptions, env: Mapping[str, str], root: Path | None, first: int, most: int
) -> list[SessionInfo]:
    """The sessions of a folder, or of all, the most recently used first."""
    with _opened(options, env, root) as store:
        found = sessions_in(store, root) if root else all_sessions(store)
        return [_info(store, info) for info in islice(found, first, first + most)]


def check_stored(options: AgentOptions, env: Mapping[str, str], root: Path, log: str) -> None:
    """Raises NotFound if there is no session with this id, and InputError if it belongs to another folder."""
    with _opened(options, env, root) as store:
        infos = {info.head.id: info for info in store.logs() if info.head.source == SOURCE}
        folder = session_folder(store, log) if log in infos else ""
    if not folder:
        raise NotFound(f"there is no session `{log}`", hint="`session/list` lists them")
    if Path(folder) != root:
        raise InputError(f"that session belongs to `{folder}`", hint="open it from there")


def _opened(options: AgentOptions, env: Mapping[str, str], root: Path | None) -> Store:
    """The store, or an empty one where there is none."""
    try:
        return open_read_only(store_place(options, load_config(cwd=root or options.root, env=env), env))
    except NotFound:
        return MemoryStore()


def _info(store: Store, info: LogInfo) -> SessionInfo:
    log, at = info.head.id, info.last_at
    title = info.head.title or read_session(store, info).title
    updated = datetime.fromtimestamp(at, UTC).isoformat() if at else None
    return SessionInfo(
        session_id=log, cwd=session_folder(store, log), title=title or None, updated_at=updated
    )
