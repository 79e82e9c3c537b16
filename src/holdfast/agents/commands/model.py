"""`/model`: which models are available, and to switch to another. `/mode`: what the agent may do without asking.
`/cost`: what this session cost, by model, sub-agents included, and what the provider's cache saved.

Rule: looking costs nothing, and a key is never shown. A mode is a person's choice for now and is not in the log.
Only costs that were reported and priced are added up; the others are named.
"""

import asyncio
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import CommandAnswer, SlashCommand, require_idle
from holdfast.agents.commands.markdown import bullets, code, dollars, joined, percentage, table
from holdfast.agents.limits import Spent
from holdfast.agents.sessions import count_copied, read_entries, sub_agent_logs, sub_agents_of
from holdfast.agents.spending import PriceLookup, Spending, measure_spending, price_lookup
from holdfast.config import load_config
from holdfast.errors import ConfigError, InputError, suggest
from holdfast.models.availability import Availability, check_availability
from holdfast.models.catalogue import Catalogue, load_catalogue
from holdfast.models.selection import ResolvedModel, resolve_model
from holdfast.numbers import counted, grouped
from holdfast.store import Store
from holdfast.tools.permissions.tool_rules import PermissionMode

MODES: dict[PermissionMode, str] = {
    "plan": "reads and plans; changes nothing",
    "ask": "asks before each change, and before each command that does more than read",
    "edit": "edits files without asking; asks before other commands",
    "auto": "asks only if a rule says so",
}


async def _run_mode(coding: CodingSession, argument: str) -> CommandAnswer:
    if not argument:
        rows = (
            f"{code(name)}{' (now)' * (name == coding.gate.mode)}: {about}" for name, about in MODES.items()
        )
        return CommandAnswer(bullets(rows))
    for mode, about in MODES.items():
        if mode == argument.lower():
            coding.gate.mode = mode
            return CommandAnswer(f"Mode {code(mode)}: {about}.")
    raise InputError(f"there is no mode `{argument}`", hint=suggest(argument.lower(), MODES))


MODE = SlashCommand("mode", "/mode [plan|ask|edit|auto]", "what may be done without asking", _run_mode)


SECONDS = 3.0
ANY = "…"
"""Stands for the models of a provider whose models are not in the catalogue."""

MOST_SERVED = 20
"""How many models of a local server are listed."""


ModelOffer = tuple[ResolvedModel, str]
"""A model to choose, and why it cannot be used, if its provider tells."""


async def _run_model(coding: CodingSession, argument: str) -> CommandAnswer:
    catalogue = _project_catalogue(coding)
    if argument:
        require_idle(coding, "another model")
        chosen = await asyncio.to_thread(_require_model, argument, catalogue)
        window = f", with a window of {grouped(chosen.entry.window)} tokens" if chosen.entry.window else ""
        return CommandAnswer(
            f"The model is now {code(chosen.name)}{window}. Nothing of this session is cached there yet.",
            model=argument,
        )
    offers, keys = await asyncio.to_thread(_offers, catalogue)
    return CommandAnswer(
        joined(
            f"This session uses {code(coding.agent.model.name)}.",
            _table(offers) or "No model is available.",
            f"Others need a key: {', '.join(map(code, keys))}." if keys else "",
            "`/model provider/name` switches to another, also `provider/name@http://host/v1`.",
        )
    )


def _project_catalogue(coding: CodingSession) -> Catalogue:
    """Read again each time, so that a changed file counts at once."""
    return load_catalogue(load_config(cwd=Path(coding.workspace.roots[0]), env=os.environ))


def _require_model(name: str, catalogue: Catalogue) -> ResolvedModel:
    """The model with this name; an error if it does not exist or lacks its key."""
    chosen = resolve_model(name, catalogue, os.environ)
    if variable := chosen.missing(os.environ):
        raise ConfigError(
            f"`{chosen.name}` needs a key, and `{variable}` is not set", hint=f"`export {variable}=…`"
        )
    if chosen.name in catalogue.models:
        return chosen
    reached = check_availability([chosen], os.environ, SECONDS)[(chosen.url, chosen.key)]
    if not reached.is_available:
        raise InputError(
            f"`{chosen.name}` is not in the catalogue, and its provider does not answer: {reached.problem}",
            hint="`/model` lists what is available",
        )
    if reached.served and chosen.entry.model not in reached.served:
        raise InputError(
            f"`{chosen.entry.provider}` has no model `{chosen.entry.model}`",
            hint=suggest(chosen.entry.model, reached.served, prefix=f"{chosen.entry.provider}/"),
        )
    return chosen


def _offers(catalogue: Catalogue) -> tuple[list[ModelOffer], list[str]]:
    """The models whose provider can be asked, and the variables of keys that are not set."""
    # The models of the catalogue, and one placeholder for each provider that lists its models itself.
    written = {entry.provider for entry in catalogue.models.values()}
    bare = [name for name, provider in catalogue.providers.items() if provider.url and name not in written]
    names = [*catalogue.models, *(f"{name}/{ANY}" for name in bare)]
    known = [resolve_model(name, catalogue, os.environ) for name in names]
    keys = dict.fromkeys(variable for one in known if (variable := one.missing(os.environ)))
    usable = [one for one in known if not one.missing(os.environ)]
    reached = check_availability(usable, os.environ, SECONDS) if usable else {}
    offers = [offer for one in usable for offer in _found(one, reached[(one.url, one.key)])]
    return offers, list(keys)


