"""What a person is asked in the editor: for approvals, and the agent's own questions.

Rule: only what a person chose counts as their answer; a dialog that was closed denies, and answers nothing.
"""

from collections.abc import Iterator, Mapping, Sequence

from acp.exceptions import RequestError
from acp.helpers import text_block, tool_content
from acp.interfaces import Client
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ElicitationFormSessionMode,
    ElicitationMultiSelectPropertySchema,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    EnumOption,
    PermissionOption,
    PermissionOptionKind,
    TitledMultiSelectItems,
    ToolCallUpdate,
)

from holdfast.agents.acp.tool_calls import CallContent
from holdfast.agents.commands.markdown import code
from holdfast.events import ApprovalScope
from holdfast.messages import Json
from holdfast.tools.ask_user import NOBODY, UserQuestion, UserReply
from holdfast.tools.permissions.gate import ApprovalAnswer, ApprovalQuestion, PlaceName

NO_ANSWER = "no-answer"
DONE = "done"
ALWAYS = "always-"
"""An option that keeps rules begins with it; the place follows."""
PLACES: dict[PlaceName, str] = {
    "folder": "for you, in this folder",
    "everywhere": "for you, everywhere",
    "project": "for everyone in this project",
}
CHOICE, WORDS = "choice", "words"
"""Names of a form's fields, each followed by the number of its question."""

FormField = ElicitationStringPropertySchema | ElicitationMultiSelectPropertySchema


async def ask_approval(
    client: Client, session: str, call: ToolCallUpdate, question: ApprovalQuestion
) -> ApprovalAnswer:
    try:
        chosen = await _choose(client, session, call, approval_options(question))
    except (RequestError, ConnectionError) as error:
        return ApprovalAnswer("deny", f"the editor could not ask: {error}", by="policy")
    place = next((one.name for one in question.places if chosen == f"{ALWAYS}{one.name}"), None)
    if place is not None:
        return ApprovalAnswer("pattern", place=place)
    decisions: dict[str, ApprovalScope] = {"once": "once", "log": "log", ALWAYS: "pattern"}
    return ApprovalAnswer(decisions.get(chosen, "deny"))


def approval_options(question: ApprovalQuestion) -> list[PermissionOption]:
    return [
        _option("once", "Allow once", "allow_once"),
        _option("log", "Allow this again in this session", "allow_always"),
        *_always(question),
        _option("deny", "Reject", "reject_once"),
    ]


def _always(question: ApprovalQuestion) -> Iterator[PermissionOption]:
    """An option for each place where the offered rules can be kept."""
    rules = " and ".join(question.offered_rules)
    if not rules:
        return
    for place in question.places:
        yield _option(f"{ALWAYS}{place.name}", f"Always allow {rules} ({PLACES[place.name]})", "allow_always")
    if not question.places:
        yield _option(ALWAYS, f"Allow {rules} in this session", "allow_always")


def approval_reason(question: ApprovalQuestion) -> CallContent:
    lines = [f"Asked because: {question.reason}."]
    if question.denied_before:
        why = "" if question.denied_before == "-" else f": {question.denied_before}"
        lines.append(f"You rejected this call before{why}.")
    return tool_content(text_block("\n\n".join(lines)))


async def ask_form(
    client: Client, session: str, id_: str, questions: Sequence[UserQuestion]
) -> Sequence[UserReply]:
    """The agent's questions in one form, with room for words of one's own."""
    fields: dict[str, FormField] = {}
    for number, question in enumerate(questions):
        fields[f"{CHOICE}{number}"] = _choice_field(question)
        fields[f"{WORDS}{number}"] = ElicitationStringPropertySchema(type="string", title="In your own words")
    form = ElicitationFormSessionMode(
        session_id=session,
        tool_call_id=id_,
        requested_schema=ElicitationSchema(type="object", properties=dict(fields)),
    )
    message = "\n".join(question.question for question in questions)
    try:
        response = await client.create_elicitation(message=message, mode=form)
    except (RequestError, ConnectionError):
        return [UserReply(by=NOBODY) for _ in questions]
    given = response.content if isinstance(response, AcceptElicitationResponse) else None
    return [_form_reply(given or {}, number) for number in range(len(questions))]


def _choice_field(question: UserQuestion) -> FormField:
    options = [
        EnumOption(const=one.label, title=one.label, description=one.description or None)
        for one in question.options
    ]
    if not question.multiple:
        return ElicitationStringPropertySchema(type="string", title=question.question, one_of=options)
    items = TitledMultiSelectItems(any_of=options)
    return ElicitationMultiSelectPropertySchema(type="array", title=question.question, items=items)


def _form_reply(given: Mapping[str, Json], number: int) -> UserReply:
    """The tool checks which of the words are labels."""
    chosen, words = given.get(f"{CHOICE}{number}"), given.get(f"{WORDS}{number}")
    listed = chosen if isinstance(chosen, list) else [chosen]
    labels = tuple(one for one in listed if isinstance(one, str) and one)
    return UserReply(labels, words if isinstance(words, str) else "")


async def ask_question(client: Client, session: str, id_: str, question: UserQuestion) -> UserReply:
    """A question of the agent, for an editor without forms. Of several answers each is asked for in turn, until the
    person is done."""
    chosen: list[str] = []
    while len(chosen) < len(question.options):
        options = [
            _option(str(n), option.label, "allow_once")
            for n, option in enumerate(question.options)
            if option.label not in chosen
        ]
        last = _option(DONE, "That is all", "allow_once") if chosen else None
        options.append(last or _option(NO_ANSWER, "No answer", "reject_once"))
        call = ToolCallUpdate(
            tool_call_id=id_, title=question.question, kind="other", content=[_explained(question, chosen)]
        )
        try:
            answer = await _choose(client, session, call, options)
        except (RequestError, ConnectionError):
            return UserReply(by=NOBODY)
        if not answer.isdecimal():
            break
        chosen.append(question.options[int(answer)].label)
        if not question.multiple:
            break
    return UserReply(tuple(chosen))


def _explained(question: UserQuestion, chosen: Sequence[str]) -> CallContent:
    rows = [f"- {code(one.label)}: {one.description}" for one in question.options if one.description]
    said = [f"Chosen so far: {', '.join(map(code, chosen))}"] if chosen else []
    return tool_content(text_block("\n".join([question.question, "", *rows, *said])))


def _option(id_: str, name: str, kind: PermissionOptionKind) -> PermissionOption:
    return PermissionOption(option_id=id_, name=name, kind=kind)


async def _choose(client: Client, session: str, call: ToolCallUpdate, options: list[PermissionOption]) -> str:
    """The id of the option that the person chose; empty if they chose none."""
    response = await client.request_permission(session_id=session, tool_call=call, options=options)
    chosen = response.outcome.option_id if isinstance(response.outcome, AllowedOutcome) else ""
    return chosen if any(one.option_id == chosen for one in options) else ""
