"""`holdfast pair` for tests of the command line: a folder, a provider that answers both agents, and its options."""

from contextlib import contextmanager
from pathlib import Path

from support.agent_runs import CONFIG, Answering, says
from support.pair_runs import PLANNER_WORKER, hand_over, write
from support.provider_server import running

PLAN = write("plan.md", "1. build\n")
DESIGNED = hand_over("plan.md", design=["plan.md"])
DONE = hand_over("out.txt", verdict="stop")
BUILT = (write("out.txt", "built\n"), DONE)
OUTPUTS = "execution_outputs/iteration_1"
MEASURED = (
    write(f"{OUTPUTS}/evaluation_results/p1.json", '{"passed": true}'),
    write(f"{OUTPUTS}/evaluation_results/f1.json", '{"passed": false}', id_="w2"),
    write(f"{OUTPUTS}/attribution_analysis/f1.json", '{"layer": 2, "severity": "high"}', id_="w3"),
    hand_over("plan.md", verdict="continue", success={"passed": 1, "total": 2}),
)
"""An iteration in which one of two samples passes."""


def pair_folder(place: Path) -> Path:
    """A folder with a task, and beside it a pair; both models are on loopback."""
    root = place / "work"
    root.mkdir()
    (root / "task.md").write_text("Build it.\n")
    (root / "holdfast.toml").write_text(CONFIG.format(window=1_000_000))
    (place / "pair.toml").write_text(PLANNER_WORKER)
    return root


@contextmanager
def answering(first, second):
    """A provider that answers both agents, each from a list of its own; what they are stands in their prompts."""
    left = {"You plan.": [*first], "You work by the plan.": [*second]}

    def answer(body):
        system = str(body["messages"][0]["content"])
        return says(*left[system].pop(0))

    with running(Answering(answer)) as server:
        yield server


def given(server, *more):
    model = f"compatible/test@{server.openai_url}"
    return ("pair", "work", "--init-model", model, "--execute-model", model, "--sandbox", "off", *more)


def begun(server, *more):
    return given(server, "--pair", "pair.toml", *more)
