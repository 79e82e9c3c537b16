"""The three logs of a pair taken together: whether they belong to each other, and what both agents spent.

Rule: an agent never goes on without what it has done: a log that is missing, or older than another, is named.
"""

from collections.abc import Callable, Iterator, Mapping

from holdfast.agents.coding.setup import Ground
from holdfast.agents.pairing.journal import Journal
from holdfast.agents.pairing.tools.hand_over import NAME as HAND_OVER
from holdfast.agents.spending import lookup_in, spending
from holdfast.errors import NotFound
from holdfast.events import ToolReturned, UserSaid
from holdfast.log import Log
from holdfast.models.catalogue import load_catalogue
from holdfast.pair.phases import HandedOver, TurnBegan
from holdfast.store import Store
from holdfast.views import path


def check_logs(journal: Journal, store: Store) -> None:
    """Raises `NotFound` where the log of an agent has not all turns and handovers that the pair's log says were
    made, or the pair's has not all turns of an agent."""
    state = journal.state
    for role in journal.pair.roles:
        id_ = f"{journal.log.id}.{role.name}"
        # The newest turn may have been written down and not yet opened.
        is_new = isinstance(state.at, TurnBegan) and state.at.role == role.name
        most = state.turns.get(role.name, 0)
        least = most - is_new
        if not _is_there(store, id_):
            raise _missing(id_, f"the log `{id_}` of `{role.name}` is not in this store")
        made = _made(store, id_)
        if len(made) < least:
            raise _missing(id_, f"the log `{id_}` of `{role.name}` has {len(made)} of {least} turns")
        if len(made) > most:
            turns = f"{most} of {len(made)} turns of `{role.name}`"
            raise _missing(journal.log.id, f"the log `{journal.log.id}` of the pair has {turns}")
        if lost := next((turn for turn in _handed(journal, role.name) if not made[turn - 1]), 0):
            what = f"has no handover of turn {lost}, which the pair's log has"
            raise _missing(id_, f"the log `{id_}` of `{role.name}` {what}")


def _missing(id_: str, why: str) -> NotFound:
    hint = f"export it where the pair was at work: `holdfast logs export {id_}`, then import it here"
    return NotFound(why, hint=hint)


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


def _made(store: Store, id_: str) -> list[bool]:
    """Of each turn in the log of an agent whether it ended with a handover."""
    turns: list[bool] = []
    for entry in path(Log.open(store, id_).entries()):
        match entry.event:
            case UserSaid(origin=origin) if origin != "reminder":
                turns.append(False)
            case ToolReturned(name=name, error=False) if name == HAND_OVER and turns:
                turns[-1] = True
    return turns


def _handed(journal: Journal, role: str) -> Iterator[int]:
    """The turns of a role, counted from 1, that ended with a handover, as the pair's log has it."""
    turn = 0
    for phase in journal.phases:
        if isinstance(phase, TurnBegan | HandedOver) and phase.role == role:
            turn += isinstance(phase, TurnBegan)
            if isinstance(phase, HandedOver):
                yield turn
