"""The summary layer: archive entries, then working state, as the log's compactions left them.

Rule: a summary is shown and never summarised; only under overflow are its lines cut to a sentence each.
"""

import re
from collections.abc import Iterable
from itertools import islice

import msgspec

from holdfast.messages import AssistantMessage, Json, Message, SystemMessage, Text, UserMessage
from holdfast.packing.profile import Profile
from holdfast.packing.renditions.levels import Scene
from holdfast.views.compactions import Compactions
from holdfast.views.transcript import Transcript

# A point inside a path or a version ends nothing: only white space behind it does, which CJK stops do not need.
_STOP = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
_TAGGED = re.compile(r"(?s)\s*<(\w+)>\s*(\{.*\})\s*</\1>\s*")
_BULLET = re.compile(r"\s*+(?:[-*+]\s++)?+(?:\d++[.)]\s++)?+")


def summary_messages(scene: Scene, transcript: Transcript, sentences: int = 0) -> tuple[Message, ...]:
    """The layer in the profile's shape; one sentence a line where it is over its cap."""
    return summary_of(scene, transcript.compactions, sentences)


def summary_of(scene: Scene, compactions: Compactions, sentences: int = 0) -> tuple[Message, ...]:
    messages = _shaped(scene.profile, compactions, sentences)
    cap = scene.profile.summary_cap
    if cap and not sentences and scene.counter.messages(messages) > cap:
        messages = _shaped(scene.profile, compactions, 1)
    return messages


def _shaped(profile: Profile, compactions: Compactions, sentences: int) -> tuple[Message, ...]:
    """System messages, or a user message and the reply to it."""
    archive = _spoken((archived.text for archived in compactions.archive.values()), sentences)
    state = _spoken((compactions.state.text,) if compactions.state else (), sentences)
    texts = [*archive, *state]
    if not texts:
        return ()
    if profile.summary_role == "mock_pair":
        prompt = UserMessage((Text(profile.mock_prompt),))
        return prompt, AssistantMessage((Text("\n\n".join(texts)),))
    if profile.summary_messages == 1:
        texts = ["\n\n".join(texts)]
    elif 0 < profile.summary_messages < len(texts):
        # The archive in one message and the state in the other: what was archived stands at the same place.
        texts = ["\n\n".join(archive), *state]
    return tuple(SystemMessage(text) for text in texts)


def _spoken(texts: Iterable[str], sentences: int) -> list[str]:
    """The texts that say anything; providers refuse a message that does not."""
    spoken = (text for text in texts if text.strip())
    return [_shortened(text, sentences) if sentences else text for text in spoken]


def _shortened(text: str, sentences: int) -> str:
    """A sentence a line; of JSON in tags, a sentence a line of each string, so that it stays JSON."""
    tagged = _TAGGED.fullmatch(text)
    if tagged is None:
        return _fewer(text, sentences)
    tag, written = tagged.groups()
    try:
        value = msgspec.json.decode(written)
    except msgspec.DecodeError:
        return _fewer(text, sentences)
    plain = msgspec.json.format(msgspec.json.encode(_less(value, sentences)), indent=2).decode()
    # A tag inside a string would end the summary for whoever looks for it.
    plain = re.sub(rf"(?i)<(?=/?\s*{tag})", r"\\u003c", plain)
    return f"<{tag}>\n{plain}\n</{tag}>"


def _less(value: Json, sentences: int) -> Json:
    if isinstance(value, str):
        return _fewer(value, sentences)
    if isinstance(value, list):
        return [_less(item, sentences) for item in value]
    if isinstance(value, dict):
        return {key: _less(item, sentences) for key, item in value.items()}
    return value


def _fewer(text: str, sentences: int) -> str:
    return "\n".join(_first_sentences(line, sentences) for line in text.split("\n"))


def _first_sentences(line: str, sentences: int) -> str:
    """The line up to its n-th stop; the number of a list item is no sentence."""
    bullet = _BULLET.match(line)
    stops = _STOP.finditer(line, bullet.end() if bullet else 0)
    end = next(islice(stops, sentences - 1, None), None)
    return line[: end.start()] if end else line
