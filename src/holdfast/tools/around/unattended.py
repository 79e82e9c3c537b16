"""Who answers AskUser when no person is there.

Rule: each is a value that says what it does; none of them waits.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.errors import InputError, found
from holdfast.messages import Json
from holdfast.tools.around.ask_user import NOBODY, Question, Reply, Respondent


class DecideYourself(Struct, frozen=True):
    """No answer: the model decides and says what it assumed. What holds unless something else is asked for."""

    async def answer(self, questions: Sequence[Question]) -> Sequence[Reply]:
        return [Reply(by=NOBODY) for _ in questions]


class FirstOption(Struct, frozen=True):
    """The first option, which the model recommends."""

    async def answer(self, questions: Sequence[Question]) -> Sequence[Reply]:
        return [Reply((question.options[0].label,), by="the policy `first option`") for question in questions]


class Prepared(Struct, frozen=True):
    """Answers given beforehand, by the question's text or a part of it; upper and lower case are the same.

    The longest key that stands in a question is the one that answers it. What is no label of the question counts as
    words of one's own, and what has no answer goes on to `otherwise`.
    """

    answers: dict[str, list[str]]
    otherwise: Respondent = DecideYourself()

    async def answer(self, questions: Sequence[Question]) -> Sequence[Reply]:
        rest = list(await self.otherwise.answer(questions))
        return [self._reply(question) or other for question, other in zip(questions, rest, strict=True)]

    def _reply(self, question: Question) -> Reply | None:
        asked = question.question.casefold()
        keys = [key for key in self.answers if key.casefold() in asked]
        if not keys:
            return None
        labels = {option.label.casefold(): option.label for option in question.options}
        given = [labels.get(word.casefold(), word) for word in self.answers[max(keys, key=len)]]
        return Reply(tuple(given), by="answers prepared by the user")


def prepared_answers(table: Mapping[str, Json], where: str, otherwise: Respondent | None = None) -> Prepared:
    """Answers from a table: a text or a list of texts for each question."""
    answers: dict[str, list[str]] = {}
    for question, given in table.items():
        listed = given if isinstance(given, list) else [given]
        if not question.strip() or not listed or not all(isinstance(x, str) and x.strip() for x in listed):
            raise InputError(
                f"{where}: the answer to `{question}` must be a text or a list of texts, not {found(given)}",
                hint='write for example "Which database" = "SQLite"',
            )
        answers[question] = listed
    return Prepared(answers, otherwise or DecideYourself())


def load_answers(path: Path, otherwise: Respondent | None = None) -> Prepared:
    """Answers from a file: TOML, or JSON if its name says so."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the answers in {path} cannot be read: {error}") from error
    try:
        table = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except ValueError as error:
        raise InputError(
            f"{path} is no valid {path.suffix.lstrip('.').upper() or 'TOML'}: {error}"
        ) from error
    if not isinstance(table, dict):
        raise InputError(f"{path} must hold a table of questions and answers, not {found(table)}")
    return prepared_answers(table, str(path), otherwise)
