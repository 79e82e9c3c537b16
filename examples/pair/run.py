"""Runs the example: `python3 examples/pair/run.py [FOLDER] [--model PROVIDER/NAME]`.

Without a model both agents follow the script beside this file; files, commands, the evaluation, handovers,
approvals and summaries are real. With one, both are asked of it.
"""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

from script import scripted
from work import EXECUTE, EXECUTE_SUMMARY, INIT, INIT_SUMMARY, STAFF, notes_of

from holdfast.agents.notices import FoldMade, Notice, SummaryMade
from holdfast.agents.options import AgentOptions
from holdfast.agents.pair.journal import PairOutcome
from holdfast.agents.pair.startup import ModelPair, PairCallbacks, PairOptions, open_pair
from holdfast.pair.phases import Phase, describe_phase
from holdfast.pair.roles import load_pair
from holdfast.tools.call import CallFinished

HERE = Path(__file__).resolve().parent


def prepare(folder: Path) -> Path:
    """The project as the two agents find it."""
    root = folder / "project"
    shutil.copytree(HERE / "project", root)
    (root / "notes").mkdir()
    for name in STAFF:
        (root / "notes" / f"{name}.md").write_text(notes_of(name))
    return root


def models() -> ModelPair:
    return scripted("script/init", INIT, INIT_SUMMARY), scripted("script/execute", EXECUTE, EXECUTE_SUMMARY)


def pair_options(
    root: Path,
    model: str = "",
    *,
    allow: tuple[str, ...] = (),
    sandbox: str = "",
    iterations: int | None = None,
) -> PairOptions:
    """Commands run in a sandbox where the system has one; what is not the evaluation is not allowed."""
    allowed = ("Bash(python3 evaluate.py:*)", *allow)
    options = AgentOptions(root=root, store=root.parent / "store.db", allow=allowed, sandbox=sandbox or None)
    pair = load_pair(root / "pair.toml")
    return PairOptions(agent=options, pair=pair, models=(model, model), max_iterations=iterations)


def tell(phase: Phase) -> None:
    print(f"* {describe_phase(phase)}")


def watch(role: str, notice: Notice) -> None:
    match notice:
        case CallFinished(call=call, result=result):
            mark = "refused: " if result.is_error else ""
            print(f"  {role}: {call.name} – {mark}{result.shown.splitlines()[0][:90]}")
        case SummaryMade(compaction=made):
            print(f"  {role}: summarized, {made.tokens_before:,} tokens to {made.tokens_after:,}")
        case FoldMade(fold=fold):
            print(f"  {role}: folded, {fold.tokens_before} tokens to {fold.tokens_after}")


async def play(root: Path, model: str = "") -> PairOutcome:
    own: ModelPair = (None, None) if model else models()
    opened = await open_pair(
        pair_options(root, model), PairCallbacks(tell=tell, watch=watch), env=os.environ, models=own
    )
    try:
        return await opened.orchestrator.run()
    finally:
        await opened.close()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, help="a new folder; else a temporary one")
    parser.add_argument("--model", default="", help="a model for both agents instead of the script")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="holdfast-pair-"))
    outcome = asyncio.run(play(prepare(folder), given.model))
    print(f"\n{outcome.reason}: {outcome.sentence}")
    for line in outcome.evidence:
        print(f"- {line}")
    print(f"\nthe work lies in {folder}")
    return 0 if outcome.reason == "success" else 1


if __name__ == "__main__":
    sys.exit(main())
