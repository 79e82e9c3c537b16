"""The history of a log that may grow, under one choice of what is shown.

Rule: new entries are added to it. It is made again only where they change what came before: another path, another
basis, or the first reply of a model whose tokens are counted differently.
"""

import threading
from collections.abc import Callable, Sequence

from holdfast.events import Entry, Folded, LogStarted
from holdfast.log import Log
from holdfast.models.catalogue import ModelLookup
from holdfast.packing.profile import Profile
from holdfast.session_settings import SESSION, session_settings
from holdfast.tokenizers import counter_for_model
from holdfast.viewer.history import RequestHistory, recorded_basis
from holdfast.viewer.log_follower import LogFollower

UNTOLD = (
    "The log does not name its profile and budget: others are used, so sizes may differ from what was sent."
)

ProfileLoader = Callable[[str, str], Profile]
"""A profile by its name and a budget, each empty for the default."""


class FollowedHistory:
    """**Contract:** may be asked from any thread."""

    def __init__(
        self,
        log: Log,
        shown: str,
        profile: str,
        budget: str,
        *,
        lookup: ModelLookup,
        load_profile: ProfileLoader,
    ) -> None:
        self._log = log
        self._choice = (shown, profile, budget)
        self._lookup = lookup
        self._load_profile = load_profile
        self._lock = threading.Lock()
        self._follower = LogFollower(log)
        self._history: RequestHistory | None = None
        self._model = ""

    def current(self) -> RequestHistory:
        """The history, with all that was appended since. It grows under its readers; what is there stays."""
        with self._lock:
            news = self._follower.read()
            known = self._history
            if known is None or news.is_whole or self._changes(known, news.entries):
                if not news.is_whole:
                    self._follower = LogFollower(self._log)
                    news = self._follower.read()
                self._history = self._made(news.entries, news.on_path)
                return self._history
            for entry in news.on_path:
                known.add(entry)
            return known

    def _changes(self, history: RequestHistory, entries: Sequence[Entry]) -> bool:
        """Whether the new entries change how the old ones are shown."""
        is_folded = any(isinstance(entry.event, Folded) for entry in entries)
        return (history.basis == "list" and is_folded) or self._follower.model != self._model

    def _made(self, entries: Sequence[Entry], on_path: Sequence[Entry]) -> RequestHistory:
        shown, profile, budget = self._choice
        basis = "preview" if shown == "preview" else recorded_basis(entries)
        started = entries[0].event if entries else None
        has_settings = isinstance(started, LogStarted) and SESSION in started.meta
        is_told = basis == "pack" and has_settings and not (profile or budget)
        kept = session_settings(self._log.store, self._log.id).profile if is_told else None
        self._model = self._follower.model
        return RequestHistory(
            basis,
            kept or self._load_profile(profile, budget),
            counter_for_model(self._model),
            self._lookup,
            on_path,
            UNTOLD if basis == "pack" and not is_told else "",
        )
