"""A recording studied for evidence: every message read and counted, and the needs of every action.

Rule: no policy is involved; all policies and budgets are judged by the same study.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from holdfast.replay.case import Case
from holdfast.replay.evidence.history import History
from holdfast.replay.evidence.measure import Measure
from holdfast.replay.evidence.needs import Need, find_needs, known_from
from holdfast.replay.evidence.probes import EVERY, Probes
from holdfast.replay.evidence.reading import Reading
from holdfast.replay.request import Said, Scale, read_message

Common = Callable[[Measure, str], Callable[[str], bool]]
"""From a measure and a project to what says whether a name is common."""


class Request(Struct, frozen=True):
    """A request: the messages before it are `readings[:before]`; `needs` are those of its reply, by measure.

    `probes` are what every reply should know, looked for now and then.
    """

    index: int
    before: int
    at: float | None
    needs: tuple[list[Need], ...]
    probes: dict[str, list[Need]]


class Study(Struct, frozen=True):
    case: Case
    readings: list[Reading]
    requests: list[Request]
    measures: tuple[Measure, ...]


def study(case: Case, scale: Scale, measures: Sequence[Measure], common: Common) -> Study:
    history, probes = History(), Probes()
    known = [known_from(case.stable, common(measure, case.project)) for measure in measures]
    requests: list[Request] = []
    newest: float | None = None
    for turn in case.turns:
        said = Said("assistant", "") if turn.message is None else read_message(turn.message)
        if turn.is_reply:
            needs = tuple(
                find_needs(said, history, known[i], measure) if said.calls else []
                for i, measure in enumerate(measures)
            )
            due = probes.due(history) if len(requests) % EVERY == EVERY - 1 else {}
            requests.append(Request(turn.index, len(history.readings), newest, needs, due))
        if turn.at is not None:
            newest = turn.at if newest is None else max(newest, turn.at)
        if turn.message is not None:
            reading = Reading(said)
            history.add(reading, scale.said(said))
            probes.add(reading, history)
    return Study(case, history.readings, requests, tuple(measures))
