"""The tour's model in the real loop: every beat comes to what it says."""

import asyncio
import subprocess
import sys

import pytest

from holdfast.agents.coding.headless import HeadlessRequest, run_headless
from holdfast.agents.notices import FoldMade, Replied
from holdfast.agents.options import AgentOptions
from holdfast.tools.call import CallFinished
from holdfast.tour.scratch_repository import ROUNDING, scratch_folder
from holdfast.tour.tour_model import BEATS, PLAIN

NOWHERE = {"XDG_CONFIG_HOME": "/nonexistent"}


@pytest.mark.slow
def test_every_beat_is_told_once_and_what_was_folded_comes_back_to_the_letter():
    news = []
    with scratch_folder() as root:
        options = AgentOptions(
            root=root, store=root.parent / "store.db", model=PLAIN, mode="auto", sandbox="off"
        )
        done = asyncio.run(run_headless(options, HeadlessRequest("Mend it."), watch=news.append, env=NOWHERE))
        mended = (root / "shop" / "prices.py").read_text()
    assert done.outcome == "done"
    assert [n.reply.text for n in news if isinstance(n, Replied)] == [
        beat.plain or beat.says for beat in BEATS
    ]
    assert "ROUND_HALF_EVEN" in mended
    assert "ROUND_HALF_UP" not in mended
    results = [n for n in news if isinstance(n, CallFinished)]
    assert [result.call.name for result in results if result.result.is_error] == []
    recalled = next(n for n in results if n.call.name == "Recall")
    assert ROUNDING in recalled.result.envelope.text
    fold = next(n for n in news if isinstance(n, FoldMade))
    assert news.index(fold) < news.index(recalled)
    assert not root.exists()


@pytest.mark.slow
def test_a_prefix_that_stays_is_counted_as_cached():
    news = []
    with scratch_folder() as root:
        options = AgentOptions(
            root=root, store=root.parent / "store.db", model=PLAIN, mode="auto", sandbox="off"
        )
        asyncio.run(run_headless(options, HeadlessRequest("Mend it."), watch=news.append, env=NOWHERE))
    usages = [n.reply.usage for n in news if isinstance(n, Replied)]
    assert usages[0].cache_read == 0
    assert all(usage.cache_read + usage.cache_write == usage.prompt for usage in usages)
    assert usages[2].cache_read > 0.8 * usages[1].prompt


@pytest.mark.slow
def test_only_the_tour_loads_the_tour():
    code = "import sys, holdfast.agents.coding.headless; print([n for n in sys.modules if '.tour' in n])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
