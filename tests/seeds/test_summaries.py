"""What the design documents say of summaries, as the program writes them by rule.

Each test names the rows of docs/seeds.md that it stands for.
"""

import asyncio

import pytest

from holdfast.compaction.compact import compact
from holdfast.session import Session
from support.seed_rounds import add_round, seed_session, whole_rounds


def summaries(profile):
    """The archive and the state that a compaction of a long session leaves."""
    with Session(budget="8k", profile=profile) as session:
        session.append({"role": "user", "content": "Fix the parser. Don't commit yet. Never touch docs/."})
        for number in range(30):
            call = {"id": f"c{number}", "type": "function", "function": {"name": "Read", "arguments": "{}"}}
            session.append({"role": "assistant", "content": f"Part {number}.", "tool_calls": [call]})
            text = "\n".join(f"{n}: some text of part {number}" for n in range(30))
            session.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
            if number % 5 == 4:
                session.append({"role": "assistant", "content": f"Done with {number}."})
                session.append({"role": "user", "content": f"Now part {number + 1}."})
        session.append(
            {"role": "assistant", "content": "All done."}, {"role": "user", "content": "Commit it."}
        )
        asyncio.run(compact(session))
        found = session.window.view().transcript.compactions
        assert found.state is not None
        return [one.text for one in found.archive.values()], found.state.text


@pytest.mark.parametrize(
    ("profile", "archived", "state"),
    [
        ("code", "# Archived Session Summary", "# Working State"),
        ("draft16k", "[History Summary]", "[Current State]"),
    ],
)
def test_archive_and_state_are_told_apart_and_no_field_says_none(profile, archived, state):
    """000-25, 000-29, 001-62, 004-15."""
    archives, now = summaries(profile)
    assert archives
    assert all(text.startswith(archived) for text in archives)
    assert now.startswith(state)
    for text in (*archives, now):
        assert "none" not in text.lower()


def test_what_was_taken_back_is_said_to_be_and_the_latest_request_is_the_latest():
    _, now = summaries("code")
    assert "The user took back: “Don't commit yet.”" in now
    assert "The user: “Never touch docs/.”" in now
    assert "Latest request: “Commit it.”" in now


class SilentModel:
    """A model that never answers."""

    name = "silent/model"

    async def stream(self, _):
        await asyncio.Event().wait()
        yield None

    async def aclose(self):
        pass


def test_classic_truncates_where_a_model_does_not_answer():
    """001-41: what is old is left out, without a summary and without a second try."""
    with seed_session("classic", 12_000, summary_timeout=0.05) as session:
        for number in range(16):
            add_round(session, number, lines=20)
        done = asyncio.run(compact(session, SilentModel()))
        assert done.written.failures == ("no answer within 0.05 s",)
        assert done.written.by == "truncation"
        (archived,) = session.window.transcript.compactions.archive.values()
        assert archived.text.startswith(
            "[holdfast: 12 steps were left out, and no summary of them was written"
        )
        assert session.window.transcript.compactions.state is None
        assert whole_rounds(session) == [*range(6, 16)]
