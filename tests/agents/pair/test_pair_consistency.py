"""If one of the three logs of a pair is older than the others, it is named and nothing is resumed."""

import pytest

from holdfast.errors import NotFound
from holdfast.log import Log, export_log, import_log
from holdfast.store import SqliteStore
from support.pair_approvals import DESIGNED, PLAN
from support.pair_runs import PairRun, hand_over, write

HM = ["hm"] * 3
BACK = hand_over("out.txt", verdict="return")


@pytest.fixture
def pair_run(tmp_path):
    return PairRun(tmp_path)


def exported(pair_run):
    with SqliteStore(pair_run.store) as store:
        return {info.head.id: [*export_log(Log.open(store, info.head.id))] for info in store.logs()}


def brought(pair_run, logs):
    """These logs in another store; the id of the pair's."""
    pair_run.store = pair_run.store.with_name("there.db")
    with SqliteStore(pair_run.store) as store:
        for one in logs.values():
            import_log(store, one)
    return min(logs, key=len)


def test_a_log_of_the_pair_that_is_older_than_its_agents_is_named(pair_run):
    pair_run.run([PLAN, *HM], [])
    before = exported(pair_run)
    pair_run.run([DESIGNED, write("plan.md", "2", "w2"), *HM], [write("out.txt", "x"), BACK], goes_on=True)
    pair = min(before, key=len)
    brought(pair_run, {**exported(pair_run), pair: before[pair]})
    with pytest.raises(
        NotFound, match=f"the log `{pair}` of the pair has 1 of 2 turns of `planner`"
    ) as error:
        pair_run.run([], [], goes_on=True)
    assert f"holdfast logs export {pair}`" in error.value.hint


@pytest.mark.parametrize("role", ["planner", "worker"])
def test_a_log_of_an_agent_that_is_older_within_its_turn_is_named(pair_run, role):
    pair_run.run([PLAN, *HM], [])
    before = exported(pair_run)
    if role == "worker":
        pair_run.run([DESIGNED], [write("out.txt", "x"), *HM], goes_on=True)
        before = exported(pair_run)
        pair_run.run([write("plan.md", "2", "w2"), *HM], [BACK], goes_on=True)
    else:
        pair_run.run([DESIGNED], HM, goes_on=True)
    log = next(id_ for id_ in before if id_.endswith(f".{role}"))
    brought(pair_run, {**exported(pair_run), log: before[log]})
    what = f"the log `{log}` of `{role}` has no handover of turn 1, which the pair's log has"
    with pytest.raises(NotFound, match=what):
        pair_run.run([], [], goes_on=True)


def test_logs_that_belong_together_go_on(pair_run):
    pair_run.run([PLAN, DESIGNED, *HM], [write("out.txt", "x"), BACK])
    brought(pair_run, exported(pair_run))
    done = pair_run.run([DESIGNED], [hand_over("out.txt", verdict="stop")], goes_on=True)
    assert done.reason == "done"
