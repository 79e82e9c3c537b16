"""Probes: directives, test states and failures that an agent should still know."""

from holdfast.lab.evidence.needs import MOST_DIRECTIVES, MOST_FAILURES, EvidenceHistory, Probes
from support.evidence import called, read, result, user


def due(*messages):
    history, probes = EvidenceHistory(), Probes()
    for message in read(*messages):
        history.add(message, 10)
        probes.add(message, history)
    return {kind: [need.text for need in needs] for kind, needs in probes.due(history).items()}


def ran(id_, command, text):
    return [called(id_, "Bash", command=command), result(id_, text)]


def test_directives_of_the_user_are_kept_whole():
    asked = user(
        "Please fix the build.\nNever touch api.py, it is generated.\n请不要修改 CHANGELOG 文件里的内容"
    )
    assert due(asked) == {
        "directives": ["Never touch api.py, it is generated.", "请不要修改 CHANGELOG 文件里的内容"]
    }


def test_a_document_is_no_list_of_directives():
    assert due(user("never ever do this again\n" * 400)) == {}


def test_only_so_many_directives_stay_and_none_twice():
    many = [user(f"never do the thing number {i}") for i in range(60)]
    assert len(due(*many, *many)["directives"]) == MOST_DIRECTIVES


def test_the_newest_state_of_the_tests_is_wanted():
    first = ran("c1", "pytest", "collected 12\n3 failed, 9 passed in 1.2s")
    second = ran("c2", "pytest", "12 passed in 1.1s\n")
    assert due(*first)["tests"] == ["3 failed, 9 passed in 1.2s"]
    assert due(*first, *second)["tests"] == ["12 passed in 1.1s"]
    assert "tests" not in due(called("c1", "Read", file_path="a_file"), result("c1", "12 passed in 1.1s"))


def test_a_command_that_failed_is_wanted_until_it_succeeds():
    failed = ran("c1", "make  all", "fatal: no rule to make it")
    assert due(*failed)["failures"] == ["fatal: no rule to make it"]
    assert "failures" not in due(*failed, *ran("c2", "make all", "all is made now"))
    assert "failures" in due(*failed, *ran("c2", "make other", "all is made now"))


def test_only_the_newest_failures_stay():
    many = [m for i in range(6) for m in ran(f"c{i}", f"make {i}", f"error: target {i} is missing")]
    assert due(*many)["failures"] == [f"error: target {i} is missing" for i in range(6 - MOST_FAILURES, 6)]
