"""The evaluation of an iteration: what passed, and what failed in which layer, read from the disk.

Rule: the disk counts, not what an agent says of it. A file that cannot be read is named.
"""

import os
from collections.abc import Collection, Iterator
from pathlib import PurePath
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from holdfast.messages import Json
from holdfast.pair.folder import ATTRIBUTION, RESULTS, SAMPLES, PairFolder
from holdfast.pair.handover import LONGEST_TEXT, SEVERITIES, Handover, ProblemSeverity, SuccessRate

UNKNOWN = 0
"""The layer of a failure without an attribution."""
LARGEST = 1 << 20
"""The most bytes of one file of results."""
MOST_NAMED = 5
"""How many samples are named if something is wrong with many."""


class SampleFailure(Struct, frozen=True):
    sample: str
    layer: int = UNKNOWN
    severity: ProblemSeverity = "medium"
    problem: str = ""


class IterationResults(Struct, frozen=True):
    """`is_measured`: the harness ran the approved evaluation; else these are files that an agent could write."""

    iteration: int
    passed: int
    total: int
    failures: tuple[SampleFailure, ...] = ()
    is_measured: bool = False
    claimed: SuccessRate | None = None
    """What the agent's own files say, where the harness measured."""
    suspicions: tuple[str, ...] = ()
    """Why a person should look before these results count as a success."""
    samples: tuple[str, ...] = ()
    contents: dict[str, str] = {}
    """Hashes of what goes into the samples and what is expected, as far as it is known."""
    design: str = ""
    """The hash of the design that they are of."""

    @property
    def rate(self) -> SuccessRate:
        return SuccessRate(self.passed, self.total)

    def failed(self, *, layer: int | None = None, severity: ProblemSeverity | None = None) -> int:
        return sum(
            (layer is None or one.layer == layer) and (severity is None or one.severity == severity)
            for one in self.failures
        )


class UnreadableResults(ValueError):
    """Results that cannot be counted; the message names the file."""


class Evaluation(Struct, frozen=True):
    """The results of an iteration, and the samples that were counted."""

    results: IterationResults
    samples: frozenset[str]


Sample = Annotated[str, Meta(max_length=200)]


class _Result(Struct):
    passed: bool
    sample: Sample = ""


class _Attribution(Struct):
    layer: Annotated[int, Meta(ge=UNKNOWN, le=9)] = UNKNOWN
    severity: ProblemSeverity = "medium"
    problem: Annotated[str, Meta(max_length=LONGEST_TEXT)] = ""
    sample: Sample = ""


T = TypeVar("T", _Result, _Attribution)


def read_evaluation(layout: PairFolder, iteration: int) -> Evaluation:
    """Read `evaluation_results`, one file for each sample with `{"sample", "passed"}`, and for those that failed
    `attribution_analysis`, one file with `{"sample", "layer", "severity", "problem"}`. If there are results, every
    file in `samples` must have one, and if there are samples, nothing else may have one. Raises
    `UnreadableResults`."""
    where = layout.outputs.iteration(iteration)
    results, names = _by_sample(layout, f"{where}/{RESULTS}", _Result)
    causes, _ = _by_sample(layout, f"{where}/{ATTRIBUTION}", _Attribution)
    if results and SAMPLES in layout.outputs.parts:
        samples = {PurePath(name).stem: name for name in _names(layout, f"{where}/{SAMPLES}", ending="")}
        known = {*names.values(), *results}
        if left := [name for stem, name in samples.items() if stem not in known]:
            raise UnreadableResults(
                f"no result of {listed(left)} of `{where}/{SAMPLES}`: evaluate all samples"
            )
        if more := [one for one in results if samples and not {one, names[one]} & {*samples}]:
            raise UnreadableResults(f"results of {listed(more)}, which are no samples in `{where}/{SAMPLES}`")
    failures = tuple(
        SampleFailure(sample, cause.layer, cause.severity, cause.problem)
        for sample, result in sorted(results.items())
        if not result.passed
        for cause in (causes.get(sample, _Attribution()),)
    )
    passed = sum(one.passed for one in results.values())
    counted = IterationResults(iteration, passed, len(results), failures, samples=tuple(sorted(results)))
    return Evaluation(counted, frozenset(results))


