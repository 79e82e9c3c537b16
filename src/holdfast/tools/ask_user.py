"""AskUser: questions with options, answered by a responder: a person, or a policy when nobody is there.

Rule: the model reads who answered. A policy's answer is never passed off as a person's, and no policy waits.
"""

import asyncio
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Protocol

from msgspec import Meta, Struct

from holdfast.errors import InputError, describe_value
from holdfast.messages import Json
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

PERSON = "the user"
NOBODY = "nobody"


class QuestionOption(Struct, frozen=True, forbid_unknown_fields=True):
    label: Annotated[str, Meta(min_length=1, max_length=100, description="The choice in a few words.")]
    description: Annotated[str, Meta(max_length=500, description="What follows from it.")] = ""


class UserQuestion(Struct, frozen=True, forbid_unknown_fields=True):
    question: Annotated[str, Meta(min_length=1, max_length=1000, description="The whole question.")]
    options: Annotated[
        list[QuestionOption],
        Meta(min_length=2, max_length=6, description="Put the option you recommend first."),
    ]
    multiple: Annotated[bool, Meta(description="Several options may be chosen.")] = False


class AskUserArguments(Struct, frozen=True, forbid_unknown_fields=True):
    questions: Annotated[list[UserQuestion], Meta(min_length=1, max_length=4)]


class UserReply(Struct, frozen=True):
    """The chosen labels, the person's own words, or both; `by` says who answered."""

    chosen: tuple[str, ...] = ()
    text: str = ""
    by: str = PERSON

    @property
    def is_empty(self) -> bool:
        return not self.chosen and not self.text.strip()


class Responder(Protocol):
    """**Contract:** one reply for each question, in order; an empty one if there is no answer."""

    async def answer(self, questions: Sequence[UserQuestion]) -> Sequence[UserReply]: ...


def ask_user_tool(responder: Responder) -> Tool:
    async def ask(arguments: AskUserArguments, _workspace: Workspace) -> ToolResult:
        for number, question in enumerate(arguments.questions, start=1):
            _expect_choice(question, number)
        try:
            replies = await responder.answer(arguments.questions)
        except asyncio.CancelledError:
            # A question is no reading, but it has no effect that could be uncertain either.
            raise ToolError("EXECUTION_ERROR", "AskUser was interrupted; nothing was changed") from None
        assert len(replies) == len(arguments.questions), "a responder answers every question"
        return _result(arguments.questions, replies)

    return TypedTool("AskUser", AskUserArguments, prompt_beside(__file__), ask, ignores_unknown=True)


def _expect_choice(question: UserQuestion, number: int) -> None:
    labels = [option.label.strip() for option in question.options]
    if not question.question.strip() or not all(labels):
        raise ToolError("INVALID_PARAM", f"question {number} has an empty text or label")
    twice = next((label for label in labels if labels.count(label) > 1), "")
    if twice:
        raise ToolError(
            "INVALID_PARAM",
            f"two options of question {number} are called `{twice}`",
            hint="Give each option a label of its own",
        )


def _result(questions: Sequence[UserQuestion], replies: Sequence[UserReply]) -> ToolResult:
    answers = [_legal(reply, question) for question, reply in zip(questions, replies, strict=True)]
    unanswered = sum(reply.is_empty for reply in answers)
    lines = [_lines(question, reply) for question, reply in zip(questions, answers, strict=True)]
    if unanswered:
        lines.append(
            "Where there is no answer, decide yourself, continue, and say in your reply what you assumed and why."
        )
    data: dict[str, Json] = {
        "answers": [
            {"question": q.question, "chosen": list(r.chosen), "text": r.text, "by": r.by}
            for q, r in zip(questions, answers, strict=True)
        ],
        "unanswered": unanswered,
    }
    shown = "; ".join(map(_in_words, answers))
    return tool_result("\n".join(lines), shown, data=data, is_partial=bool(unanswered))


def _legal(reply: UserReply, question: UserQuestion) -> UserReply:
    """A reply that fits its question: what is not a label, or is one too many, counts as the person's own words."""
    labels = {option.label for option in question.options}
    known = [label for label in dict.fromkeys(reply.chosen) if label in labels]
    kept = known if question.multiple else known[:1]
    own = [*(label for label in reply.chosen if label not in kept), reply.text.strip()]
    return UserReply(tuple(kept), "; ".join(filter(None, own)), reply.by)


def _lines(question: UserQuestion, reply: UserReply) -> str:
    if reply.is_empty:
        return f"Question: {question.question}\nNo answer: {reply.by} was there to give one."
    by = "" if reply.by == PERSON else f" (chosen by {reply.by}, not by the user)"
    return f"Question: {question.question}\nAnswer: {_in_words(reply)}{by}"


def _in_words(reply: UserReply) -> str:
    own = [f'in their own words: "{reply.text}"'] if reply.text else []
    return "; ".join([*reply.chosen, *own]) or "no answer"


class NoAnswer(Struct, frozen=True):
    """No answer: the model decides and says what it assumed. This is the default."""

    async def answer(self, questions: Sequence[UserQuestion]) -> Sequence[UserReply]:
        return [UserReply(by=NOBODY) for _ in questions]


class PreparedAnswers(Struct, frozen=True):
    """Answers given in advance, by the text of the question or a part of it, ignoring case.

    The longest key that occurs in a question answers it. What is not a label counts as the person's own words.
    """

    answers: dict[str, list[str]]

    async def answer(self, questions: Sequence[UserQuestion]) -> Sequence[UserReply]:
        return [self._reply(question) for question in questions]

    def _reply(self, question: UserQuestion) -> UserReply:
        asked = question.question.casefold()
        keys = [key for key in self.answers if key.casefold() in asked]
        if not keys:
            return UserReply(by=NOBODY)
        labels = {option.label.casefold(): option.label for option in question.options}
        given = [labels.get(word.casefold(), word) for word in self.answers[max(keys, key=len)]]
        return UserReply(tuple(given), by="answers prepared by the user")


def load_answers(path: Path) -> PreparedAnswers:
    """Answers from a file, TOML, or JSON if its name says so: a text or a list of texts for each question."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        hint = "check the path; the file has an answer for each question"
        raise InputError(f"the answers in `{path}` cannot be read: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8", hint="save it as UTF-8") from error
    try:
        table = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except ValueError as error:
        kind = path.suffix.lstrip(".").upper() or "TOML"
        raise InputError(f"{path} is not valid {kind}: {error}") from error
    if not isinstance(table, dict):
        raise InputError(f"{path} must hold a table of questions and answers, not {describe_value(table)}")
    answers: dict[str, list[str]] = {}
    for question, given in table.items():
        listed = given if isinstance(given, list) else [given]
        if not question.strip() or not listed or not all(isinstance(x, str) and x.strip() for x in listed):
            raise InputError(
                f"{path}: the answer to `{question}` must be a text or a list of texts, "
                f"not {describe_value(given)}",
                hint='write for example "Which database" = "SQLite"',
            )
        answers[question] = listed
    return PreparedAnswers(answers)
