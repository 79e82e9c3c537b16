"""A rule knows what the author says: it is one step less severe and shows the sentence, and hides nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.review.finding import SEVERITIES
from holdfast.review.intent import ChangeIntent
from holdfast.review.report import to_markdown
from holdfast.review.review import start_review
from support.review_repos import Repo
from support.review_values import finding

TESTS = "def test_a():\n    assert f(1) == 2\n    assert f(2) == 3\n\n\ndef test_b():\n    assert g() == 1\n"
LESS = "def test_b():\n    assert g() == 1\n"


def review(tmp_path, message, about=""):
    repo = Repo(tmp_path)
    repo.commit({"tests/test_x.py": TESTS, "x.py": "def f(n):\n    return n + 1\n"})
    repo.write("tests/test_x.py", LESS)
    repo.git("commit", "-qam", message)
    return start_review(repo.folder, "HEAD", about=about)


def test_deleted_tests_that_the_message_explains_are_less_severe_and_keep_their_id(tmp_path):
    (silent,) = review(tmp_path / "a", "Tidy up").findings.kept
    explained = review(tmp_path / "b", "Tidy up\n\nRemove a test that is\nredundant now. Thanks.")
    (said,) = explained.findings.kept
    assert (silent.severity, silent.explained) == ("medium", "")
    assert (said.severity, said.explained) == ("low", "Remove a test that is redundant now.")
    assert said.id == silent.id
    assert "The author says: Remove a test that is redundant now." in to_markdown(explained.report())
    (told,) = review(tmp_path / "c", "Tidy up", about="Clean-up\n\n- deletes the test of f").findings.kept
    assert told.explained == "- deletes the test of f"


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("deleted-test", "The tests of the old parser are obsolete."),
        ("deleted-test", "删除了重复的测试。"),
        ("deleted-test", 'Revert "Find the test binary by its name (#12)"'),
        ("deleted-test", "Redesigned tests and the pager to be more clear."),
        ("weakened-test", "Reverts commit 0123abc."),
        ("skipped-test", "Disable the flaky upload test until the server is back."),
        ("weakened-test", "Relax the assertion: the order is undefined."),
        ("lock-without-manifest", "Bump transitive dependencies."),
        ("lock-not-updated", "uv.lock is not updated: the release does that."),
        ("executable-mode", "chmod +x: the container starts it."),
    ],
)
def test_a_sentence_about_it_explains_a_rule(rule, sentence):
    given = finding(rule=rule, severity="medium")
    found = ChangeIntent(("Subject\n\nMore. " + sentence,)).explain(given)
    assert (found.severity, found.explained) == ("low", sentence)


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("deleted-test", "No tests are removed."),
        ("deleted-test", "Rewrite the parser and revert its flag."),
        ("deleted-test", "Remove the old parser. Add tests."),
        ("deleted-test", "没有删除测试。"),
        ("secret", "Remove the test, disable it, update the lock file, chmod it."),
        ("", "Remove the test."),
    ],
)
def test_other_sentences_and_rules_change_nothing(rule, sentence):
    given = finding(rule=rule, severity="medium")
    assert ChangeIntent((sentence,), sentence).explain(given) == given


@given(st.text(), st.sampled_from(SEVERITIES), st.sampled_from(["deleted-test", "executable-mode", "secret"]))
def test_no_message_hides_a_finding(text, severity, rule):
    given = finding(rule=rule, severity=severity)
    found = ChangeIntent((text + " chmod, remove tests",), text).explain(given)
    assert SEVERITIES.index(given.severity) - SEVERITIES.index(found.severity) in (0, 1)
    assert (found.claim, found.line) == (given.claim, given.line)
