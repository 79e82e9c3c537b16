"""How far an iteration came: what passed, and what failed in which layer, read from the disk.

Rule: what stands on the disk counts, and not what an agent says of it. A file that cannot be read is named.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.messages import Json
from holdfast.pair.handover import SEVERITIES, Handover, Problem, Rate, Severity
from holdfast.pair.layout import ATTRIBUTION, RESULTS, Layout

UNKNOWN = 0
"""The layer of a failure that nobody attributed."""
LARGEST = 1 << 20
"""Bytes of one file of results."""


class Failure(Struct, frozen=True):
    sample: str
    layer: int = UNKNOWN
    severity: Severity = "medium"
    problem: str = ""


class Results(Struct, frozen=True):
    """What came of one iteration."""

    iteration: int
    passed: int
    total: int
    failures: tuple[Failure, ...] = ()

    @property
    def rate(self) -> Rate:
        return Rate(self.passed, self.total)

    def failed(self, *, layer: int | None = None, severity: Severity | None = None) -> int:
        return sum(
            (layer is None or one.layer == layer) and (severity is None or one.severity == severity)
            for one in self.failures
        )


class Unreadable(ValueError):
    """Results that cannot be counted; the message names the file."""


class _Result(Struct):
    passed: bool
    sample: str = ""


class _Attribution(Struct):
    layer: int = UNKNOWN
    severity: Severity = "medium"
    problem: str = ""
    sample: str = ""


def read_results(layout: Layout, iteration: int) -> Results:
    """One file for each sample in `evaluation_results`, `{"sample", "passed"}`; for those that failed one in
    `attribution_analysis`, `{"sample", "layer", "severity", "problem"}`. Raises `Unreadable`."""
    folder = layout.root / layout.outputs.iteration(iteration)
    where = layout.outputs.iteration(iteration)
    results = {
        one.sample or name: one for name, one in _read(folder / RESULTS, f"{where}/{RESULTS}", _Result)
    }
    causes = {
        one.sample or name: one
        for name, one in _read(folder / ATTRIBUTION, f"{where}/{ATTRIBUTION}", _Attribution)
    }
    failures = tuple(
        Failure(sample, cause.layer, cause.severity, cause.problem)
        for sample, result in sorted(results.items())
        if not result.passed
        for cause in (causes.get(sample, _Attribution()),)
    )
    return Results(iteration, sum(one.passed for one in results.values()), len(results), failures)


def claims(handover: Handover, results: Results) -> tuple[str, ...]:
    """What a handover says that the disk does not."""
    said = handover.success
    if not results.total:
        return (f"there are no results of iteration {results.iteration} in `{RESULTS}` on the disk",)
    if said is None:
        return (f"`success` is missing; the disk says {results.rate}",)
    if (said.passed, said.total) != (results.passed, results.total):
        return (f"`success` says {said.passed}/{said.total}, the disk says {results.passed}/{results.total}",)
    return ()


def report_of(handover: Handover, results: Results | None, layers: tuple[int, ...]) -> dict[str, Json]:
    """What the agent of these layers must look at: its problems, and the failures behind them."""
    problems = sorted(
        (one for one in handover.problems if one.layer in layers),
        key=lambda one: (SEVERITIES.index(one.severity), one.summary),
    )
    failures = [one for one in results.failures if one.layer in layers] if results else []
    return {
        "iteration": results.iteration if results else 0,
        "success_rate": str(results.rate) if results else "",
        "problems": [_told(problem) for problem in problems],
        "failures": msgspec.to_builtins(failures),
    }


def _told(problem: Problem) -> dict[str, Json]:
    value: dict[str, Json] = msgspec.to_builtins(problem)
    return value


def _read(folder: Path, where: str, kind: type[Json]) -> Iterator[tuple[str, Json]]:
    """The files of a folder, by name; none where there is no folder."""
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".json"))
    except FileNotFoundError:
        return
    except OSError as error:
        raise Unreadable(f"`{where}` cannot be read: {error.strerror}") from None
    for name in names:
        path = folder / name
        try:
            if not path.is_file():
                raise Unreadable(f"`{where}/{name}` is no file")
            if path.stat().st_size > LARGEST:
                raise Unreadable(f"`{where}/{name}` is larger than {LARGEST} bytes")
            yield path.stem, msgspec.json.decode(path.read_bytes(), type=kind)
        except OSError as error:
            raise Unreadable(f"`{where}/{name}` cannot be read: {error.strerror}") from None
        except msgspec.MsgspecError as error:
            raise Unreadable(f"`{where}/{name}` is no result: {error}") from None
