"""AskUser: questions with options, answered by whoever stands behind the respondent.

Rule: the model reads who answered. A policy's answer is never passed off as a person's.
"""

from collections.abc import Sequence
from typing import Annotated, Protocol

from msgspec import Meta, Struct

from holdfast.messages import Json
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, answered
from holdfast.tools.protocol import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

PERSON = "the user"
NOBODY = "nobody"


class Option(Struct, frozen=True, forbid_unknown_fields=True):
    label: Annotated[str, Meta(min_length=1, max_length=100, description="The choice in a few words.")]
    description: Annotated[str, Meta(max_length=500, description="What follows from it.")] = ""


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    question: Annotated[str, Meta(min_length=1, max_length=1000, description="The whole question.")]
    options: Annotated[
        list[Option], Meta(min_length=2, max_length=6, description="The one you recommend stands first.")
    ]
    multiple: Annotated[bool, Meta(description="Several options may be chosen.")] = False


class AskArguments(Struct, frozen=True, forbid_unknown_fields=True):
    questions: Annotated[list[Question], Meta(min_length=1, max_length=4)]


class Reply(Struct, frozen=True):
    """Labels that were chosen, words of one's own, or both; `by` says whose they are."""

    chosen: tuple[str, ...] = ()
    text: str = ""
    by: str = PERSON

    @property
    def is_empty(self) -> bool:
        return not self.chosen and not self.text.strip()


class Respondent(Protocol):
    """**Contract:** one reply for each question, in their order; an empty one where there is no answer."""

    async def answer(self, questions: Sequence[Question]) -> Sequence[Reply]: ...


def ask_tool(respondent: Respondent) -> Tool:
    async def ask(arguments: AskArguments, _workspace: Workspace) -> ToolResult:
        for number, question in enumerate(arguments.questions, start=1):
            _expect_choice(question, number)
        replies = await respondent.answer(arguments.questions)
        assert len(replies) == len(arguments.questions), "a respondent answers every question"
        return _result(arguments.questions, replies)

    return TypedTool("AskUser", AskArguments, prompt_beside(__file__), ask)


def _expect_choice(question: Question, number: int) -> None:
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


def _result(questions: Sequence[Question], replies: Sequence[Reply]) -> ToolResult:
    answers = [_legal(reply, question) for question, reply in zip(questions, replies, strict=True)]
    unanswered = sum(reply.is_empty for reply in answers)
    lines = [_lines(question, reply) for question, reply in zip(questions, answers, strict=True)]
    if unanswered:
        lines.append(
            "Where there is no answer, decide yourself, go on, and say in your reply what you assumed and why."
        )
    data: dict[str, Json] = {
        "answers": [
            {"question": q.question, "chosen": list(r.chosen), "text": r.text, "by": r.by}
            for q, r in zip(questions, answers, strict=True)
        ],
        "unanswered": unanswered,
    }
    envelope = Envelope(status="partial" if unanswered else "success", text="\n".join(lines), data=data)
    return answered(envelope, "; ".join(_in_words(reply) for reply in answers))


def _legal(reply: Reply, question: Question) -> Reply:
    """A reply that fits its question: what is no label, or one too many, counts as the person's own words."""
    labels = {option.label for option in question.options}
    known = [label for label in dict.fromkeys(reply.chosen) if label in labels]
    kept = known if question.multiple else known[:1]
    own = [label for label in reply.chosen if label not in kept]
    return Reply(
        tuple(kept), "; ".join([*own, *([reply.text.strip()] if reply.text.strip() else [])]), reply.by
    )


def _lines(question: Question, reply: Reply) -> str:
    if reply.is_empty:
        return f"Question: {question.question}\nNo answer: {reply.by} was there to give one."
    by = "" if reply.by == PERSON else f" (chosen by {reply.by}, not by the user)"
    return f"Question: {question.question}\nAnswer: {_in_words(reply)}{by}"


def _in_words(reply: Reply) -> str:
    own = [f'in their own words: "{reply.text}"'] if reply.text else []
    return "; ".join([*reply.chosen, *own]) or "no answer"
