"""Older evidence of requests that were made elsewhere is judged as in a replay."""

import json

import pytest

from holdfast.events import AssistantReplied
from holdfast.lab.case import make_case
from holdfast.lab.evidence.common_names import shipped_names
from holdfast.lab.evidence.needs import DEFAULT_MEASURE, study_evidence
from holdfast.lab.kept_evidence import older_evidence
from holdfast.lab.policy import NamedPolicy
from holdfast.lab.run import PolicyRun, ScoringSetup
from holdfast.lab.scored_message import MessageCounter
from holdfast.lab.stored_logs import replayed_part
from holdfast.log import Log
from holdfast.recordings import find_recording
from holdfast.store import MemoryStore
from holdfast.tokenizers import load_tokenizer
from holdfast.viewer.history import RequestHistory
from holdfast.views import path
from support.evidence_recordings import make_recording
from support.packing_runs import counter


@pytest.fixture
def entries(tmp_path):
    file = tmp_path / "recording.jsonl"
    file.write_text(json.dumps(make_recording(steps=30)))
    return path(Log.import_recording(MemoryStore(), find_recording(file), redact=str).entries())


def newest(entries, count):
    """The newest messages of a client's list, by the number of a request."""
    history = RequestHistory("list", None, counter(), lambda _: None, entries)
    return lambda number: [placed.block.message for placed in history.window(number)][-count:]


class Newest:
    """The same as a policy of a replay."""

    def __init__(self, count):
        self.count = count

    def pack(self, messages, _):
        return messages[-self.count :]


def replayed(entries, count):
    tokenizer = load_tokenizer()
    sizes = MessageCounter(tokenizer)
    case = make_case(replayed_part("r", "s", entries), "p")
    study = study_evidence(case, sizes, (DEFAULT_MEASURE,), shipped_names().above)
    policy = NamedPolicy("newest", lambda _: Newest(count), budgeted=False)
    [[score]] = PolicyRun(study, policy, 8_000, [8_000], ScoringSetup(tokenizer, sizes, (), 8_000)).run()
    return score.older_span


@pytest.mark.parametrize("count", [2, 12, 18, 10_000])
def test_older_evidence_is_what_a_replay_would_find(entries, count):
    assert older_evidence(entries, newest(entries, count)) == replayed(entries, count)


def test_everything_keeps_all_and_what_could_not_be_sent_nothing(entries):
    told = []
    assert older_evidence(entries, newest(entries, 10_000), told.append) == 1.0
    assert told == list(range(1, sum(isinstance(e.event, AssistantReplied) for e in entries) + 1))
    assert older_evidence(entries, lambda _: None) == 0.0
    assert older_evidence(entries[:6], newest(entries[:6], 10_000)) is None
