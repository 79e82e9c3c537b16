"""The handover from one role of a pair to the other: an index of files, counts, problems, and what is asked.

Rule: large content stays on the disk and is named by its path. As text, a handover is one JSON object between tags
that nothing in it can close, and none of its sentences reads as a demand of a person.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from holdfast.messages import Json

ProblemSeverity = Literal["critical", "high", "medium", "low"]
SEVERITIES: tuple[ProblemSeverity, ...] = ("critical", "high", "medium", "low")
TurnVerdict = Literal["continue", "return", "stop"]

OF_DESIGN = ("evaluation", "turn_budget")
"""Fields that only the role that designs hands over."""
LONGEST_TEXT = 2_000
LONGEST_LINE = 600
MOST_FILES = 60
MOST_PROBLEMS = 40
MOST_SAMPLES = 60

OneLine = Annotated[str, Meta(min_length=1, max_length=LONGEST_LINE)]
LayerNumber = Annotated[int, Meta(ge=1, le=9)]
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]


class FileNote(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[OneLine, Meta(description="From the folder that both work in.")]
    about: Annotated[str, Meta(max_length=LONGEST_LINE, description="What the file contains.")] = ""


class HandoverProblem(Struct, frozen=True, forbid_unknown_fields=True):
    summary: Annotated[OneLine, Meta(description="What is wrong, in a sentence.")]
    layer: LayerNumber
    severity: ProblemSeverity
    samples: Annotated[
        tuple[OneLine, ...], Meta(max_length=MOST_SAMPLES, description="Ids of the samples that it affects.")
    ] = ()


class SuccessRate(Struct, frozen=True, forbid_unknown_fields=True):
    passed: Count
    total: Count

    @property
    def share(self) -> float:
        return self.passed / self.total if self.total else 0.0

    def __str__(self) -> str:
        # Rounded down to a tenth, so that 85% is shown only when it is reached.
        tenths = self.passed * 1_000 // self.total if self.total else 0
        percent = f"{tenths / 10:.1f}".removesuffix(".0")
        return f"{self.passed}/{self.total} ({percent}%)"


class EvaluationPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """How the work is measured: the harness runs it, on a clean copy of the folder."""

    command: Annotated[
        OneLine,
        Meta(
            description="Run in a clean copy of the folder, without network. `{iteration}` becomes the number of "
            "the iteration. It writes the results."
        ),
    ]
    inputs: Annotated[
        tuple[OneLine, ...],
        Meta(
            min_length=1,
            max_length=MOST_FILES,
            description="Every file that decides what passes: programs, cases, expected values. Once a person has "
            "approved the design they are frozen.",
        ),
    ]
    result: Annotated[
        OneLine, Meta(description="What a result file looks like, and where it is written.")
    ] = '`{"sample": "s01", "passed": true}` in `evaluation_results`, one file for each sample'
    seconds: Annotated[int, Meta(ge=1, le=3_600, description="How long it may run.")] = 600


class TurnBudget(Struct, frozen=True, forbid_unknown_fields=True):
    """The most that one turn of the role that builds may take; 0 is no limit of the design's own."""

    steps: Annotated[int, Meta(ge=0, le=1_000_000, description="Requests to the model.")] = 0
    dollars: Annotated[float, Meta(ge=0, le=1e9)] = 0.0


class Handover(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    summary: Annotated[
        str, Meta(min_length=1, max_length=LONGEST_TEXT, description="What was done and what came of it.")
    ]
    asks: Annotated[
        str, Meta(min_length=1, max_length=LONGEST_TEXT, description="What the other agent is to do now.")
    ]
    verdict: Annotated[
        TurnVerdict,
        Meta(
            description="`return`: the other agent acts; `continue`: you go on yourself with another iteration, "
            "if you are the one who builds; `stop`: nothing is left to do. Below the target the work goes on."
        ),
    ] = "return"
    files: Annotated[
        tuple[FileNote, ...], Meta(max_length=MOST_FILES, description="Every file that the other needs.")
    ] = ()
    design: Annotated[
        tuple[OneLine, ...],
        Meta(max_length=MOST_FILES, description="Paths of all files of the design, which a person approves."),
    ] = ()
    evaluation: Annotated[
        EvaluationPlan | None,
        Meta(description="Of a design: how its results are measured. A person approves it with the design."),
    ] = None
    turn_budget: Annotated[
        TurnBudget | None,
        Meta(description="Of a design: the most that one turn of the other agent may take."),
    ] = None
    counts: Annotated[
        dict[str, Count],
        Meta(
            max_length=40, description="Such as `samples`: 15; `samples` and `failures` as the disk has them."
        ),
    ] = {}
    success: Annotated[SuccessRate | None, Meta(description="How many samples of this iteration passed.")] = (
        None
    )
    problems: Annotated[tuple[HandoverProblem, ...], Meta(max_length=MOST_PROBLEMS)] = ()
    decisions: Annotated[
        tuple[OneLine, ...], Meta(max_length=10, description="Questions that only a person can decide.")
    ] = ()


def paths_in(handover: Handover) -> tuple[str, ...]:
    """All paths that it names, each once."""
    return tuple(dict.fromkeys((*(note.path for note in handover.files), *handover.design)))


def handover_text(name: str, handover: Handover, about: dict[str, Json] | None = None) -> str:
    """The handover as the other role reads it: JSON in a code block, between `<name>` tags, `about` first."""
    own = {key: value for key, value in msgspec.to_builtins(handover).items() if value}
    value = {**(about or {}), **own}
    plain = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    # Escaped inside strings, so that it is the same JSON, and no tag can be opened or closed in it.
    plain = plain.replace("<", "\\u003c")
    return f"<{name}>\n```json\n{plain}\n```\n</{name}>"