def _found(chosen: ResolvedModel, reached: Availability) -> list[ModelOffer]:
    entry = chosen.entry
    if entry.model != ANY:
        if reached.is_available and reached.served and entry.model not in reached.served:
            return [(chosen, "the provider does not list it")]
        return [(chosen, reached.problem)]
    # A server that does not run is not worth a line; what a running one serves is.
    served = sorted(reached.served.items())[:MOST_SERVED]
    return [
        (replace(chosen, name=name, entry=replace(entry, name=name, window=window)), "")
        for name, window in ((f"{entry.provider}/{model}", window) for model, window in served)
    ]


def _table(offers: list[ModelOffer]) -> str:
    rows = []
    for chosen, trouble in sorted(offers, key=lambda one: (bool(one[1]), one[0].name)):
        entry = chosen.entry
        price = f"${entry.price.input:g} / ${entry.price.output:g}" if entry.price else "–"
        window = grouped(entry.window) if entry.window else "?"
        rows.append([code(chosen.name), window, price, trouble or "yes"])
    return table(["model", "window", "a million tokens in / out", "answers"], rows, right=(1, 2))


MODEL = SlashCommand("model", "/model [PROVIDER/NAME]", "list the models, or switch to another", _run_model)


async def _run_cost(coding: CodingSession, argument: str) -> CommandAnswer:
    if argument:
        raise COST.unexpected(argument)
    # Off the event loop: the logs of all sub-agents are read.
    return CommandAnswer(await asyncio.to_thread(_report, coding))


def _report(coding: CodingSession) -> str:
    store, log, lookup = coding.session.store, coding.session.log, lookup_for(coding)
    entries, logs = log.entries(), sub_agents_of(log.id, sub_agent_logs(store))
    by_sub_agents = spending_of(store, logs, lookup)
    found = measure_spending(entries, lookup).plus(by_sub_agents)
    copied = "What a fork copied from another session is not counted here." * bool(count_copied(entries))
    spent = by_sub_agents.total
    cost = dollars(spent.dollars) if spent.is_priced else "an unknown cost"
    had = f"{counted(len(logs), 'sub-agent')} had {cost} of it, with {counted(spent.requests, 'request')}."
    return joined(
        _cost_table(found),
        *_remarks(found),
        had if logs else "",
        copied,
        _last_run(coding.agent.budget.spent),
    )


def spending_of(store: Store, logs: Iterable[str], lookup: PriceLookup) -> Spending:
    """What several logs cost together."""
    found = Spending()
    for log in logs:
        found = found.plus(measure_spending(read_entries(store, log), lookup))
    return found


def lookup_for(coding: CodingSession) -> PriceLookup:
    """Prices by model: the session's own entry first, then the catalogue with the project's additions."""
    catalogue = _project_catalogue(coding)
    return price_lookup(catalogue, [(coding.agent.model.name, coding.agent.model_entry)])


def _cost_table(found: Spending) -> str:
    if not found.models:
        return "No model was asked in this session yet."
    total = [found.total] if len(found.models) > 1 else []
    rows = [
        [
            code(spend.model),
            grouped(spend.requests),
            grouped(spend.usage.prompt),
            percentage(spend.usage.cache_read, spend.usage.prompt),
            grouped(spend.usage.completion),
            dollars(spend.dollars) if spend.is_priced else "unknown",
        ]
        for spend in (*found.models, *total)
    ]
    head = ["model", "requests", "tokens in", "cached", "tokens out", "cost"]
    return table(head, rows, right=range(1, 6))


def _remarks(found: Spending) -> Iterator[str]:
    total = found.total
    if total.unpriced:
        yield f"The cost leaves out {counted(total.unpriced, 'request')} to models without a known price."
    if total.unreported:
        yield f"No usage was reported for {counted(total.unreported, 'reply', 'replies')}: they were interrupted."
    saved = total.uncached - total.dollars
    if total.usage.cache_read and saved > 0:
        yield (
            f"The cache saved {dollars(saved)}: the same requests would have cost {dollars(total.uncached)} "
            "without it, at list prices."
        )
    if found.folds:
        yield f"{counted(found.folds, 'fold')} removed {grouped(found.folded)} tokens."


def _last_run(spent: Spent) -> str:
    if not spent.steps:
        return ""
    cost = f", {dollars(spent.dollars)}" if spent.steps > spent.unpriced else ""
    usage = spent.usage
    return (
        f"The last run: {counted(spent.steps, 'step')}, {grouped(usage.prompt)} tokens in "
        f"({percentage(usage.cache_read, usage.prompt)} cached), {grouped(usage.completion)} out{cost}."
    )


COST = SlashCommand("cost", "/cost", "what this session cost, by model, and what the cache saved", _run_cost)
