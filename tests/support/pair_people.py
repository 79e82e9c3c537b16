"""People for pairs in tests, and the shortest work that a pair can do."""

from collections.abc import Callable

from holdfast.agents.pairing.approval import Approvals, FromFile
from holdfast.agents.pairing.setup import People
from holdfast.pair.phases import Asked, Decided, Phase
from support.pair_plays import hand_over, write

PLAN = write("plan.md", "1. build\n")
DESIGNED = hand_over("plan.md", design=["plan.md"])
DONE = hand_over("out.txt", verdict="stop")
BUILT = [write("out.txt", "x"), DONE]


class Deciding:
    """Answers from a list, and remembers what it was asked; a function in it does something first."""

    def __init__(self, *answers) -> None:
        self.answers = [*answers]
        self.asked: list[Asked] = []

    async def decide(self, asked: Asked) -> Decided | None:
        self.asked.append(asked)
        answer = self.answers.pop(0) if self.answers else None
        answer = answer() if callable(answer) else answer
        return Decided(asked.id, *answer, by="Ada") if answer else None

    def how(self, asked: Asked) -> str:
        return f"ask Ada about {asked.about}"

    @property
    def about(self) -> list[str]:
        return [asked.about for asked in self.asked]


def people(approvals: Approvals, tell: Callable[[Phase], None] = lambda _: None) -> People:
    return People(approvals=lambda _store, _log: approvals, tell=tell)


def by_file(folder) -> People:
    return people(FromFile(folder))
