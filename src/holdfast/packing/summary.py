"""The summary layer: archive entries, then working state, as the log's compactions left them.

Rule: a summary is shown and never summarised; only under overflow are its lines cut to a sentence each.
"""

import re
from itertools import islice

from holdfast.messages import AssistantMessage, Message, SystemMessage, Text, UserMessage
from holdfast.packing.profile import Profile
from holdfast.packing.renditions import Scene
from holdfast.views.transcript import Transcript

# A point inside a path or a version ends nothing: only white space behind it does, which CJK stops do not need.
_STOP = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
_BULLET = re.compile(r"\s*+(?:[-*+]\s++)?+(?:\d++[.)]\s++)?+")


def summary_messages(scene: Scene, transcript: Transcript, sentences: int = 0) -> tuple[Message, ...]:
    """The layer in the profile's shape; one sentence a line where it is over its cap."""
    messages = _shaped(scene.profile, transcript, sentences)
    cap = scene.profile.summary_cap
    if cap and not sentences and scene.counter.messages(messages) > cap:
        messages = _shaped(scene.profile, transcript, 1)
    return messages


def _shaped(profile: Profile, transcript: Transcript, sentences: int) -> tuple[Message, ...]:
    """System messages, or a user message and the reply to it."""
    compactions = transcript.compactions
    texts = [c.text for c in compactions.archive.values()]
    most = profile.summary_messages - (compactions.state is not None)
    if profile.summary_messages and len(texts) > most:
        texts = ["\n\n".join(texts)]
    if compactions.state is not None:
        texts.append(compactions.state.text)
    if sentences:
        texts = [_shorten(text, sentences) for text in texts]
    if not texts:
        return ()
    if profile.summary_role == "mock_pair":
        prompt = UserMessage((Text(profile.mock_prompt),))
        return prompt, AssistantMessage((Text("\n\n".join(texts)),))
    return tuple(SystemMessage(text) for text in texts)


def _shorten(text: str, sentences: int) -> str:
    return "\n".join(_first_sentences(line, sentences) for line in text.split("\n"))


def _first_sentences(line: str, sentences: int) -> str:
    """The line up to its n-th stop; the number of a list item is no sentence."""
    bullet = _BULLET.match(line)
    stops = _STOP.finditer(line, bullet.end() if bullet else 0)
    end = next(islice(stops, sentences - 1, None), None)
    return line[: end.start()] if end else line
