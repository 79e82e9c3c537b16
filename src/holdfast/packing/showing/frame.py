"""The frame of a pack: what stands round the rounds, and no fold of steps can lower.

Rule: the stable layer and the tools are written once and stay until one of them is set anew; summary and recap are
written from the log whenever they are asked for.
"""

from holdfast.messages import Message, SystemMessage
from holdfast.packing.renditions.levels import Scene
from holdfast.packing.showing.summary import summary_messages
from holdfast.packing.showing.tail import tail_messages
from holdfast.views.transcript import Transcript


class Frame:
    def __init__(self, scene: Scene, transcript: Transcript) -> None:
        self.recap_lines = scene.profile.recap_lines
        self.summary_sentences = 0
        self._scene = scene
        self._transcript = transcript
        self._stable: tuple[tuple[Message, ...], int] | None = None
        self._tool_tokens: int | None = None

    def forget(self) -> None:
        """Something was set that the stable layer or the tools are made of."""
        self._stable = self._tool_tokens = None

    @property
    def stable(self) -> tuple[tuple[Message, ...], int]:
        """Layer 1 and its tokens, tool definitions not included."""
        if self._stable is None:
            messages = tuple(SystemMessage(text) for text in self._stable_texts())
            self._stable = messages, self._scene.counter.messages(messages)
        return self._stable

    @property
    def tool_tokens(self) -> int:
        if self._tool_tokens is None:
            self._tool_tokens = self._scene.counter.tools(self._transcript.tools)
        return self._tool_tokens

    def summary(self) -> tuple[Message, ...]:
        return summary_messages(self._scene, self._transcript, self.summary_sentences)

    def tail(self) -> tuple[Message, ...]:
        return self.recap(self.recap_lines)

    def recap(self, lines: int) -> tuple[Message, ...]:
        """Todos and what else stands last, each in so many lines."""
        todos, recaps = self._transcript.todos, self._transcript.recaps.values()
        return tail_messages(todos, recaps, lines, self._scene.profile.tail_cap, self._scene.counter)

    def sizes(self) -> dict[str, int]:
        """Tokens of each part."""
        count = self._scene.counter.messages
        return {
            "stable": self.stable[1],
            "tools": self.tool_tokens,
            "summary": count(self.summary()),
            "tail": count(self.tail()),
        }

    def _stable_texts(self) -> list[str]:
        by_name = {
            "system": [self._transcript.system],
            "rules": list(self._transcript.rules.values()),
            "context": list(self._transcript.contexts.values()),
        }
        ordered = [text for name in self._scene.profile.pinned_order for text in by_name.get(name, [])]
        return [text for text in ordered if text.strip()]
