"""Approvals for pairs in tests, and the shortest work that a pair can do."""

from collections.abc import Callable

from holdfast.agents.pair.decisions import DecisionMaker, FileDecisions
from holdfast.agents.pair.startup import PairCallbacks
from holdfast.pair.phases import DecisionMade, DecisionRequested, Phase
from support.pair_runs import hand_over, write

PLAN = write("plan.md", "1. build\n")
DESIGNED = hand_over("plan.md", design=["plan.md"])
DONE = hand_over("out.txt", verdict="stop")
BUILT = [write("out.txt", "x"), DONE]


class Deciding:
    """Answers from a list, and remembers what it was asked; a function in it does something first."""

    def __init__(self, *answers) -> None:
        self.answers = [*answers]
        self.asked: list[DecisionRequested] = []

    async def decide(self, asked: DecisionRequested) -> DecisionMade | None:
        self.asked.append(asked)
        answer = self.answers.pop(0) if self.answers else None
        answer = answer() if callable(answer) else answer
        return DecisionMade(asked.id, *answer, by="Ada") if answer else None

    def how_to_decide(self, asked: DecisionRequested) -> str:
        return f"ask Ada about {asked.about}"

    @property
    def about(self) -> list[str]:
        return [asked.about for asked in self.asked]


def people(approvals: DecisionMaker, tell: Callable[[Phase], None] = lambda _: None) -> PairCallbacks:
    return PairCallbacks(approvals=lambda _store, _log, _approve: approvals, tell=tell)


def by_file(folder) -> PairCallbacks:
    return people(FileDecisions(folder))
