"""`/cost`: what this session cost, by model, sub-agents included, and what the provider's cache saved.

Rule: only costs that were reported and priced are added up; the others are named.
"""

import asyncio
from collections.abc import Iterator

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand
from holdfast.agents.commands.markdown import code, dollars, joined, percentage, table
from holdfast.agents.commands.model import project_catalogue
from holdfast.agents.limits import Spent
from holdfast.agents.outcomes import CommandAnswer
from holdfast.agents.sessions import count_copied
from holdfast.agents.spending import Spending, add_spending, measure_spending, sub_agent_spending
from holdfast.models.catalogue import ModelLookup, model_lookup
from holdfast.numbers import counted, grouped


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    if argument:
        raise COST.unexpected(argument)
    # Off the event loop: a long log takes a moment.
    return CommandAnswer(await asyncio.to_thread(_report, coding))


def _report(coding: CodingSession) -> str:
    entries, lookup = coding.session.log.entries(), lookup_for(coding)
    found = measure_spending(entries, lookup)
    copied = "What a fork copied from another session is not counted here." * bool(count_copied(entries))
    tasks = sub_agent_spending(entries, lookup)
    spent = add_spending(tasks.values())
    cost = dollars(spent.dollars) if spent.is_priced else "an unknown cost"
    had = f"{counted(len(tasks), 'sub-agent')} had {cost} of it, with {counted(spent.requests, 'request')}."
    return joined(
        _table(found),
        *_remarks(found),
        had if tasks else "",
        copied,
        _last_run(coding.agent.budget.spent),
    )


def lookup_for(coding: CodingSession) -> ModelLookup:
    """Prices by model: the session's own entry first, then the catalogue with the project's additions."""
    catalogue = project_catalogue(coding)
    return model_lookup(catalogue, [(coding.agent.model.name, coding.agent.model_entry)])


def _table(found: Spending) -> str:
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


COST = SlashCommand("cost", "/cost", "what this session cost, by model, and what the cache saved", _run)
