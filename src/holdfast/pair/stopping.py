"""When a pair stops, and why.

Rule: pure. Every stop has a reason and the numbers that show it; what is not measured stops nothing. A limit of 0
is none.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from holdfast.pair.progress import Results

Reason = Literal["success", "cost", "critical", "layer", "oscillation", "gain", "iterations"]


class StopRules(Struct, frozen=True, forbid_unknown_fields=True):
    target: float = 0.85
    """Share of the samples that must pass."""
    gain: float = 0.02
    gain_iterations: int = 5
    """So many iterations must bring at least this gain over the best before them."""
    swings: int = 4
    swing: float = 0.02
    """So many changes of at least this size, up and down by turns, and no new best: it goes in circles."""
    most_critical: int = 10
    critical_iterations: int = 2
    """More critical failures than this in so many iterations in a row are too many."""
    layer_soft: int = 3
    """After so many iterations in a row with failures of one layer the other agent must look at it."""
    layer_hard: int = 6
    max_iterations: int = 10
    turn_steps: int = 400
    """Requests of one turn; it is gone on with by hand."""
    max_cost: float = 0.0


class Stopping(Struct, frozen=True):
    reason: Reason
    sentence: str
    evidence: tuple[str, ...] = ()


def stop(
    results: Sequence[Results], rules: StopRules, *, done: int = 0, dollars: float = 0.0
) -> Stopping | None:
    """Why no further iteration may begin. `done` are the iterations that ended, measured or not."""
    rates = [one.rate.share for one in results]
    if results and rates[-1] >= rules.target and results[-1].total:
        sentence = f"{results[-1].rate} passed, and {rules.target:.0%} was the target"
        return Stopping("success", sentence, evidence(results))
    if rules.max_cost and dollars >= rules.max_cost:
        return Stopping("cost", f"${dollars:.2f} of ${rules.max_cost:.2f} are spent", evidence(results))
    found = _critical(results, rules) or _layer(results, rules)
    if found is None and oscillates(rates, rules):
        sentence = (
            f"the success rate goes up and down: {', '.join(map(_percent, rates[-rules.swings - 1 :]))}"
        )
        found = Stopping("oscillation", sentence, evidence(results))
    if found is None and (gained := gain_of(rates, rules)) is not None and gained < rules.gain:
        sentence = (
            f"{rules.gain_iterations} iterations brought {gained:+.1%} over the best before, "
            f"less than {rules.gain:.0%}"
        )
        found = Stopping("gain", sentence, evidence(results))
    if found is None and rules.max_iterations and done >= rules.max_iterations:
        made = "1 iteration was" if done == 1 else f"{done} iterations were"
        sentence = f"{made} made, as many as allowed"
        found = Stopping("iterations", sentence, evidence(results))
    return found


def gain_of(rates: Sequence[float], rules: StopRules) -> float | None:
    """The best of the newest iterations over the best before them; None where there are too few."""
    newest = rules.gain_iterations
    if not newest or len(rates) <= newest:
        return None
    # Rounded, so that 2 % is not less than 2 % by the last bit of a division.
    return round(max(rates[-newest:]) - max(rates[:-newest]), 9)


def oscillates(rates: Sequence[float], rules: StopRules) -> bool:
    """Whether the newest changes go up and down by turns, and none of what they reached is a new best."""
    window = rates[-rules.swings - 1 :] if rules.swings else ()
    if len(window) <= rules.swings:
        return False
    changes = [round(after - before, 9) for before, after in pairwise(window)]
    if any(abs(change) < rules.swing for change in changes):
        return False
    by_turns = all(one * other < 0 for one, other in pairwise(changes))
    # The two newest against all before them: rates that climb in steps up and down still climb.
    return by_turns and max(window[-2:]) <= max(rates[:-2])


def persistent(results: Sequence[Results], iterations: int) -> tuple[int, ...]:
    """Layers with failures in each of so many newest iterations."""
    newest = results[-iterations:] if iterations else ()
    if not iterations or len(newest) < iterations:
        return ()
    layers = {one.layer for one in newest[-1].failures if one.layer}
    return tuple(sorted(layer for layer in layers if all(one.failed(layer=layer) for one in newest)))


def evidence(results: Sequence[Results]) -> tuple[str, ...]:
    """A line for each iteration."""
    return tuple(_line(one) for one in results)


def _line(one: Results) -> str:
    layers = sorted({failure.layer for failure in one.failures})
    parts = [f"{one.failed(layer=layer)} of layer {layer or 'unknown'}" for layer in layers]
    critical = one.failed(severity="critical")
    parts += [f"{critical} critical"] if critical else []
    failed = f"; failures: {', '.join(parts)}" if parts else ""
    return f"iteration {one.iteration}: {one.rate} passed{failed}"


def _critical(results: Sequence[Results], rules: StopRules) -> Stopping | None:
    newest = results[-rules.critical_iterations :] if rules.most_critical else ()
    counts = [one.failed(severity="critical") for one in newest]
    if not counts or len(counts) < rules.critical_iterations or min(counts) <= rules.most_critical:
        return None
    sentence = (
        f"{counts[-1]} critical failures, and more than {rules.most_critical} for "
        f"{rules.critical_iterations} iterations"
    )
    return Stopping("critical", sentence, evidence(results))


def _layer(results: Sequence[Results], rules: StopRules) -> Stopping | None:
    stuck = persistent(results, rules.layer_hard)
    if not stuck:
        return None
    sentence = f"layer {stuck[0]} failed in {rules.layer_hard} iterations in a row"
    return Stopping("layer", sentence, evidence(results))


def _percent(share: float) -> str:
    return f"{share:.0%}"
