"""A user's program, read by a strict type checker and never run."""

from typing import Any, assert_type

import holdfast
from holdfast import (
    Agent,
    Ask,
    CallFinished,
    ContextOverflow,
    Done,
    FoldMade,
    HoldfastError,
    Image,
    Notice,
    Packed,
    Profile,
    Replied,
    RunLimits,
    ScriptedModel,
    Session,
    Stop,
    TextDelta,
    ToolCall,
    pack,
    run,
    run_sync,
    tool,
)


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


@tool(name="picture", is_read_only=True)
async def draw(words: str, size: int = 1) -> Image:
    """Draw something."""
    return Image("image/png", data=words * size)


def watch(notice: Notice) -> None:
    match notice:
        case TextDelta(text=text):
            assert_type(text, str)
        case Replied(dollars=dollars):
            assert_type(dollars, float | None)
        case CallFinished(call=call, seconds=seconds):
            assert_type(call, ToolCall)
            assert_type(seconds, float)
        case FoldMade():
            pass


def approve(call: ToolCall) -> bool:
    return call.name == "picture"


async def main() -> str:
    profile = Profile(name="mine", window=32_000)
    with Session(profile=profile, system="Be brief.", store="agent.db", to="anthropic") as session:
        agent = Agent(
            ScriptedModel("Hello."),
            [double, draw, max],
            session=session,
            approve=approve,
            limits=RunLimits(steps=4, seconds=60),
            watch=watch,
        )
        end = await run(agent, "Hello.")
        assert_type(end, Done | Ask | Stop)
        match end:
            case Done(text=text):
                return text
            case Stop(sentence=sentence):
                return sentence
            case Ask(question=question):
                return question


def lists(messages: list[dict[str, str]]) -> list[Any]:
    try:
        packed = pack(messages, budget="32k", tools=[{"name": "look", "input_schema": {}}])
    except ContextOverflow as error:
        raise SystemExit(f"{error.budget}: {error.parts}") from error
    except HoldfastError as error:
        raise SystemExit(f"{error.message} ({error.hint})") from error
    assert_type(packed, Packed)
    assert_type(packed.tokens, int)
    return packed.messages


assert_type(double(2), int)
assert_type(str(run_sync(Agent("anthropic/claude-opus-5", [double]), "Double 21.")), str)
assert_type(Session.resume("agent.db").report(ValueError()), bool)
assert_type(holdfast.__version__, str)
