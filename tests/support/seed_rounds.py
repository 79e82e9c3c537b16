"""Rounds of work for the tests of the design documents: a user asks, tools answer, the assistant concludes."""

from msgspec.structs import replace

from holdfast.messages import ToolMessage, UserMessage
from holdfast.packing.profile import BUILT_IN
from holdfast.session import Session


def seed_session(profile, window, **settings):
    """A session with a built-in profile scaled to a window, with some settings changed."""
    return Session(profile=replace(BUILT_IN[profile].scaled_to(window), **settings))


def add_round(session, number, *, steps=1, lines=20):
    """One round with so many steps, each a Grep with so many matches."""
    session.append({"role": "user", "content": f"Do part {number}."})
    for step in range(steps):
        add_step(session, f"{number}-{step}", lines)
    session.append({"role": "assistant", "content": f"Part {number} is done."})


def add_step(session, name, lines):
    arguments = f'{{"pattern": "part {name}"}}'
    call = {"id": f"c{name}", "type": "function", "function": {"name": "Grep", "arguments": arguments}}
    session.append({"role": "assistant", "content": f"I look for {name}.", "tool_calls": [call]})
    session.append({"role": "tool", "tool_call_id": f"c{name}", "content": result_text(name, lines)})


def result_text(name, lines):
    return "\n".join(f"part {name}, line {n}: some words of its own" for n in range(lines))


def whole_rounds(session):
    """The numbers of the rounds of which the window shows every message as it was."""
    view = session.window.view()
    levels = {}
    for step, (level, _) in zip(view.transcript.steps, view.levels, strict=True):
        levels.setdefault(step.round, set()).add(level)
    users = (i for i in view.transcript.items if isinstance(i.message, UserMessage))
    shown = {user.round for user in users if user.entry not in view.hidden}
    return [number for number in sorted(shown) if levels.get(number, {"full"}) == {"full"}]


def shown_results(session):
    """The results that the window shows, by the id of their call."""
    view = session.window.view()
    messages = [m for at in view.visible for m in view.blocks[at].messages]
    return {m.call_id: m.text for m in messages if isinstance(m, ToolMessage)}
