"""When a pair stops, and why.

Rule: pure. Every stop has a reason and the numbers that show it; what is not measured stops nothing. A limit of 0
is no limit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from holdfast.packing.profile import Ratio
from holdfast.pair.evaluation import IterationResults
from holdfast.prices import format_dollars

StopRule = Literal["success", "unmeasured", "cost", "critical", "layer", "oscillation", "gain", "iterations"]

MOST, MOST_DOLLARS = 1_000_000, 1e9
Number = Annotated[int, Meta(ge=0, le=MOST)]
LAYERS = frozenset("123456789")


class LayerLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """The limits of one layer; None means as for all layers."""

    soft: Number | None = None
    hard: Number | None = None


class StopRules(Struct, frozen=True, forbid_unknown_fields=True):
    target: Ratio = 0.85
    """The share of the samples that must pass."""
    gain: Ratio = 0.02
    gain_iterations: Number = 5
    """This many iterations must bring at least this gain over the best before them."""
    swings: Number = 4
    swing: Ratio = 0.02
    """This many changes of at least this size, up and down in turn, without a new best, are an oscillation."""
    most_critical: Number = 10
    critical_iterations: Number = 2
    """More critical failures than this, in this many iterations in a row, are too many."""
    layer_soft: Number = 3
    """After this many iterations in a row with failures of one layer, the other role must look at it."""
    layer_hard: Number = 6
    layers: dict[str, LayerLimits] = {}
    """Limits of single layers, by their numbers."""
    max_iterations: Number = 10
    turn_steps: Number = 400
    """The most requests of one turn; after them a person must resume it."""
    max_cost: Annotated[float, Meta(ge=0, le=MOST_DOLLARS)] = 0.0

    def soft(self, layer: int) -> int:
        own = self.layers.get(str(layer), LayerLimits()).soft
        return self.layer_soft if own is None else own

    def hard(self, layer: int) -> int:
        own = self.layers.get(str(layer), LayerLimits()).hard
        return self.layer_hard if own is None else own


def update_rules(rules: StopRules, given: Mapping[str, Any]) -> StopRules:
    """The rules with some of them replaced; limits of layers are replaced one by one."""
    layers = {**rules.layers}
    for name, limits in given.get("layers", {}).items():
        before = layers.get(name, LayerLimits())
        layers[name] = LayerLimits(
            before.soft if limits.soft is None else limits.soft,
            before.hard if limits.hard is None else limits.hard,
        )
    return replace(rules, **{**given, "layers": layers})


class StopVerdict(Struct, frozen=True):
    reason: StopRule
    sentence: str
    evidence: tuple[str, ...] = ()


def contradictions(rules: StopRules) -> Iterator[str]:
    """Values that are valid by themselves but contradict each other."""
    if not rules.target:
        yield "`target` is 0, which every iteration reaches"
    if rules.layer_hard and rules.layer_soft > rules.layer_hard:
        yield f"`layer_soft` is {rules.layer_soft}, above `layer_hard`, which is {rules.layer_hard}"
    for name in rules.layers:
        if name not in LAYERS:
            yield f"there is no layer `{name}`; layers are numbers from 1 to 9"
            continue
        soft, hard = rules.soft(int(name)), rules.hard(int(name))
        if hard and soft > hard:
            yield f"`soft` of layer {name} is {soft}, above `hard`, which is {hard}"


def find_stop(
    results: Sequence[IterationResults],
    rules: StopRules,
    *,
    done: int = 0,
    dollars: float = 0.0,
    may_succeed: bool = True,
) -> StopVerdict | None:
    """Why no further iteration may begin. `done` counts the iterations that ended, measured or not. Without
    `may_succeed` all other rules still apply."""
    found = next(_stops(results, rules, done, dollars, may_succeed), None)
    return StopVerdict(*found, evidence(results)) if found else None


def _stops(
    results: Sequence[IterationResults], rules: StopRules, done: int, dollars: float, may_succeed: bool
) -> Iterator[tuple[StopRule, str]]:
    """Every rule that applies, the strongest first, with the sentence that explains it."""
    rates = [one.rate.share for one in results]
    if may_succeed and results and rates[-1] >= rules.target and results[-1].total:
        reached = f"{results[-1].rate} passed, and {percent(rules.target)} was the target"
        if results[-1].is_measured:
            yield "success", reached
        else:
            yield "unmeasured", f"finished, not measured: by the agent's own files {reached}"
    if rules.max_cost and dollars >= rules.max_cost:
        spent, limit = format_dollars(dollars), format_dollars(rules.max_cost)
        yield "cost", f"the limit of {limit} is reached ({spent} spent)"
    most, iterations = rules.most_critical, rules.critical_iterations
    newest = results[-iterations:] if most and iterations else ()
    counts = [one.failed(severity="critical") for one in newest]
    if counts and len(counts) == iterations and min(counts) > most:
        yield "critical", f"{counts[-1]} critical failures, and more than {most} for {iterations} iterations"
    for layer in persistent_layers(results, rules.hard):
        yield "layer", f"layer {layer} failed in {in_a_row(rules.hard(layer))}"
    if oscillates(rates, rules):
        swings = ", ".join(str(one.rate) for one in results[-rules.swings - 1 :])
        yield "oscillation", f"the success rate goes up and down: {swings}"
    if (gained := gain_of(rates, rules)) is not None and gained < rules.gain:
        brought = f"{rules.gain_iterations} iterations brought {gained:+.1%} over the best before"
        yield "gain", f"{brought}, less than {percent(rules.gain)}"
    if rules.max_iterations and done >= rules.max_iterations:
        made = "1 iteration was" if done == 1 else f"{done} iterations were"
        yield "iterations", f"{made} made, which is the limit"


def gain_of(rates: Sequence[float], rules: StopRules) -> float | None:
    """The best of the newest iterations minus the best before them; None if there are too few."""
    newest = rules.gain_iterations
    if not newest or len(rates) <= newest:
        return None
    # Rounded, so that 2% is not less than 2% by a rounding error.
    return round(max(rates[-newest:]) - max(rates[:-newest]), 9)


def oscillates(rates: Sequence[float], rules: StopRules) -> bool:
    """Whether the newest rates go up and down in turn and reach no new best."""
    window = rates[-rules.swings - 1 :] if rules.swings else ()
    if len(window) <= rules.swings:
        return False
    changes = [round(after - before, 9) for before, after in pairwise(window)]
    if any(abs(change) < rules.swing for change in changes):
        return False
    by_turns = all(one * other < 0 for one, other in pairwise(changes))
    # The two newest against all before them: rates that rise in a zigzag still rise.
    return by_turns and max(window[-2:]) <= max(rates[:-2])


def persistent_layers(results: Sequence[IterationResults], limit: Callable[[int], int]) -> tuple[int, ...]:
    """Layers with failures in each of the newest iterations, as many as the limit of the layer says."""
    layers = {one.layer for one in results[-1].failures if one.layer} if results else set[int]()
    return tuple(
        layer
        for layer in sorted(layers)
        if 0 < (most := limit(layer)) <= len(results)
        and all(one.failed(layer=layer) for one in results[-most:])
    )


def evidence(results: Sequence[IterationResults]) -> tuple[str, ...]:
    """A line for each iteration, and one for each sign that its results are not what they seem."""
    lines = []
    for one in results:
        layers = sorted({failure.layer for failure in one.failures})
        parts = [f"{one.failed(layer=layer)} of layer {layer or 'unknown'}" for layer in layers]
        critical = one.failed(severity="critical")
        parts += [f"{critical} critical"] if critical else []
        failed = f"; failures: {', '.join(parts)}" if parts else ""
        lines.append(f"iteration {one.iteration}: {one.rate} passed{_source(one)}{failed}")
        lines += [f"iteration {one.iteration} is suspicious: {sign}" for sign in one.suspicions]
    return tuple(lines)


def _source(one: IterationResults) -> str:
    """That the harness counted, and what the agent counted if it differs."""
    if not one.is_measured:
        return ""
    return (
        f", measured (the agent counted {one.claimed})"
        if one.claimed not in (None, one.rate)
        else ", measured"
    )


def in_a_row(iterations: int) -> str:
    return "1 iteration" if iterations == 1 else f"{iterations} iterations in a row"


def percent(share: float) -> str:
    """A share that a person chose, with all its digits."""
    return f"{round(share * 100, 4):g}%"
