"""Recordings to fit weights on: a line that defines a function is edited eight steps later, no other line is."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from holdfast.lab.case import make_case
from holdfast.lab.evidence.needs import DEFAULT_MEASURE, Study, study_evidence
from holdfast.lab.jobs import ReplayOptions
from holdfast.lab.scored_message import MessageCounter
from holdfast.packing.profile import CODE
from holdfast.prices import BUILT_IN as PRICES
from holdfast.recordings import read_recordings
from holdfast.tokenizers import load_tokenizer
from support.evidence import called, result, user
from support.evidence_recordings import write_recordings

LATER = 8
PROFILE = replace(
    CODE,
    name="lines",
    excerpt_ratio=0.9,
    fold_to_ratio=0.6,
    first_sight_ratio=1 / 4,
    recent_ratio=0.1,
    steps_floor=1,
)
BUDGET = 1_500
ORDER = ReplayOptions(("lines",), (BUDGET,), (PRICES["standard"],), profiles={"lines": PROFILE})


def fit_recording(id_: str = "one", steps: int = 24, *, source: str = "fit", rows: int = 8) -> dict[str, Any]:
    messages = [user(f"Go through the modules of {id_}.")]
    for n in range(steps):
        if n >= LATER:
            old = definition(id_, n - LATER)
            messages.append(
                called(f"e{n}", "Edit", file_path=path(id_, n - LATER), old_string=old, new_string="")
            )
            messages.append(result(f"e{n}", "done"))
        messages.append(called(f"c{n}", "Read", file_path=path(id_, n)))
        filler = [f"    the row {row} of part {n} says nothing to anybody" for row in range(rows)]
        messages.append(result(f"c{n}", "\n".join([definition(id_, n), *filler])))
    messages.append({"role": "assistant", "content": "All done."})
    return {"id": id_, "source": source, "system": "Be brief.", "tools": [], "messages": messages, "meta": {}}


def definition(id_: str, number: int) -> str:
    return f"def open_{id_}_{number}(handle): return close_{id_}_{number}(handle)"


def path(id_: str, number: int) -> str:
    return f"src/parts/module_{id_}_{number}.py"


def write_fit_recordings(path_: Path, *ids: str, source: str = "fit", steps: int = 24) -> Path:
    return write_recordings(path_, *(fit_recording(id_, steps, source=source) for id_ in ids))


def studied(folder: Path, recording: dict[str, Any]) -> Study:
    """As a worker studies it; no name is common."""
    file = write_recordings(folder / "studied.jsonl", recording)
    [read] = read_recordings(file)
    case = make_case(read, recording["source"])
    return study_evidence(
        case, MessageCounter(load_tokenizer()), (DEFAULT_MEASURE,), lambda *_: lambda _: False
    )
