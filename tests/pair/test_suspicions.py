"""Signs that results were made to pass: each where it should be, and none where the work is honest."""

import pytest

from holdfast.pair.evaluation import IterationResults
from holdfast.pair.suspicions import (
    MOST_TESTS,
    SampleRecord,
    TestCount,
    changed_samples,
    fewer_samples,
    fewer_tests,
    left_out_samples,
    own_samples,
    same_outputs,
    with_tests,
    written_by_hand,
)


def results(number, *samples):
    return IterationResults(number, len(samples), len(samples), samples=samples)


def test_samples_that_are_gone_are_named():
    (said,) = fewer_samples([results(1, "s1", "s2", "s3")], results(2, "s1"))
    assert said == "iteration 1 had samples that are gone: `s2`, `s3`"
    assert [*fewer_samples([results(1, "s1")], results(2, "s1", "s2"))] == []


def with_contents(number, contents, design="d"):
    return IterationResults(number, 1, 1, contents=contents, design=design)


def test_samples_with_other_values_than_before():
    first = with_contents(1, {"s1": "a", "s2": "b"})
    second = with_contents(2, {"s1": "a", "s2": "c", "s3": "d"})
    (said,) = changed_samples([first], second)
    assert said == "samples of iteration 1 have other values now: `s2`"
    assert [*changed_samples([first, second], with_contents(3, {"s2": "c"}))] != [], "they were not put back"
    assert [*changed_samples([first], with_contents(2, {"s2": "c"}, "another design"))] == []
    assert [*changed_samples([first], with_contents(2, {"s1": "a", "s2": "b"}))] == []


def test_samples_that_were_left_out():
    (said,) = left_out_samples(["s1", "s2"], results(1, "s1"))
    assert said == "samples that the evaluation lists have no result: `s2`"
    assert [*left_out_samples(["s1"], results(1, "s1", "s2"))] == []
    assert [*left_out_samples(["1", "2"], results(1, "s1"))] == [], "they have other names"


def test_few_samples_of_the_agents_own():
    assert [*own_samples({"s1"})] == ["only 1 sample of the agent's own: `s1`"]
    assert [*own_samples({f"s{number}" for number in range(5)})] == [*own_samples(())] == []


def test_results_of_an_older_version_have_no_names():
    (said,) = fewer_samples([IterationResults(1, 4, 4)], results(2, "s1"))
    assert said == "1 sample evaluated, and 4 before"


@pytest.mark.parametrize(
    ("found", "written", "commands", "said"),
    [
        (("s1",), ("s1.json",), 3, "the agent wrote results by hand: `s1.json`"),
        (("s1", "s2"), (), 0, "the agent ran no command, and has 2 results of its own"),
        (("s1",), (), 1, None),
        ((), (), 0, None),
    ],
)
def test_results_without_a_command(found, written, commands, said):
    assert next(written_by_hand(found, written, commands), None) == said


def test_tests_that_are_gone_or_disabled():
    before = TestCount(("t: one", "t: two"), 1)
    assert [*fewer_tests(before, TestCount(("t: two",), 2))] == [
        "tests are gone: `t: one`",
        "2 tests are disabled, and 1 were before",
    ]
    assert [*fewer_tests(before, TestCount(("t: one", "t: three", "t: two"), 0))] == []
    assert [*fewer_tests(None, TestCount())] == []


def test_a_test_that_is_gone_is_missed_until_it_is_back():
    first, second = TestCount(("a.py: one", "a.py: two")), TestCount(("a.py: two", "b.py: three"))
    known = with_tests(first, second)
    assert known == TestCount(("a.py: one", "a.py: two", "b.py: three"))
    assert [*fewer_tests(known, second)] == ["tests are gone: `a.py: one`"]
    assert [*fewer_tests(known, known)] == []


def test_a_test_that_was_moved_is_not_gone():
    first, second = TestCount(("a.py: one", "a.py: two")), TestCount(("a.py: two", "b.py: one"))
    assert [*fewer_tests(first, second)] == []
    assert [*fewer_tests(with_tests(first, second), second)] == []


def test_tests_that_were_not_counted_are_not_gone():
    names = tuple(f"t.py: test_{number:05}" for number in range(MOST_TESTS))
    more = tuple(sorted((*names[1:], "a.py: test_new")))
    assert [*fewer_tests(TestCount(names), TestCount(("a.py: test_new", *names[:-1])))] == []
    assert [*fewer_tests(TestCount(names), TestCount(more))] == ["tests are gone: `t.py: test_00000`"]


def records(outputs, expected=None):
    return [
        SampleRecord(f"s{n}", {"amount": n}, expected[n] if expected else None, output)
        for n, output in enumerate(outputs)
    ]


def test_one_output_for_all_inputs():
    assert [*same_outputs(records(["x"] * 5))] == ["all 5 outputs are the same, for 5 different inputs"]
    assert [*same_outputs(records(["x"] * 5, "abcde"))] != []
    assert [*same_outputs(records(["x"] * 5, ["x"] * 5))] == [], "the same is expected"
    assert [*same_outputs(records(["x", "x", "x", "x", "y"]))] == []
    assert [*same_outputs(records(["x"] * 3))] == [], "too few to say"
    assert [*same_outputs(records([None] * 9))] == [], "no output is known"
