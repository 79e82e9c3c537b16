"""Labelled user messages: which of their sentences are directives, and how well a rule finds these.

A label is found if at least half of its characters are; a find is right if it shares half of the shorter of the two
with a directive, and neither right nor wrong if it does with a span that can be read either way.
"""

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from holdfast.events import UserSaid
from holdfast.messages import joined_text
from holdfast.recordings.recording_files import read_recordings

FILE = Path(__file__).parents[1] / "compaction" / "directive_labels.tsv"
DIGITS = 16

Span = tuple[int, int]


class Labelled(NamedTuple):
    recording: str
    message: int
    digest: str
    directives: tuple[Span, ...]
    arguable: tuple[Span, ...]

    @property
    def is_tuned_on(self) -> bool:
        return int(self.digest[0], 16) % 2 == 0


class Score(NamedTuple):
    """Counts over messages. `arguable` are finds that can be read either way."""

    messages: int
    labels: int
    found: int
    right: int
    arguable: int
    wrong: int

    @property
    def recall(self) -> float:
        return self.found / self.labels

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong)

    @property
    def strict_precision(self) -> float:
        return self.right / (self.right + self.arguable + self.wrong)


def read_labels() -> list[Labelled]:
    rows = [line.split("\t") for line in FILE.read_text("utf-8").splitlines() if not line.startswith("#")]
    return [Labelled(row[0], int(row[1]), row[2], _spans(row[3]), _spans(row[4])) for row in rows]


def _spans(text: str) -> tuple[Span, ...]:
    pairs = [] if text == "-" else [pair.split("-") for pair in text.split(",")]
    return tuple((int(first), int(last)) for first, last in pairs)


def digest(text: str) -> str:
    return sha256(text.encode("utf-8")).hexdigest()[:DIGITS]


def read_messages(folder: Path, labels: Iterable[Labelled]) -> dict[tuple[str, int], str]:
    """The texts of labelled messages, by recording and index."""
    wanted = {(label.recording, label.message) for label in labels}
    texts: dict[tuple[str, int], str] = {}
    for file in sorted({recording.split("/")[0] for recording, _ in wanted}):
        for recording in read_recordings(folder / f"{file}.jsonl.gz"):
            for place, recorded in zip(recording.places, recording.events, strict=True):
                if (recording.id, place) in wanted and isinstance(recorded.event, UserSaid):
                    texts[recording.id, place] = joined_text(recorded.event.parts)
    return texts


def score(
    labels: Iterable[Labelled], texts: dict[tuple[str, int], str], find: Callable[[str], Iterable[Span]]
) -> Score:
    messages = total = found = right = arguable = wrong = 0
    for label in labels:
        finds = list(find(texts[label.recording, label.message]))
        messages += 1
        total += len(label.directives)
        found += sum(
            2 * sum(_shared(span, f) for f in finds) >= span[1] - span[0] for span in label.directives
        )
        for one in finds:
            if any(_is_same(one, span) for span in label.directives):
                right += 1
            elif any(_is_same(one, span) for span in label.arguable):
                arguable += 1
            else:
                wrong += 1
    return Score(messages, total, found, right, arguable, wrong)


def _shared(a: Span, b: Span) -> int:
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def _is_same(a: Span, b: Span) -> bool:
    return 2 * _shared(a, b) >= min(a[1] - a[0], b[1] - b[0])
