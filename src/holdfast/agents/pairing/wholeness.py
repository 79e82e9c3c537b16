"""The three logs of a pair taken together: whether they belong to each other, and what both agents spent.

Rule: an agent never goes on without what it has done: a log that is missing, or older than the pair's, is named.
"""

from collections.abc import Callable, Mapping

from holdfast.agents.coding.setup import Ground
from holdfast.agents.pairing.journal import Journal
from holdfast.agents.spending import lookup_in, spending
from holdfast.errors import NotFound
from holdfast.events import UserSaid
from holdfast.log import Log
from holdfast.models.catalogue import load_catalogue
from holdfast.pair.phases import TurnBegan
from holdfast.store import Store
from holdfast.views import path


def check_logs(journal: Journal, store: Store) -> None:
    """Raises `NotFound` where the log of an agent has not all turns that the pair's log says were made."""
    state = journal.state
    for role in journal.pair.roles:
        id_ = f"{journal.log.id}.{role.name}"
        # The newest turn may have been written down and not yet opened.
        is_new = isinstance(state.at, TurnBegan) and state.at.role == role.name
        least = state.turns.get(role.name, 0) - is_new
        if not _is_there(store, id_):
            why = f"the log `{id_}` of `{role.name}` is not in this store"
        elif (turns := _turns(store, id_)) < least:
            why = f"the log `{id_}` of `{role.name}` has {turns} of {least} turns"
        else:
            continue
        raise NotFound(
            why,
            hint=f"export it where the pair was at work: `holdfast logs export {id_}`, then import it here",
        )


def spending_of(store: Store, log: Log, grounds: Mapping[str, Ground]) -> Callable[[], float]:
    """Dollars of both agents in all runs, each request at the price of the model that answered it."""
    names = [(ground.model.name, ground.entry) for ground in grounds.values()]
    lookups = {name: lookup_in(load_catalogue(ground.config), names) for name, ground in grounds.items()}

    def spent() -> float:
        total = 0.0
        for name, ground in grounds.items():
            lookup = lookups[name]
            entries = Log.open(store, f"{log.id}.{name}").entries()
            # A name that nobody knows is most likely another one of the model that is asked.
            total += spending(entries, lambda model: lookup(model) or ground.entry).total.dollars  # noqa: B023
        return total

    return spent


def _is_there(store: Store, id_: str) -> bool:
    try:
        store.info(id_)
    except NotFound:
        return False
    return True


def _turns(store: Store, id_: str) -> int:
    events = (entry.event for entry in path(Log.open(store, id_).entries()))
    return sum(isinstance(event, UserSaid) and event.origin != "reminder" for event in events)
