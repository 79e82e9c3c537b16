"""Directives that a user took back later are no longer said to hold."""

import pytest

from holdfast.compaction.facts.extract import extract_facts
from holdfast.compaction.facts.withdrawals import taken_back
from holdfast.compaction.forms import FORMS
from holdfast.session import Session


@pytest.mark.parametrize(
    ("directive", "later", "is_taken_back"),
    [
        ("Don't commit yet.", "Looks good. Commit it.", True),
        ("Don't commit yet.", "ok now you can commit", True),
        ("Don't commit yet.", "Why did you commit?", False),
        ("Don't commit yet.", "I said: don't commit!", False),
        ("don't push", "go ahead and push the branch", True),
        ("Hold off on deploying.", "Deploy it.", True),
        ("Never push to main.", "Push to main now.", True),
        ("Never delete a test.", "Delete the temp file.", False),
        ("Never delete a test.", "Delete it.", False),
        ("Don't add tests.", "Add tests for the parser.", True),
        ("Don't add tests.", "Add a parser.", False),
        ("Do not commit without asking.", "Commit.", False),
        ("Do not touch src/legacy.", "Please touch up the docs.", False),
        ("Keep it fast.", "Make it slow.", False),
        ("先不要提交。", "看起来不错，提交吧。", True),
        ("不要修改测试", "可以修改测试了", True),
        ("先不要提交。", "还是不要提交。", False),
        ("永远不要删除日志。", "删除吧。", False),
    ],
)
def test_what_takes_a_directive_back(directive, later, is_taken_back):
    assert taken_back(directive, [later]) is is_taken_back


def session_of(*said):
    session = Session(budget="32k")
    for number, text in enumerate(said):
        session.append({"role": "user", "content": text}, {"role": "assistant", "content": f"Done {number}."})
    return session


def test_a_summary_says_what_was_taken_back_and_no_longer_that_it_holds():
    session = session_of("Fix the parser. Don't commit yet. Never touch docs/.", "Looks good. Commit it.")
    facts = extract_facts(session.window.view().transcript)
    assert [fact.text for fact in facts.directives] == ["Never touch docs/."]
    form = FORMS["five_sections"]
    state = form.render(form.fill(facts, archive=False))
    assert "The user took back: “Don't commit yet.”" in state
    assert "The user: “Don't commit yet.”" not in state
    assert "Latest request: “Looks good. Commit it.”" in state
    archive = form.render(form.fill(facts, archive=True), archive=True)
    assert "took back" not in archive
    assert "Latest request" not in archive


def test_an_archive_of_the_time_before_knows_what_was_taken_back_since():
    session = session_of("Fix the parser. Don't commit yet.", "Commit it.")
    before = extract_facts(session.window.view().transcript, 0, 2)
    assert before.directives == ()
    assert [fact.text for fact in before.withdrawn] == ["Don't commit yet."]
    repeated = session_of("Don't commit yet.", "Commit it.", "Don't commit yet.")
    facts = extract_facts(repeated.window.view().transcript)
    assert [fact.text for fact in facts.directives] == ["Don't commit yet."]
