"""The history of a log that may grow, under one choice of what is shown.

Rule: new entries are added to it. It is made again only where they change what came before: another path, another
basis, or the first reply of a model whose tokens are counted differently.
"""

import threading
from collections.abc import Sequence

from holdfast.events import Entry, Folded
from holdfast.log import Log
from holdfast.models.catalogue import ModelLookup
from holdfast.viewer.history import RequestHistory, elsewhere_in
from holdfast.viewer.history_plan import HistoryChoice, ProfileLoader, plan_history
from holdfast.viewer.log_follower import LogFollower


class FollowedHistory:
    """**Contract:** may be asked from any thread."""

    def __init__(
        self,
        log: Log,
        choice: HistoryChoice,
        *,
        lookup: ModelLookup,
        load_profile: ProfileLoader,
    ) -> None:
        self._log = log
        self._choice = choice
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
                known = self._history = self._made(news.entries, news.on_path)
            else:
                for entry in news.on_path:
                    known.add(entry)
            known.elsewhere += elsewhere_in(news.entries, news.on_path)
            return known

    def _changes(self, history: RequestHistory, entries: Sequence[Entry]) -> bool:
        """Whether the new entries change how the old ones are shown."""
        is_folded = any(isinstance(entry.event, Folded) for entry in entries)
        return (history.basis == "list" and is_folded) or self._follower.model != self._model

    def _made(self, entries: Sequence[Entry], on_path: list[Entry]) -> RequestHistory:
        self._model = self._follower.model
        plan = plan_history(self._log, entries, on_path, self._choice, self._load_profile)
        return plan.start(self._lookup, on_path)
