"""A recording studied: what stood before each request, when it was asked, and what its reply used."""

from msgspec.structs import replace

from holdfast.lab.case import RecordedTurn, ReplayCase
from holdfast.lab.evidence.needs import DEFAULT_MEASURE, Study, study_evidence
from holdfast.lab.scored_message import MessageCounter
from holdfast.tokenizers import load_tokenizer
from support.evidence import called, result, user

ASKED = user("Find open_settings in src/app/loader.py")
GREP = called("c1", "Grep", pattern="open_settings")


def studied(
    *messages, times=(), stable=(), measures=(DEFAULT_MEASURE,), common=lambda *_: lambda _: False
) -> Study:
    times = [*times, *[None] * len(messages)]
    turns = tuple(RecordedTurn(n + 10, message, times[n]) for n, message in enumerate(messages))
    return study_evidence(
        ReplayCase("r", "p", stable, turns), MessageCounter(load_tokenizer()), measures, common
    )


def texts(found: Study, request: int = -1, measure: int = 0) -> list[str]:
    return [need.text for need in found.requests[request].needs[measure]]


def test_each_reply_is_a_request_with_what_stood_before_it():
    reply = {"role": "assistant", "content": "open_settings"}
    found = studied(reply, ASKED, GREP, result("c1", "x"), None, reply)
    assert [(r.index, r.before) for r in found.requests] == [(10, 0), (12, 2), (14, 4), (15, 4)]
    assert len(found.messages) == 5


def test_only_calls_have_needs():
    reply = {"role": "assistant", "content": "I look at open_settings in src/app/loader.py"}
    assert texts(studied(ASKED, reply)) == []
    assert texts(studied(ASKED, None)) == []
    assert texts(studied(ASKED, GREP)) == ["open_settings"]


def test_a_request_is_asked_at_the_newest_time_before_it():
    reply = {"role": "assistant", "content": "hm"}
    found = studied(reply, ASKED, reply, ASKED, reply, None, reply, times=[5.0, 9.0, None, 7.0, 11.0, None])
    assert [request.at for request in found.requests] == [None, 9.0, 9.0, 11.0, 11.0]


def test_what_is_stable_or_common_is_no_need():
    assert texts(studied(ASKED, GREP, stable=("you may call open_settings",))) == []
    seen = []

    def common(measure, project):
        seen.append((measure, project))
        return lambda name: name == "open_settings"

    assert texts(studied(ASKED, GREP, common=common)) == []
    assert seen == [(DEFAULT_MEASURE, "p")]


def test_needs_are_found_for_each_measure():
    long = replace(DEFAULT_MEASURE, name_length=14)
    found = studied(ASKED, GREP, measures=(DEFAULT_MEASURE, long))
    assert found.measures == (DEFAULT_MEASURE, long)
    assert [texts(found, measure=n) for n in (0, 1)] == [["open_settings"], []]


def test_nothing_to_study():
    found = studied()
    assert (found.messages, found.requests) == ([], [])
