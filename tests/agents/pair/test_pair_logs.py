"""How a pair begins and is found again: in a folder of its own, whose log keeps every name that is handed over."""

import pytest

from holdfast.agents.options import AgentOptions
from holdfast.agents.pair.logs import LONGEST_TASK, begin_pair, find_pair, lock_pair, redacted_names
from holdfast.errors import InputError, NotFound
from holdfast.pair.handover import FileNote, Handover, HandoverProblem
from holdfast.store import SqliteStore
from support.pair_runs import pair_of
from support.pair_values import layout_in, write_results


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    return root


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path / "store.db") as store:
        yield store


def begun(root, store, task="Do it."):
    return begin_pair(root, pair_of(), task, ("", ""), store)


def test_outputs_of_another_pair_are_not_taken_for_its_own(root, store):
    layout = layout_in(root)
    layout.prepare(1)
    begun(root, store)
    write_results(layout, 2, 3, {})
    with pytest.raises(InputError, match="`execution_outputs/iteration_2` exists already") as error:
        begun(root, store)
    assert "move `execution_outputs` away" in error.value.hint
    assert len([*store.logs()]) == 1, "it left no log behind"
    (root / "execution_outputs").rename(root / "earlier")
    begun(root, store)


def test_two_pairs_do_not_work_in_one_folder_whatever_store_they_are_in(root, store, tmp_path):
    first = begun(root, store)
    close = lock_pair(tmp_path / "store.db", first.log, root)
    with SqliteStore(tmp_path / "other.db") as other:
        with pytest.raises(InputError, match="another pair works in"):
            begun(root, other)
        assert [*other.logs()] == []
    close()
    second = begun(root, store)
    close = lock_pair(tmp_path / "store.db", second.log, root)
    with pytest.raises(InputError, match="another pair works in"):
        lock_pair(tmp_path / "store.db", first.log, root)
    close()
    lock_pair(tmp_path / "store.db", first.log, root)()


def test_one_that_came_from_elsewhere_holds_the_folder_it_works_in(root, store, tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    close = lock_pair(tmp_path / "store.db", begun(root, store).log, here)
    with pytest.raises(InputError, match="another pair works in"):
        begun(here, store)
    begun(root, store)
    close()


def test_who_finds_no_pair_is_told_of_those_from_elsewhere(root, store, tmp_path):
    with pytest.raises(NotFound) as error:
        find_pair(AgentOptions(root=root), store)
    assert "--log" not in error.value.hint
    begun(root, store)
    with pytest.raises(NotFound) as error:
        find_pair(AgentOptions(root=tmp_path), store)
    assert "`--log ID`" in error.value.hint


@pytest.mark.parametrize("is_file", [False, True], ids=["given", "file"])
def test_a_task_has_a_length(root, store, is_file):
    text = "x" * (LONGEST_TASK + 1)
    (root / "task.md").write_text(text)
    with pytest.raises(InputError, match="is too long: 100001 characters"):
        begun(root, store, "" if is_file else text)
    assert begun(root, store, text[1:]).task == text[1:]


def handover(path, sample="s01"):
    return Handover(
        summary="s", asks="a", files=(FileNote(path),), problems=(HandoverProblem("p", 1, "low", (sample,)),)
    )


def test_a_name_that_looks_like_a_secret_is_refused_since_no_log_keeps_it():
    ordinary = "traces/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08.json"
    assert [*redacted_names(handover(ordinary))] == []
    secret = "AKIA" + "IOSFODNN7EXAMPLQ"
    for made in (handover(f"a/{secret}.md"), handover("a.md", secret)):
        (sentence,) = redacted_names(made)
        assert "looks like a secret, which no log keeps: rename it" in sentence
        assert secret not in sentence
