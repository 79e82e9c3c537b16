"""AskUser: a person, a policy or prepared answers, and the model is told which."""

import asyncio

import pytest

from holdfast.errors import InputError
from holdfast.tools.ask_user import (
    NoAnswer,
    PreparedAnswers,
    UserReply,
    ask_user_tool,
    load_answers,
)
from holdfast.tools.workspace import Workspace

DATABASE = {
    "question": "Which database shall it use?",
    "options": [{"label": "SQLite", "description": "One file."}, {"label": "Postgres"}],
}
SYSTEMS = {
    "question": "Which systems?",
    "options": [{"label": "Linux"}, {"label": "macOS"}, {"label": "Windows"}],
    "multiple": True,
}


class Person:
    def __init__(self, *replies):
        self.replies = replies

    async def answer(self, _questions):
        return self.replies


@pytest.fixture
def ask(tmp_path):
    def ask(responder, *questions):
        return asyncio.run(
            ask_user_tool(responder).run({"questions": list(questions)}, Workspace([tmp_path]))
        )

    return ask


def test_a_person_chooses_or_answers_in_their_own_words(ask):
    person = Person(UserReply(("Postgres",)), UserReply(("Linux", "macOS"), "but not the old ones"))
    result = ask(person, DATABASE, SYSTEMS)
    assert result.envelope.text == (
        "Question: Which database shall it use?\nAnswer: Postgres\n"
        'Question: Which systems?\nAnswer: Linux; macOS; in their own words: "but not the old ones"'
    )
    assert result.envelope.status == "success"
    assert result.envelope.data["answers"][1] == {
        "question": "Which systems?",
        "chosen": ["Linux", "macOS"],
        "text": "but not the old ones",
        "by": "the user",
    }


def test_what_is_no_label_or_one_too_many_is_kept_as_words(ask):
    result = ask(Person(UserReply(("SQLite", "Postgres", "DuckDB"))), DATABASE)
    assert result.envelope.data["answers"][0]["chosen"] == ["SQLite"]
    assert result.envelope.data["answers"][0]["text"] == "Postgres; DuckDB"


def test_unattended_the_model_decides_and_says_so(ask):
    result = ask(NoAnswer(), DATABASE)
    assert result.envelope.status == "partial"
    assert not result.is_error
    assert "No answer: nobody was there to give one." in result.envelope.text
    assert "decide yourself, continue, and say in your reply what you assumed" in result.envelope.text


class FirstOption:
    async def answer(self, questions):
        return [UserReply((one.options[0].label,), by="the policy `first option`") for one in questions]


def test_a_policy_is_never_passed_off_as_a_person(ask):
    result = ask(FirstOption(), DATABASE)
    assert result.envelope.text.endswith(
        "Answer: SQLite (chosen by the policy `first option`, not by the user)"
    )
    assert result.envelope.data["answers"][0]["by"] == "the policy `first option`"


def test_prepared_answers_fit_by_the_longest_part_of_the_question(ask):
    answers = {"which": ["no"], "DATABASE": ["postgres"], "systems": ["linux", "Plan 9"]}
    prepared = PreparedAnswers(answers)
    first, second = ask(prepared, DATABASE, SYSTEMS).envelope.data["answers"]
    assert first["chosen"] == ["Postgres"]
    assert (second["chosen"], second["text"]) == (["Linux"], "Plan 9")
    assert first["by"] == "answers prepared by the user"


def test_what_was_not_prepared_has_no_answer(ask):
    prepared = PreparedAnswers({"database": ["SQLite"]})
    assert ask(prepared, DATABASE, SYSTEMS).envelope.data["answers"][1]["chosen"] == []


@pytest.mark.parametrize("name", ["answers.toml", "answers.json"])
def test_prepared_answers_stand_in_a_file(ask, tmp_path, name):
    text = '"database" = "Postgres"\n' if name.endswith("toml") else '{"database": "Postgres"}'
    (tmp_path / name).write_text(text)
    assert ask(load_answers(tmp_path / name), DATABASE).envelope.data["answers"][0]["chosen"] == ["Postgres"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.toml", "x = 3\n", "the answer to `x` must be a text or a list of texts, not the number 3"),
        ("a.toml", "x = []\n", "not a list"),
        ("a.toml", "x\n", "is not valid TOML"),
        ("a.json", "[1]", "must hold a table of questions and answers, not a list"),
        ("none.toml", None, "cannot be read"),
    ],
    ids=["number", "empty", "broken", "list", "missing"],
)
def test_a_wrong_file_is_named(tmp_path, name, text, said):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        load_answers(tmp_path / name)
    assert said in caught.value.message
    assert name in caught.value.message


def test_fields_that_other_agents_have_are_ignored_and_named(ask):
    with_header = {
        **DATABASE,
        "header": "DB",
        "options": [{**DATABASE["options"][0], "icon": "x"}, {"label": "b"}],
    }
    result = ask(Person(UserReply(("b",))), with_header)
    assert result.envelope.status == "success"
    assert result.envelope.text.endswith(
        "Answer: b\n(AskUser has no argument `header`, `icon`, which was ignored.)"
    )
    assert result.parts[0].text == result.envelope.text


@pytest.mark.parametrize(
    ("questions", "said"),
    [
        ([], "questions"),
        ([DATABASE] * 5, "questions"),
        ([{**DATABASE, "options": [{"label": "only"}]}], "options"),
        ([{**DATABASE, "options": [{"label": str(n)} for n in range(7)]}], "options"),
        ([DATABASE, {**DATABASE, "options": [{"label": "x"}, {"label": "x "}]}], "two options of question 2"),
        ([{**DATABASE, "question": "  "}], "question 1 has an empty text"),
    ],
    ids=["none", "many", "one option", "seven options", "twice", "blank"],
)
def test_wrong_questions_are_refused_before_anyone_is_asked(ask, questions, said):
    result = ask(Person(), *questions)
    assert result.envelope.error.code == "INVALID_PARAM"
    assert said in result.envelope.text
