"""How much older evidence requests kept that were made elsewhere: for the viewer, which shows them.

Rule: needs and credit are those of a replay. Only the packs are given, in place of a policy that makes them.
"""

from collections.abc import Callable, Sequence

from holdfast.events import Entry
from holdfast.lab.case import make_case
from holdfast.lab.evidence.common_names import shipped_names
from holdfast.lab.evidence.credit import NeedScorer, NeedTally, score_needs
from holdfast.lab.evidence.indexed_message import IndexedMessage, PackIndex
from holdfast.lab.evidence.needs import DEFAULT_MEASURE, FileCopies, study_evidence
from holdfast.lab.policies.profile_policy import flat_message
from holdfast.lab.results import Score
from holdfast.lab.scored_message import MessageCounter, read_message
from holdfast.lab.stored_logs import replayed_part
from holdfast.messages import Message
from holdfast.tokenizers import load_tokenizer

GivenPack = Callable[[int], Sequence[Message] | None]
"""The messages of a request by its number, from 1; None where it could not have been sent."""


def older_evidence(
    on_path: Sequence[Entry], pack_of: GivenPack, tell: Callable[[int], None] = lambda _: None
) -> float | None:
    """The share of needs last seen more than five steps before that the requests of a log still had: the mean over
    actions with such needs, None where there is none. `tell` is told the number of each request that is done."""
    case = make_case(replayed_part("", "", on_path), "")
    study = study_evidence(case, MessageCounter(load_tokenizer()), (DEFAULT_MEASURE,), shipped_names().above)
    files, reader = FileCopies(), _PackReader(study.messages)
    scorer, tally = NeedScorer(study.messages, files, DEFAULT_MEASURE), NeedTally(DEFAULT_MEASURE, 0, 0)
    noted = 0
    for number, request in enumerate(study.requests, 1):
        for message in study.messages[noted : request.before]:
            files.note(message.scored)
        noted = request.before
        older = [need for need in request.needs[0] if need.age > DEFAULT_MEASURE.hard_steps]
        # Most requests have none, and to read a pack takes longest.
        if older:
            messages = pack_of(number)
            packed = None if messages is None else reader.read(messages)
            tally.add(score_needs(older, packed, scorer, None))
        tell(number)
    return tally.scored(Score("", "", "", 0, requests=len(study.requests))).older_span


class _PackReader:
    """Messages as the scorer reads them. Requests share most of theirs, so what the last ones had is kept."""

    def __init__(self, recorded: Sequence[IndexedMessage]) -> None:
        self._index = PackIndex(recorded)
        self._room = 2 * len(recorded) + 100
        self._known: dict[int, tuple[Message, list[IndexedMessage]]] = {}
        """By identity; the message beside its reading keeps its id taken."""

    def read(self, messages: Sequence[Message]) -> list[IndexedMessage]:
        """The newest first, since what is needed is most often found there."""
        readings = [self._reading(message) for message in messages]
        if len(self._known) > self._room:
            self._known = {id(message): self._known[id(message)] for message in messages}
        return [one for reading in reversed(readings) for one in reading]

    def _reading(self, message: Message) -> list[IndexedMessage]:
        known = self._known.get(id(message))
        if known is None:
            read = self._index.of([read_message(one) for one in flat_message(message)])
            known = self._known[id(message)] = (message, read)
        return known[1]
