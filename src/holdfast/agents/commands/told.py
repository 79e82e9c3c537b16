"""A talk as Markdown that a person reads from top to bottom.

Rule: everything that was said is there; of a tool's result its beginning and end, with the id of the whole.
"""

from collections.abc import Iterator

from holdfast.agents.commands.writing import code, fenced, joined, plain
from holdfast.ids import text_id
from holdfast.messages import Image, Text, Thinking, ToolCall
from holdfast.views import Step, Transcript, User

MOST_LINES = 40
LONGEST_LINE = 500


def talk_as_markdown(transcript: Transcript, title: str, log: str) -> str:
    parts = [f"# {plain(title) or 'A talk'}", f"Log {code(log)}."]
    number = 0
    for item in transcript.items:
        if isinstance(item, User):
            number += item.opens_round
            parts.append(_user(item, number))
        else:
            parts += _step(item)
    return joined(*parts) + "\n"


def _user(user: User, number: int) -> str:
    text = "\n\n".join(_shown(part) for part in user.message.parts)
    if user.origin == "reminder":
        return _quoted(text)
    who = "You" if user.origin == "person" else "Another agent"
    return joined(f"## {number}. {who}", text)


def _step(step: Step) -> Iterator[str]:
    said = [part for part in step.message.parts if isinstance(part, Text)]
    if said:
        yield joined("### Holdfast", *(plain(part.text) for part in said))
    for part in step.message.parts:
        if isinstance(part, Thinking) and part.text:
            yield joined("*Thinking*", _quoted(part.text))
    for call, answer in zip(step.calls.values(), step.answers(), strict=True):
        yield joined(
            f"**{call.name}**{' failed' if answer.error else ''}: {code(step.uses[call.id].label)}",
            _written(call),
            *(_cut(part.text) if isinstance(part, Text) else _shown(part) for part in answer.parts),
        )


def _written(call: ToolCall) -> str:
    """What a call was given to write: the heart of it, which its label does not show."""
    given = {
        name: value for name, value in call.arguments.items() if isinstance(value, str) and "\n" in value
    }
    return joined(*(joined(f"{code(name)}:", _cut(value)) for name, value in given.items()))


def _cut(text: str) -> str:
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        left = len(lines) - 2 * half
        lines = [*lines[:half], f"[… {left} lines: {text_id(text)} …]", *lines[-half:]]
    return fenced(
        "\n".join(line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines)
    )


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in plain(text).splitlines())


def _shown(part: Text | Image) -> str:
    return plain(part.text) if isinstance(part, Text) else f"[image {part.media_type}]"
