"""What the requests of a log cost, by model.

Rule: a request without usage or price is counted as such, never as free. Entries that a rewind left count, since
they were paid for. Entries that a fork copied do not, since another log paid for them. What sub-agents spent is in
the log of their parent, request by request.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.limits import Spent
from holdfast.agents.sessions import count_copied
from holdfast.events import AssistantReplied, Entry, Folded, UsageReported
from holdfast.messages import Usage, add_usage
from holdfast.models.catalogue import ModelEntry, ModelLookup, request_cost

TASK_PURPOSE = "task "
"""The purpose of usage that a sub-agent reported; the id of its log follows."""


class ModelSpending(Struct, frozen=True):
    """The requests to one model. `dollars` leaves out the `unpriced` ones; `uncached` is what the priced ones would
    have cost without a cache."""

    model: str
    requests: int = 0
    unreported: int = 0
    unpriced: int = 0
    usage: Usage = Usage(0)
    dollars: float = 0.0
    uncached: float = 0.0

    @property
    def is_priced(self) -> bool:
        """Whether the price of any request is known."""
        return self.requests > self.unpriced + self.unreported

    def with_request(self, usage: Usage | None, known: ModelEntry | None) -> "ModelSpending":
        if usage is None:
            return self.with_spend(ModelSpending("", requests=1, unreported=1))
        dollars = request_cost(known, usage) if known else None
        plain = request_cost(known, Usage(usage.prompt, usage.completion)) if known else None
        unpriced = int(dollars is None)
        return self.with_spend(ModelSpending("", 1, 0, unpriced, usage, dollars or 0.0, plain or 0.0))

    def with_spend(self, other: "ModelSpending") -> "ModelSpending":
        return replace(
            self,
            requests=self.requests + other.requests,
            unreported=self.unreported + other.unreported,
            unpriced=self.unpriced + other.unpriced,
            usage=add_usage(self.usage, other.usage),
            dollars=self.dollars + other.dollars,
            uncached=self.uncached + other.uncached,
        )


class Spending(Struct, frozen=True):
    """`models` are in the order in which they were first asked. `folded` are the tokens that folds removed."""

    models: tuple[ModelSpending, ...] = ()
    folds: int = 0
    folded: int = 0

    @property
    def total(self) -> ModelSpending:
        return add_spending(self.models)


def add_spending(parts: Iterable[ModelSpending]) -> ModelSpending:
    whole = ModelSpending("total")
    for spend in parts:
        whole = whole.with_spend(spend)
    return whole


def measure_spending(entries: Sequence[Entry], lookup: ModelLookup) -> Spending:
    """What was spent, by a log's own entries."""
    models: dict[str, ModelSpending] = {}
    folds = folded = 0
    for entry in entries[count_copied(entries) :]:
        match entry.event:
            case AssistantReplied(model=model, usage=usage) | UsageReported(model=model, usage=usage):
                known = lookup(model)
                name = (known.name if known else "") or model or "unknown"
                models[name] = models.get(name, ModelSpending(name)).with_request(usage, known)
            case Folded(tokens_before=before, tokens_after=after):
                folds += 1
                folded += max(0, before - after)
    return Spending(tuple(models.values()), folds, folded)


def sub_agent_spending(entries: Sequence[Entry], lookup: ModelLookup) -> dict[str, ModelSpending]:
    """What each sub-agent spent, by the id of its log. It is part of what `measure_spending` counts."""
    found: dict[str, ModelSpending] = {}
    for entry in entries[count_copied(entries) :]:
        match entry.event:
            case UsageReported(model=model, usage=usage, purpose=purpose) if purpose.startswith(TASK_PURPOSE):
                log = purpose.removeprefix(TASK_PURPOSE)
                found[log] = found.get(log, ModelSpending(model)).with_request(usage, lookup(model))
    return found


def spent_by(
    entries: Sequence[Entry], entry: ModelEntry, others: Mapping[str, ModelEntry] | None = None
) -> Spent:
    """What the requests among these entries took, those for summaries and of sub-agents included. `others` are the
    models of sub-agents, by their names; of everything else it is `entry`."""
    others = others or {}
    spent = Spent()
    for one in entries:
        match one.event:
            case AssistantReplied(usage=usage):
                spent = spent.with_reply(usage, request_cost(entry, usage) if usage else None)
                spent = replace(spent, steps=spent.steps + 1)
            case UsageReported(usage=usage, model=model):
                spent = spent.with_reply(usage, request_cost(others.get(model, entry), usage))
    return spent
