"""What a history is made of, so that it can be made here, elsewhere, or again."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from holdfast.events import Entry, LogStarted
from holdfast.log import Log
from holdfast.models.catalogue import ModelLookup
from holdfast.packing.counting.families import recorded_model
from holdfast.packing.profile import Profile
from holdfast.session_settings import SESSION, session_settings
from holdfast.tokenizers import counter_for_model
from holdfast.viewer.history import RequestHistory, recorded_basis
from holdfast.viewer.sent import Basis

UNTOLD = (
    "The log does not name its profile and budget: others are used, so sizes may differ from what was sent."
)

ProfileLoader = Callable[[str, str], Profile]
"""A profile by its name and a budget, each empty for the default."""


class HistoryChoice(Struct, frozen=True):
    """What is shown: as `recorded`, or as a `preview` under a profile and a budget, each empty for the default."""

    shown: str = "recorded"
    profile: str = ""
    budget: str = ""


class HistoryPlan(Struct, frozen=True):
    """What a history is made of. `entries` are those on the path."""

    basis: Basis
    profile: Profile
    entries: list[Entry]
    remark: str = ""

    def start(self, lookup: ModelLookup, entries: Sequence[Entry] = ()) -> RequestHistory:
        """A history, with these entries so far."""
        counter = counter_for_model(recorded_model(self.entries))
        return RequestHistory(self.basis, self.profile, counter, lookup, entries, self.remark)


def plan_history(
    log: Log, entries: Sequence[Entry], on_path: list[Entry], choice: HistoryChoice, load: ProfileLoader
) -> HistoryPlan:
    """The plan for all entries of a log and those on its path."""
    basis = "preview" if choice.shown == "preview" else recorded_basis(entries)
    started = entries[0].event if entries else None
    has_settings = isinstance(started, LogStarted) and SESSION in started.meta
    is_told = basis == "pack" and has_settings and not (choice.profile or choice.budget)
    kept = session_settings(log.store, log.id).profile if is_told else None
    profile = kept or load(choice.profile, choice.budget)
    return HistoryPlan(basis, profile, on_path, UNTOLD if basis == "pack" and not is_told else "")
