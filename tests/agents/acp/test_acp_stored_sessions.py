"""The list of sessions that an editor gets, from a real store."""

import pytest

pytest.importorskip("acp", reason="the extra `acp` is not installed")

from holdfast.agents.acp.stored_sessions import check_stored, list_sessions
from holdfast.agents.options import AgentOptions
from holdfast.agents.sessions import TASK_SOURCE, begin_session
from holdfast.errors import InputError, NotFound
from holdfast.events import UserSaid
from holdfast.log import Log
from holdfast.messages import Text
from holdfast.store import SqliteStore


@pytest.fixture
def given(tmp_path):
    """Two folders with sessions, one of a sub-agent and one in which nobody spoke; and their ids."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    with SqliteStore(tmp_path / "store.db") as store:
        logs = [begin_session(store, root) for root in (one, two, one)]
        logs.append(begin_session(store, one, source=TASK_SOURCE))
        for at, log in enumerate(logs):
            Log.open(store, log).append(UserSaid((Text(f"prompt {at}\nand more"),)), at=1_000.0 + at)
        begin_session(store, one)
    return AgentOptions(root=tmp_path, store=tmp_path / "store.db"), one, logs


def test_sessions_are_listed_newest_first_in_pages(given):
    options, one, logs = given
    found = list_sessions(options, {}, None, 0, 10)
    assert [session.session_id for session in found] == [logs[2], logs[1], logs[0]]
    assert found[0].title == "prompt 2 and more"
    assert found[0].updated_at == "1970-01-01T00:16:42+00:00"
    assert [session.cwd for session in list_sessions(options, {}, one, 0, 10)] == [str(one)] * 2
    assert list_sessions(options, {}, None, 0, 2) + list_sessions(options, {}, None, 2, 2) == found
    assert list_sessions(AgentOptions(root=one, store=one / "none.db"), {}, None, 0, 10) == []


def test_only_a_session_of_the_folder_can_be_opened(given):
    options, one, logs = given
    check_stored(options, {}, one, logs[0])
    with pytest.raises(InputError, match=r"belongs to `.*two`"):
        check_stored(options, {}, one, logs[1])
    for wrong in (logs[3], logs[0][:6], "none"):
        with pytest.raises(NotFound, match="there is no session"):
            check_stored(options, {}, one, wrong)
    with pytest.raises(NotFound):
        check_stored(AgentOptions(root=one, store=one / "none.db"), {}, one, logs[0])
