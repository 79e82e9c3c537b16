"""Background jobs: the command that lists and stops them, and what the model is told of their end."""

import itertools

import pytest

from holdfast.agents.outcomes import Done
from holdfast.errors import InputError
from holdfast.events import UserSaid
from holdfast.messages import joined_text
from holdfast.models.scripted import ScriptedModel
from support.coding_sessions import CodingSetup, call, requests, run, say

WAITS = "until [ -e go ]; do sleep 0.02; done"


@pytest.fixture
def setup(tmp_path):
    found = CodingSetup(tmp_path)
    yield found
    found.close()


def background(command, id_="1"):
    return call("Bash", id_, command=command, run_in_background=True)


def reminders(coding):
    events = (entry.event for entry in coding.session.log.entries())
    said = [event for event in events if isinstance(event, UserSaid) and event.origin == "reminder"]
    return [joined_text(event.parts) for event in said if "background job" in joined_text(event.parts)]


def test_jobs_are_listed_shown_and_stopped(setup):
    coding = setup.open([background("echo 'a | b'; exec sleep 300")], "It runs.")
    assert run(coding, "/jobs").text == "There are no jobs."
    say(coding, "Start it.")
    job = coding.tool_state.shell.jobs["b1"]
    while not job.output.lines:
        job.join(0.02)
    listed = run(coding, "/jobs").text
    assert listed.startswith("1 job runs in the background.")
    assert "| b1 | runs | " in listed
    assert "`echo 'a \\| b'; exec sleep 300` |" in listed
    shown = run(coding, "/jobs b1").text
    assert shown.startswith("Running: \"b1\", `echo 'a | b'; exec sleep 300`: 1 line, 6 bytes")
    assert "```\na | b\n```" in shown
    stopped = run(coding, "/jobs stop b1").text
    assert stopped.startswith('Exit code: 143 (stopped by the user) of "b1"')
    assert "0 jobs run in the background." in run(coding, "/jobs").text
    assert "; it had ended before." in run(coding, "/jobs stop b1").text


@pytest.mark.parametrize(
    ("typed", "message", "hint"),
    [
        ("/jobs b7", "there is no job `b7`", "there are none"),
        ("/jobs stop b7", "there is no job `b7`", "there are none"),
        ("/jobs stop", "which job is meant?", "`/jobs [ID | stop ID]`"),
        ("/jobs b1 b2", "`b1 b2` is not a job", "`/jobs [ID | stop ID]`"),
    ],
)
def test_a_mistyped_job_is_refused(setup, typed, message, hint):
    with pytest.raises(InputError) as error:
        run(setup.open(), typed)
    assert (error.value.message, error.value.hint) == (message, hint)


def test_the_model_is_told_during_a_run_that_a_job_has_ended(setup):
    calls = itertools.count()

    def reply(request):
        if "A background job has ended" in str(request.messages):
            return "I see."
        number = next(calls)
        return [
            call("Bash", "b", command=f"touch go; : {number}") if number else background(f"{WAITS}; exit 3")
        ]

    coding = setup.open(model=ScriptedModel(reply, repeat_last=True))
    (end,) = say(coding, "Go.")
    assert end == Done("I see.")
    (told,) = reminders(coding)
    assert 'A background job has ended. Exit code: 3 of "b1"' in told


def test_the_model_is_told_of_it_with_the_next_message(setup):
    coding = setup.open([background(WAITS)], "It runs.", "I see.")
    say(coding, "Start it.")
    (setup.root / "go").touch()
    coding.tool_state.shell.jobs["b1"].join(60)
    assert reminders(coding) == []
    say(coding, "Well?")
    assert len(reminders(coding)) == 1
    assert "A background job has ended. Exit code: 0" in str(requests(coding)[-1].messages)


def test_a_resumed_session_knows_that_its_jobs_were_ended(setup):
    coding = setup.open([background("exec sleep 300")], "It runs.")
    say(coding, "Start it.")
    coding.runner.run(coding.aclose())
    again = setup.open("I see.")
    say(again, "Well?")
    assert "The background job b1 was ended, because the session was closed." in str(
        requests(again)[-1].messages
    )
