"""The oracle: a ceiling beside a profile. It is told what comes later, and never taken for a policy."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.lab.evidence.needs import Study
from holdfast.lab.jobs import RecordingSources, ReplayOptions
from holdfast.lab.policies.oracle import ORACLES, oracle_policies
from holdfast.lab.policies.profile_policy import profile_policy
from holdfast.lab.policies.registry import DEFAULT_NAMES, find_policies
from holdfast.lab.policy import NamedPolicy
from holdfast.lab.replay import HASHES, SUFFIX, ReportOptions, replay
from holdfast.lab.report import terminal_tables, write_html, write_markdown
from holdfast.lab.report.rankings import faults_of, result_sentence
from holdfast.lab.results import SEES_FUTURE, ReplayReport
from holdfast.lab.run import PolicyRun, ScoringSetup
from holdfast.lab.scored_message import MessageCounter
from holdfast.packing.profile import BUILT_IN
from holdfast.prices import BUILT_IN as PRICES
from holdfast.tokenizers import load_tokenizer
from support.evidence import called, result, study_of, user
from support.evidence_recordings import write_policy, write_recordings
from support.fit_recordings import BUDGET, PROFILE, fit_recording

SETUP = ScoringSetup(load_tokenizer(), MessageCounter(load_tokenizer()), (PRICES["standard"],), BUDGET)
[ORACLE] = oracle_policies([PROFILE])


def random_work(seed: int, steps: int = 26, rows: int = 14) -> Study:
    """Which line of an old read is edited is left to chance: nothing in the line, or before, tells."""
    chance = Random(seed)
    messages = [user("Go through the parts.")]
    for n in range(steps):
        if n >= 8:
            part, row = n - chance.randint(7, 8), chance.randrange(rows)
            messages += [
                called(f"e{n}", "Edit", file_path=f"f{n}", old_string=line(seed, part, row), new_string=""),
                result(f"e{n}", "done"),
            ]
        text = "\n".join(line(seed, n, row) for row in range(rows))
        messages += [called(f"c{n}", "Bash", command=f"cat part {n}"), result(f"c{n}", text)]
    return study_of(*messages, {"role": "assistant", "content": "Done."})


def line(seed: int, part: int, row: int) -> str:
    words = Random(f"{seed} {part} {row}").sample("alpha beta gamma delta epsilon zeta eta theta".split(), 6)
    return f"{' '.join(words)} of part {part} in row {row}"


def hard_span(study: Study, policy: NamedPolicy) -> float:
    [[score]] = PolicyRun(study, policy, BUDGET, [BUDGET], SETUP).run()
    assert not score.failures
    assert not score.over_budget
    assert score.hard_span is not None
    return score.hard_span


@pytest.mark.slow
@settings(max_examples=5)
@given(st.integers(0, 10**6))
def test_it_keeps_no_less_than_its_profile_where_lines_are_alike(seed):
    """What holds: lines of one size, and which is used left to chance. In general it is greedy, as the profile is,
    and a greedy choice can be unlucky."""
    study = random_work(seed)
    below, above = hard_span(study, profile_policy(PROFILE)), hard_span(study, ORACLE)
    assert below < 1, "room is scarce"
    assert above >= below


def test_it_keeps_what_will_be_used():
    studies = [random_work(seed) for seed in range(2)]
    below = sum(hard_span(study, profile_policy(PROFILE)) for study in studies)
    above = sum(hard_span(study, ORACLE) for study in studies)
    assert above > below + 0.5


def test_only_profiles_that_keep_lines_have_one_and_none_is_a_default():
    assert [policy.name for policy in ORACLES] == ["oracle", "oracle-rich", "oracle-lean"]
    assert not {policy.name for policy in ORACLES} & {*DEFAULT_NAMES, *BUILT_IN}
    with pytest.raises(InputError, match="no policy `oracle-classic`"):
        find_policies(["oracle-classic"])
    [mine] = find_policies(["oracle-lines"], {"lines": PROFILE})
    assert mine.sees_future
    assert "`lines`" in mine.about


def test_a_policy_of_ones_own_is_never_told_the_future(tmp_path, monkeypatch):
    """Whatever it says of itself."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = "from holdfast.lab.policy import NamedPolicy"
    name = write_policy(tmp_path, "seer", "assert self.task.later is None\nreturn messages[-1:]", before)
    (tmp_path / "seer.py").write_text(
        (tmp_path / "seer.py").read_text() + '\nSEER = NamedPolicy("seer", Own, sees_future=True)\n'
    )
    for policy in (*find_policies([name], folder=tmp_path), *find_policies(["seer:SEER"], folder=tmp_path)):
        assert not policy.sees_future
        [[score]] = PolicyRun(random_work(1, 10), policy, BUDGET, [BUDGET], SETUP).run()
        assert not score.failures


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> ReplayReport:
    file = write_recordings(tmp_path_factory.mktemp("oracle") / "r.jsonl", fit_recording())
    options = ReplayOptions(
        ("newest", "lines", "oracle-lines"),
        (BUDGET,),
        (PRICES["standard"],),
        profiles={"lines": PROFILE},
        pictures=True,
    )
    sources = RecordingSources((file,))
    return replay(options.varied(), sources, sources.load()[0], ReportOptions(checks=True, draws=2))


@pytest.mark.slow
def test_the_checks_say_that_the_oracle_sees_the_future(report):
    [row] = [row for row in report.rows if row.sees_future]
    assert row.policy == "oracle-lines"
    assert row.checks == {HASHES: "ok", SUFFIX: SEES_FUTURE}
    assert faults_of(row) == []
    assert all(row.checks[SUFFIX] == "ok" for row in report.rows if not row.sees_future)


@pytest.mark.slow
def test_every_table_and_page_says_that_the_oracle_sees_the_future(report):
    label = f"oracle-lines ({SEES_FUTURE})"
    tables = terminal_tables(report)
    named = [str(row[0]) for table in tables for row in table.rows if "oracle" in str(row[0])]
    assert set(named) == {label}
    assert len(named) >= 4
    for text in (write_markdown(report), write_html(report)):
        said = text.replace("\\", "")
        assert label in said
        # In a chart a long name is cut.
        assert said.count("oracle-lines") == said.count("oracle-lines (sees the")


@pytest.mark.slow
def test_the_oracle_is_not_compared_with_policies(report):
    assert "oracle" not in result_sentence(report)
    assert {comparison.reference for comparison in report.comparisons} == {"newest"}
    assert all("oracle-lines" not in found.order for found in report.sensitivity)
