"""What is suspicious about the results of an iteration: signs that they were made to pass, and not earned.

Rule: pure, and a sign is no proof. Each is one sentence with names; a person decides what it means.
"""

from collections.abc import Collection, Iterator, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct

from holdfast.messages import Json
from holdfast.numbers import counted
from holdfast.pair.evaluation import IterationResults, listed

LEAST_OWN = 5
"""Fewer samples that the agent chose itself say little."""
LEAST_ALIKE = 4
"""From this many samples on, equal outputs say something."""
MOST_TESTS = 2_000
"""The most tests that are counted."""
OUTPUT_KEYS = ("output", "actual", "answer", "result", "decided", "response")
"""Under which of these a result or a trace has what the component gave."""


class TestCount(Struct, frozen=True):
    """The tests of a project: their names, each after the path of its file, and how many are disabled."""

    __test__ = False

    names: tuple[str, ...] = ()
    disabled: int = 0


class SampleRecord(Struct, frozen=True):
    """A sample as it is on the disk: what goes in, what is expected, and what the component gave. `None` is not
    there."""

    name: str
    given: Json = None
    expected: Json = None
    output: Json = None


def fewer_samples(before: Sequence[IterationResults], now: IterationResults) -> Iterator[str]:
    """Samples that an earlier iteration had."""
    here = {*now.samples}
    for one in before:
        if gone := [name for name in one.samples if name not in here]:
            yield f"iteration {one.iteration} had samples that are gone: {listed(gone)}"
            return
    most = max((one.total for one in before), default=0)
    if now.total < most:
        yield f"{counted(now.total, 'sample')} evaluated, and {most} before"


def changed_samples(before: Sequence[IterationResults], now: IterationResults) -> Iterator[str]:
    """Samples that an earlier iteration of the same design had with other values."""
    for one in before:
        known = one.contents if one.design == now.design else {}
        if changed := [name for name, hash_ in now.contents.items() if known.get(name, hash_) != hash_]:
            yield f"samples of iteration {one.iteration} have other values now: {listed(changed)}"
            return


def left_out_samples(listed_names: Collection[str], results: IterationResults) -> Iterator[str]:
    """Samples that the evaluation lists and that have no result, where others have one."""
    here = {*results.samples}
    missing = [name for name in sorted(listed_names) if name not in here]
    if missing and len(missing) < len(listed_names):
        yield f"samples that the evaluation lists have no result: {listed(missing)}"


def own_samples(names: Collection[str]) -> Iterator[str]:
    """`names` are samples that the agent chose, where all are."""
    if 0 < len(names) < LEAST_OWN:
        yield f"only {counted(len(names), 'sample')} of the agent's own: {listed(sorted(names))}"


def sample_contents(samples: Sequence[SampleRecord]) -> dict[str, str]:
    """Their values by name, as hashes."""
    values = ((one.name, _text([one.given, one.expected])) for one in samples)
    return {name: sha256(text.encode()).hexdigest()[:12] for name, text in values}


def written_by_hand(results: Collection[str], written: Collection[str], commands: int) -> Iterator[str]:
    """`results` are the agent's own files of results, `written` those that it wrote with a file tool, and
    `commands` how many commands it ran in the turn."""
    if written:
        yield f"the agent wrote results by hand: {listed(sorted(written))}"
    elif results and not commands:
        yield f"the agent ran no command, and has {len(results)} results of its own"


def changed_evaluation(files: Sequence[str]) -> Iterator[str]:
    if files:
        yield f"the evaluation was changed after it was approved: {listed(files)}; the approved one was run"


def changed_in_run(files: Sequence[str]) -> Iterator[str]:
    """Files of the evaluation in the copy, as they are after it."""
    if files:
        yield f"the evaluation was changed while it ran: {listed(files)}"


def stand_ins(files: Sequence[str]) -> Iterator[str]:
    if files:
        yield f"the evaluation loads what was not approved with it: {listed(files)}"


def with_tests(before: TestCount | None, now: TestCount | None) -> TestCount | None:
    """The tests of now with those that are gone, which are missed until they are back."""
    if before is None or now is None:
        return before or now
    names = (*now.names, *_gone(before, now))
    return TestCount(tuple(sorted(names)), min(before.disabled, now.disabled))


def fewer_tests(before: TestCount | None, now: TestCount) -> Iterator[str]:
    if before is None:
        return
    if gone := _gone(before, now):
        yield f"tests are gone: {listed(gone)}"
    if now.disabled > before.disabled:
        yield f"{now.disabled} tests are disabled, and {before.disabled} were before"


def _gone(before: TestCount, now: TestCount) -> list[str]:
    """A test that is in another file now is not gone, and one after the last that was counted may be there."""
    here = {*now.names}
    moved = {_test_name(one) for one in here - {*before.names}}
    last = now.names[-1] if len(here) >= MOST_TESTS else ""
    missing = (one for one in before.names if one not in here and (not last or one <= last))
    return [one for one in missing if _test_name(one) not in moved]


def _test_name(test: str) -> str:
    return test.rpartition(": ")[2]


def same_outputs(samples: Sequence[SampleRecord]) -> Iterator[str]:
    """One output for inputs that differ, where what is expected differs too, or is not known."""
    known = [one for one in samples if one.output is not None]
    inputs = {_text(one.given) for one in known if one.given is not None}
    expected = {_text(one.expected) for one in known if one.expected is not None}
    if len(known) < LEAST_ALIKE or len(inputs) < LEAST_ALIKE or len(expected) == 1:
        return
    if len({_text(one.output) for one in known}) == 1:
        yield f"all {len(known)} outputs are the same, for {len(inputs)} different inputs"


def _text(value: Json) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
