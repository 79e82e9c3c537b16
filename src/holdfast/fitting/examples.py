"""Examples to learn from: at every fold of a recording, what stood folded, and what later actions used of it.

Rule: features know the log up to the fold, and only the label knows what came later. The label is the worth itself:
how many later actions used the line or the name, each counted by its share of the action's needs, and the later the
less.
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from holdfast.errors import ContextOverflow
from holdfast.packing.folding.draft import Draft
from holdfast.packing.forward import fold_now
from holdfast.packing.lines.choosing import candidates
from holdfast.packing.lines.facts import looks_of, looks_of_name, rough_tokens
from holdfast.packing.lines.features import LINE_FEATURES, NAME_FEATURES, fixed_line, fixed_name
from holdfast.packing.lines.sightings import SHORTEST_NAME, Sighted, Sightings
from holdfast.packing.lines.weights import HAND
from holdfast.packing.lines.worth import SHORTEST_QUOTE
from holdfast.packing.profile import Profile
from holdfast.packing.window import Window
from holdfast.replay.evidence.study import Study
from holdfast.replay.policies.policy import Task
from holdfast.replay.policies.profiles import Feed

KEEPS_FROM_STEP_TO_STEP = 0.98
"""What is used so many steps later counts this much less a step: by then another fold will have chosen anew."""
OLD = 5
"""Steps from which a need is no longer on view anyway."""
ONE_IN = 5
"""Of what nothing used, this share is kept as examples, and each counts for as many."""

Row = tuple[tuple[float, ...], float, float, int]
"""Features, later use, how many examples it stands for, and tokens."""


class Rows(Struct, frozen=True, eq=False):
    """Examples as columns, since a recording has millions of numbers. `folds` says which fold a row is of."""

    values: NDArray[np.float32]
    uses: NDArray[np.float32]
    counts: NDArray[np.float32]
    sizes: NDArray[np.float32]
    folds: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.uses)

    @property
    def used(self) -> int:
        return int(np.count_nonzero(self.uses))


class Examples(Struct, frozen=True, eq=False):
    """What one recording teaches."""

    recording: str
    project: str
    lines: Rows
    names: Rows
    folds: int


class Later(Struct, frozen=True):
    """What actions after a request use: the worth of every line and name."""

    lines: dict[str, float]
    names: dict[str, float]


def examples_of(study: Study, profile: Profile, tasks: Sequence[Task]) -> Examples:
    """The examples of one recording at every budget."""
    lines, names = _Columns(len(LINE_FEATURES)), _Columns(len(NAME_FEATURES))
    folds = 0
    for task in tasks:
        # Weights that never change: what is learned must not depend on what was learned before.
        feed = Feed(profile, task, HAND)
        messages = [turn.message for turn in study.case.turns if turn.message is not None]
        for number, request in enumerate(study.requests):
            feed.read(messages[: request.before], request.at)
            if _folds(feed.window):
                found_lines, found_names = rows_of(feed.window, later_use(study, number))
                lines.add(found_lines, folds)
                names.add(found_names, folds)
                folds += 1
    return Examples(study.case.id, study.case.project, lines.rows(), names.rows(), folds)


def _folds(window: Window) -> bool:
    try:
        return bool(fold_now(window))
    except ContextOverflow:
        # Nothing can be sent here at this budget; the recording goes on all the same.
        return False


def later_use(study: Study, number: int) -> Later:
    """What the action of a request, and those after it, use that was out of sight for a while."""
    lines: dict[str, float] = {}
    names: dict[str, float] = {}
    share = 1.0
    for request in study.requests[number:]:
        needs = [need for need in request.needs[0] if need.age > OLD]
        for need in needs:
            found = lines if need.is_line else names
            found[need.text] = found.get(need.text, 0.0) + share / len(needs)
        share *= KEEPS_FROM_STEP_TO_STEP
    return Later(lines, names)


def rows_of(window: Window, later: Later) -> tuple[list[Row], list[Row]]:
    """Lines and names that a fold let go, as a choice among them would see them."""
    sightings = window.sightings
    assert sightings is not None, "only a profile that keeps lines is fitted"
    draft = Draft(window)
    view = draft.on_view()
    lines = candidates(sightings, draft.folded(), view)
    names = sorted({name for line in lines for name in line.names} - view.names)
    return (
        [row for line in lines if (row := _line(sightings, line, later)) is not None],
        [row for text in names if (row := _name(sightings, text, later)) is not None],
    )


def _line(sightings: Sightings, line: Sighted, later: Later) -> Row | None:
    if len(line.key) < SHORTEST_QUOTE:
        return None
    text = line.text
    use = max(later.lines.get(line.key, 0.0), later.lines.get(text.strip(), 0.0))
    if not use and not is_sampled(line.key, sightings.step):
        return None
    return line_features(sightings, line), use, 1.0 if use else float(ONE_IN), line.size


def _name(sightings: Sightings, text: str, later: Later) -> Row | None:
    use = later.names.get(text, 0.0)
    if len(text) < SHORTEST_NAME or (not use and not is_sampled(text, sightings.step)):
        return None
    return name_features(sightings, text), use, 1.0 if use else float(ONE_IN), rough_tokens(text)


def is_sampled(key: str, step: int) -> bool:
    """The same every time, whoever asks; another choice at another step, so that every line has its turn."""
    digest = blake2b(f"{step} {key}".encode("utf-8", "replace"), digest_size=4).digest()
    return int.from_bytes(digest, "big") % ONE_IN == 0


def line_features(sightings: Sightings, line: Sighted) -> tuple[float, ...]:
    source, text = line.source, line.text
    fixed = fixed_line(looks_of(text), text, source.origin, source.kind, line.number, source.rows, line.bonus)
    return (*fixed, *sightings.line_features(line))


def name_features(sightings: Sightings, text: str) -> tuple[float, ...]:
    name = sightings.names[text]
    return (*fixed_name(looks_of_name(text), name.is_own), *sightings.name_features(text, name))


class _Columns:
    """Rows as they come in, fold by fold, each fold made into arrays at once."""

    def __init__(self, features: int) -> None:
        self._features = features
        self._parts: list[Rows] = []

    def add(self, rows: Sequence[Row], fold: int) -> None:
        if rows:
            values, uses, counts, sizes = zip(*rows, strict=True)
            self._parts.append(
                Rows(
                    np.array(values, np.float32),
                    np.array(uses, np.float32),
                    np.array(counts, np.float32),
                    np.array(sizes, np.float32),
                    np.full(len(rows), fold, np.int32),
                )
            )

    def rows(self) -> Rows:
        none = np.empty(0, np.float32)
        empty = Rows(np.empty((0, self._features), np.float32), none, none, none, np.empty(0, np.int32))
        parts = [empty, *self._parts]
        return Rows(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.uses for part in parts]),
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.sizes for part in parts]),
            np.concatenate([part.folds for part in parts]),
        )
