"""Conversations of clients with the provider, and what comes next in each.

Rule: a request belongs to the conversation whose calls it holds. Requests for titles, summaries and the like have
none of the tools that a scenario needs, or another system prompt; they disturb nothing.
"""

import hashlib
import secrets

from clients.scenario import Scenario, find_shell, notice
from clients.wires.values import Asked, Said


class Conversation:
    """One run of a scenario."""

    def __init__(self, name: str, scenario: Scenario, folder: str) -> None:
        self.name = name
        self.system = ""
        self._scenario = scenario
        self._folder = folder
        self._noticed: dict[str, str] = {}
        self._ids = [[_new_id() for _ in step] for step in scenario.steps]
        self._steps = {call: number for number, ids in enumerate(self._ids) for call in ids}
        self._answered: set[str] = set()
        self._before: list[bytes] = []
        self._first: list[bytes] = []

    def has(self, call: str) -> bool:
        return call in self._steps

    def follow(self, asked: Asked) -> bool | None:
        """Whether this prompt begins with all of the one before; None for the first."""
        now, before = [block.data for block in asked.blocks], self._before
        self._before = now
        return None if not before else now[: len(before)] == before

    def next_reply(self, asked: Asked) -> Said:
        """What comes after the last call that the request holds. A request that is sent again is answered again.
        One without any call, but for the first, goes on after the last result: its history was summarized."""
        for result in asked.results:
            self._look(result.call, result.text)
        known = [call for call in asked.calls if call in self._steps]
        now = [block.data for block in asked.blocks]
        self._first = self._first or now
        if not known and now != self._first:
            known = list(self._answered)
        number = 1 + max((self._steps[call] for call in known), default=-1)
        if number >= len(self._scenario.steps):
            return Said(number, self._scenario.text(self._noticed, self._scenario.final))
        calls = self._scenario.calls(number, self._ids[number], asked.tools, self._noticed, self._folder)
        return Said(number, f"Step {number + 1}.", calls)

    def _look(self, call: str, text: str) -> None:
        if call not in self._steps or call in self._answered:
            return
        self._answered.add(call)
        number = self._steps[call]
        action = self._scenario.steps[number][self._ids[number].index(call)]
        self._noticed |= notice(action, text)


class Conversations:
    def __init__(self, scenario: Scenario, folder: str) -> None:
        self._scenario = scenario
        self._folder = folder
        self._all: dict[str, Conversation] = {}

    def find(self, wire: str, asked: Asked) -> Conversation | None:
        """The conversation of a request; None for one that is beside the scenario."""
        if self._scenario.steps and not find_shell(asked.tools):
            return None
        for call in reversed(asked.calls):
            for talk in self._all.values():
                if talk.has(call):
                    return talk
        if self._scenario.task not in asked.last_user and not self._is_first(asked):
            return None
        name = self._name(wire, asked)
        talk = self._all.setdefault(name, Conversation(name, self._scenario, self._folder))
        talk.system = talk.system or asked.system
        return talk if self._scenario.steps or talk.system == asked.system else None

    def _is_first(self, asked: Asked) -> bool:
        """Whether nothing was said yet: some clients write more of their own after the task."""
        return not asked.calls and any(self._scenario.task in block.text for block in asked.blocks)

    def _name(self, wire: str, asked: Asked) -> str:
        tools = ",".join(sorted(asked.tools))
        # Without tools a client writes more around each task, so there the system prompt alone tells.
        said = "" if asked.session or not self._scenario.steps else asked.last_user
        spoken = [asked.session, tools, said]
        return f"{wire}-{hashlib.sha256(chr(0).join(spoken).encode()).hexdigest()[:8]}"


def _new_id() -> str:
    return f"call_{secrets.token_hex(8)}"
