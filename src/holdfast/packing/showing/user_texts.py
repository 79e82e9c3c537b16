"""What users said, as it is shown: whole, shortened by a fold, in a note for its round, or once for several.

Rule: a large text stands once. Where the message that shows it no longer does, the first that referred to it does.
"""

from collections.abc import Iterable

from holdfast.messages import Text
from holdfast.packing.layers import Block
from holdfast.packing.renditions.levels import Scene
from holdfast.packing.showing.blocks import UserLook, hide_user, render_user
from holdfast.packing.showing.quotes import Quoted
from holdfast.views.transcript import User

LARGE_PASTE = 200
"""Tokens from which a repeated user text becomes a reference to the first."""


class UserTexts:
    def __init__(self, scene: Scene) -> None:
        self.looks: dict[str, UserLook] = {}
        """User messages that a fold shortened."""
        self.hidden: set[str] = set()
        """User messages that stand in a note for their rounds."""
        self._scene = scene
        self._pasted: dict[str, str] = {}
        """Large user texts, and the entry that shows each."""
        self._repeats: dict[str, list[User]] = {}
        """Messages that only refer to an entry, because it shows the same text."""

    def render(self, user: User, quoted: Quoted) -> Block:
        if user.entry in self.hidden:
            return hide_user(self._scene, user, quoted)
        look = self.looks.get(user.entry, UserLook())
        if look == UserLook():
            self._note_pastes(user)
        return render_user(self._scene, user, self._pasted, look, quoted)

    def repeats_of(self, user: User) -> list[User]:
        """Messages on view that only refer to this one."""
        return [u for u in self._repeats.get(user.entry, []) if u.entry not in self.hidden]

    def pass_on(self, entries: Iterable[str]) -> list[str]:
        """Messages that no longer show their texts; the entries of those that do so from now on instead."""
        revealed: list[str] = []
        for entry in entries:
            heirs = [u for u in self._repeats.pop(entry, []) if u.entry not in self.hidden]
            for text in [t for t, first in self._pasted.items() if first == entry and heirs]:
                self._pasted[text] = heirs[0].entry
            if heirs:
                revealed.append(heirs[0].entry)
                self._repeats[heirs[0].entry] = heirs[1:]
        return revealed

    def _note_pastes(self, user: User) -> None:
        """Remember who shows a large text first; later messages with the same text only refer to it."""
        for part in user.message.parts:
            if not isinstance(part, Text) or self._scene.counter.text(part.text) < LARGE_PASTE:
                continue
            first = self._pasted.setdefault(part.text, user.entry)
            if first in self.hidden or first in self.looks:
                self._pasted[part.text] = user.entry
            elif first != user.entry and user not in self._repeats.setdefault(first, []):
                self._repeats[first].append(user)
