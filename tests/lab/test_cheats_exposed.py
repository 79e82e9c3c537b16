"""The measure exposes the cheats: whatever a bare list of names is laid out like, it earns next to nothing."""

from pathlib import Path

import pytest

from holdfast.lab.case import make_case
from holdfast.lab.evidence.needs import DEFAULT_MEASURE, study_evidence
from holdfast.lab.policies.cheats import CHEATS
from holdfast.lab.policies.registry import find_policies
from holdfast.lab.run import PolicyRun, ScoringSetup
from holdfast.lab.scored_message import MessageCounter
from holdfast.prices import BUILT_IN
from holdfast.recordings import find_recording
from holdfast.recordings.recording_files import scan_recordings
from holdfast.tokenizers import load_tokenizer
from support.name_dumps import DUMPS
from support.recording_folder import recording_files

EXAMPLE = Path(__file__).parents[2] / "examples" / "recordings" / "inventory.jsonl"
BUDGET = 8_000


def hard_scores(path, plans, id_=None):
    scale = MessageCounter(load_tokenizer())
    case = make_case(find_recording(path, id_), "p")
    studied = study_evidence(case, scale, [DEFAULT_MEASURE], lambda *_: lambda _: False)
    tools = ScoringSetup(load_tokenizer(), scale, tuple(BUILT_IN.values()), BUDGET, False)
    return {plan.name: PolicyRun(studied, plan, BUDGET, [BUDGET], tools).run()[0][0] for plan in plans}


@pytest.mark.slow
def test_cheats_earn_next_to_nothing_and_everything_earns_all():
    scores = hard_scores(EXAMPLE, [*find_policies(["everything", "newest"]), *CHEATS, *DUMPS])
    assert scores["everything"].hard_span == scores["everything"].all_span == 1.0
    cheats = [plan.name for plan in (*CHEATS, *DUMPS) if plan.name != "cheat-reference"]
    assert {name: scores[name].hard_span for name in cheats if scores[name].hard_span >= 0.1} == {}
    assert scores["cheat-dump"].hard_presence > 0.4, "a measure of mere presence would have praised it"
    assert scores["cheat-reference"].hard_span <= scores["newest"].hard_span
    assert scores["cheat-reference"].hard_ref == scores["cheat-reference"].hard_span


@pytest.mark.parametrize("path", recording_files("polybench*.jsonl.gz"))
def test_listings_of_names_cannot_be_made_up(path):
    """These recordings are full of names alone in their lines: a list of names looks like their listings."""
    scores = hard_scores(path, [*find_policies(["everything"]), *DUMPS], next(scan_recordings(path)).id)
    assert scores["everything"].all_span == 1.0
    assert all((scores[plan.name].hard_span or 0.0) < 0.1 for plan in DUMPS)