def with_causes(measured: IterationResults, claimed: IterationResults | None) -> IterationResults:
    """Measured results, with the causes that the agent found of failures of which the evaluation says none."""
    known = {one.sample: one for one in claimed.failures} if claimed else {}
    failures = tuple(known.get(one.sample, one) if one.layer == UNKNOWN else one for one in measured.failures)
    return replace(
        measured,
        failures=failures,
        is_measured=True,
        claimed=claimed.rate if claimed and claimed.total else None,
    )


def false_claims(handover: Handover, evaluation: Evaluation) -> Iterator[str]:
    """What a handover says and the disk does not."""
    said, results = handover.success, evaluation.results
    if not results.total:
        yield f"there are no results of iteration {results.iteration} in `{RESULTS}` on the disk"
        return
    if said is None:
        yield f"`success` is missing; the disk says {results.rate}"
    elif (said.passed, said.total) != (results.passed, results.total):
        yield f"`success` says {said.passed}/{said.total}, the disk says {results.passed}/{results.total}"
    for name, counted in (("samples", results.total), ("failures", results.total - results.passed)):
        if handover.counts.get(name, counted) != counted:
            yield f"`counts` says {handover.counts[name]} `{name}`, the disk says {counted}"
    named = dict.fromkeys(sample for problem in handover.problems for sample in problem.samples)
    if unknown := [sample for sample in named if sample not in evaluation.samples]:
        yield f"`problems` names {listed(unknown)}, of which there is no result"


def problem_report(
    handover: Handover, results: IterationResults | None, layers: tuple[int, ...]
) -> dict[str, Json]:
    """What the agent of these layers must look at: its problems and the failures behind them."""
    problems = sorted(
        (one for one in handover.problems if one.layer in layers),
        key=lambda one: (SEVERITIES.index(one.severity), one.summary),
    )
    failures = [one for one in results.failures if one.layer in layers] if results else []
    return {
        "iteration": results.iteration if results else 0,
        "success_rate": str(results.rate) if results else "",
        "problems": msgspec.to_builtins(problems),
        "failures": msgspec.to_builtins(failures),
    }


def _by_sample(layout: PairFolder, where: str, kind: type[T]) -> tuple[dict[str, T], dict[str, str]]:
    """The files of a folder by their samples, decoded, and their names without the ending."""
    found: dict[str, T] = {}
    files: dict[str, str] = {}
    for name in _names(layout, where):
        one = _decoded(layout, f"{where}/{name}", kind)
        sample = one.sample or name.removesuffix(".json")
        if sample in found:
            raise UnreadableResults(
                f"`{where}/{files[sample]}` and `{where}/{name}` are both of the sample `{sample}`"
            )
        found[sample], files[sample] = one, name
    return found, {sample: name.removesuffix(".json") for sample, name in files.items()}


def _names(layout: PairFolder, where: str, *, ending: str = ".json") -> list[str]:
    """The names in a folder with this ending, sorted; none without a folder. Hidden files do not count."""
    folder = layout.root / where
    if not os.path.lexists(folder):
        return []
    if isinstance(found := layout.look(where), str):
        raise UnreadableResults(found)
    try:
        there = (entry.name for entry in folder.iterdir())
        names = sorted(name for name in there if name.endswith(ending) and not name.startswith("."))
    except OSError as error:
        raise UnreadableResults(f"`{where}` cannot be read: {error.strerror}") from None
    for name in names:
        if not name.isprintable():
            raise UnreadableResults(f"`{where}` has a file whose name is not plain text: {name!a}")
    return names


def _decoded(layout: PairFolder, where: str, kind: type[T]) -> T:
    found = layout.look(where)
    if isinstance(found, str):
        raise UnreadableResults(found)
    if found.is_folder:
        raise UnreadableResults(f"`{where}` is not a file")
    if found.size > LARGEST:
        raise UnreadableResults(f"`{where}` is larger than {LARGEST} bytes")
    try:
        return msgspec.json.decode((layout.root / where).read_bytes(), type=kind)
    except OSError as error:
        raise UnreadableResults(f"`{where}` cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UnreadableResults(f"`{where}` is not UTF-8") from None
    except RecursionError:
        raise UnreadableResults(f"`{where}` is nested too deeply") from None
    except msgspec.MsgspecError as error:
        raise UnreadableResults(f"`{where}` is not a valid result: {error}") from None


def listed(names: Collection[str]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(f"`{name}`" for name in [*names][:MOST_NAMED])
    return f"{shown} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else shown
