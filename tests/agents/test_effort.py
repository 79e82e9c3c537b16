"""How much a model thinks: chosen by command or for a sub-agent, and sent."""

import json

import pytest

from holdfast.agents.model_requests import RequestSettings
from holdfast.effort import THINKING_ROOM
from holdfast.errors import InputError
from holdfast.models.catalogue import ModelEntry
from holdfast.tokenizers import load_tokenizer
from support.agent_runs import CONFIG, bodies, repository, says
from support.agent_runs import run as run_process
from support.coding_sessions import CodingSetup, call, run, say
from support.provider_server import serving

ENTRY = ModelEntry(name="test/a", thinking="effort", efforts=("low", "high", "max"), effort="high")


@pytest.fixture
def setup(tmp_path):
    found = CodingSetup(tmp_path)
    yield found
    found.close()


def efforts_sent(coding):
    return [request.effort for request in coding.agent.model.requests]


def test_the_recommended_level_is_sent_until_another_is_chosen(setup):
    coding = setup.open("One.", "Two.", request_settings=RequestSettings(entry=ENTRY))
    say(coding, "Go.")
    answer = run(coding, "/effort max")
    assert (answer.effort, coding.agent.effort) == ("max", "max")
    say(coding, "Again.")
    assert efforts_sent(coding) == ["high", "max"]
    listed = run(coding, "/effort").text
    assert "`max` (now)" in listed
    assert "`high` (recommended)" in listed


@pytest.mark.parametrize(
    ("more", "sent"),
    [
        ({"thinking": "switch"}, "high"),
        ({"thinking": "effort", "efforts": ("high", "max")}, "high"),
        ({"thinking": "effort", "efforts": ("low", "high")}, "low"),
        ({"thinking": "effort", "effort": "off"}, "off"),
        ({"thinking": "no"}, "off"),
    ],
)
def test_a_model_that_can_think_does_unless_it_is_told_not_to(setup, more, sent):
    entry = ModelEntry(name="test/a", **more)
    coding = setup.open("One.", "Two.", request_settings=RequestSettings(entry=entry))
    say(coding, "Go.")
    assert efforts_sent(coding) == [sent]
    if entry.levels:
        assert f"`{sent}` (now, recommended)" in run(coding, "/effort").text


def test_where_thinking_cannot_be_turned_off_for_sure_it_is_said(setup):
    for word, about in (("default", "may think all the same"), ("none", "does not think first")):
        entry = ModelEntry(name="test/a", thinking="effort", thinking_off=word)
        coding = setup.open(log=word, request_settings=RequestSettings(entry=entry))
        assert about in run(coding, "/effort off").text
        assert about in run(coding, "/effort").text


def test_a_level_that_the_model_lacks_is_refused(setup):
    coding = setup.open(request_settings=RequestSettings(entry=ENTRY))
    with pytest.raises(InputError, match="has no level `hgh`") as error:
        run(coding, "/effort hgh")
    assert "did you mean `high`?" in error.value.hint
    assert coding.agent.effort == "high"
    with pytest.raises(InputError, match="has no levels of thinking"):
        run(setup.open(log="other"), "/effort high")


def test_a_sub_agent_thinks_as_much_as_its_parent_now_or_as_it_is_told(setup):
    def task(id_, **more):
        return [call("Task", id_, description="look", prompt="Look.", **more)]

    coding = setup.open(
        *(task("1"), "Seen.", task("2", effort="max"), "Seen.", "Done."),
        request_settings=RequestSettings(entry=ENTRY),
    )
    run(coding, "/effort low")
    say(coding, "Go.")
    assert efforts_sent(coding) == ["low", "low", "low", "max", "low"]


def test_an_own_command_thinks_as_much_as_it_says_once(setup):
    folder = setup.root / ".holdfast" / "commands"
    folder.mkdir(parents=True)
    (folder / "deep.md").write_text("---\neffort: max\n---\nThink.")
    coding = setup.open("One.", "Two.", request_settings=RequestSettings(entry=ENTRY))
    say(coding, run(coding, "/deep").say, "Again.")
    assert efforts_sent(coding) == ["max", "high"]


def test_what_a_person_chooses_while_an_own_command_works_stays(setup):
    folder = setup.root / ".holdfast" / "commands"
    folder.mkdir(parents=True)
    (folder / "deep.md").write_text("---\neffort: max\n---\nThink.")

    def choose(_):
        coding.agent.effort = "low"  # as Ctrl+T does
        return "One."

    coding = setup.open(choose, "Two.", request_settings=RequestSettings(entry=ENTRY))
    say(coding, run(coding, "/deep").say, "Again.")
    assert efforts_sent(coding) == ["max", "low"]


@pytest.mark.parametrize(("said", "is_less"), [("short", False), ("a word " * 15_000, True)])
def test_room_for_thinking_ends_with_the_window(tmp_path, said, is_less):
    root = repository(tmp_path)
    config = CONFIG.format(window=48_000).replace(
        "price", 'thinking = "effort"\nefforts = ["xhigh"]\nprice', 1
    )
    (root / "holdfast.toml").write_text(config)
    with serving(says("Hello.")) as server:
        done = run_process(root, server, data=said.encode())
    (body,) = bodies(server)
    assert done.code == 0
    assert (body["max_tokens"] < THINKING_ROOM["xhigh"]) is is_less
    counted = load_tokenizer().count(json.dumps(body["messages"]) + json.dumps(body["tools"]))
    assert body["max_tokens"] + counted < 48_000
