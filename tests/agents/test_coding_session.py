"""A coding session: the real tools in a real repository with a scripted model, closed and resumed."""

import asyncio
import subprocess

import msgspec
import pytest

from holdfast.agents.build import AgentConfig
from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.notices import Reminded
from holdfast.agents.outcomes import Done
from holdfast.events import RulesSet, ToolReturned, UserSaid
from holdfast.messages import Image, Text, ToolCall
from holdfast.models.scripted import ScriptedModel
from holdfast.packing.profile import BUILT_IN
from holdfast.store import SqliteStore
from holdfast.tools.permissions.gate import ApprovalAnswer
from holdfast.tools.permissions.tool_rules import Permissions


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repo"
    (root / "web").mkdir(parents=True)
    (root / "main.py").write_text("def main():\n    print('old')\n")
    (root / "web" / "page.ts").write_text("export const page = 1;\n")
    (root / "web" / "AGENTS.md").write_text("Two spaces in web.\n")
    (root / "code_law.md").write_text("Never use tabs.\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def opened(tmp_path, repository, *replies, log="session", **more):
    news = []
    opening = AgentConfig(
        root=repository,
        store=SqliteStore(tmp_path / "store.db"),
        log=log,
        model=ScriptedModel(*replies),
        profile=BUILT_IN["code"].scaled_to(32_000),
        snapshots=tmp_path / "snapshots",
        permissions=Permissions(),
        watch=news.append,
        **({"mode": "auto"} | more),
    )
    coding = CodingSession(opening)
    coding.news = news
    coding.model = opening.model
    return coding


def say(coding, text):
    async def work():
        try:
            return await coding.say(text)
        finally:
            await coding.aclose()

    return asyncio.run(work())


def call(name, id_="c", **arguments):
    return ToolCall(id_, name, arguments)


def results(coding):
    return [e.event for e in coding.session.log.entries() if isinstance(e.event, ToolReturned)]


def texts(coding):
    return [result.parts[0].text for result in results(coding)]


EDIT = {"path": "main.py", "old_string": "old", "new_string": "new"}
RUN = "mkdir -p out && cd out && PYTHONPATH=.. python3 -c 'import main; main.main()'"
WORK = (
    [call("Read", "1", path="main.py"), call("Grep", "2", pattern="print")],
    [call("Edit", "3", **EDIT)],
    [call("Bash", "4", command=RUN)],
    [call("TodoWrite", "5", todos=[{"content": "check", "status": "in_progress"}])],
    "It prints `new` now.",
)


def test_a_small_task_end_to_end(tmp_path, repository):
    coding = opened(tmp_path, repository, *WORK)
    assert say(coding, "Print new instead of old in @main.py") == Done("It prints `new` now.")
    assert "'new'" in (repository / "main.py").read_text()
    first, found, edited, ran, todos = texts(coding)
    assert "print('old')" in first
    assert "main.py" in found
    assert edited.startswith("Edited `main.py`")
    assert "new" in ran
    assert "check" in todos
    assert [result.shown[:11] for result in results(coding) if result.name == "Edit"] == ["--- main.py"]
    asked = str(coding.model.requests[0].messages)
    assert "You must read them with Read" in asked
    assert "Never use tabs." in asked


def test_after_a_restart_the_tools_know_what_they_knew(tmp_path, repository):
    say(opened(tmp_path, repository, *WORK), "Go.")
    again = opened(
        tmp_path,
        repository,
        [
            call("Edit", "6", path="main.py", old_string="new", new_string="newer"),
            call("Bash", "7", command="pwd"),
        ],
        "Done.",
    )
    assert say(again, "Make it newer.") == Done("Done.")
    edited, where = texts(again)[-2:]
    assert edited.startswith("Edited `main.py`"), "it was read before the restart"
    assert where.strip().endswith("/repo/out"), "the working directory is where it was"


def test_after_a_restart_what_was_sent_is_sent_again_to_the_byte(tmp_path, repository):
    first = opened(tmp_path, repository, *WORK)
    say(first, "Go.")
    again = opened(tmp_path, repository, "Yes.")
    say(again, "Done?")
    before, now = first.model.requests[-1], again.model.requests[0]
    assert now.tools == before.tools
    prefix = before.messages[:-1]
    assert "Todo recap" in str(before.messages[-1]), "the tail, which is new in each request"
    sent = msgspec.json.encode(now.messages[: len(prefix)])
    assert sent == msgspec.json.encode(tuple(prefix))


def test_undo_takes_the_last_edit_back_also_after_a_restart(tmp_path, repository):
    say(opened(tmp_path, repository, *WORK), "Go.")
    again = opened(tmp_path, repository, "I see.")
    assert "+    print('old')" in again.undo()
    assert "'old'" in (repository / "main.py").read_text()
    say(again, "Well?")
    third = opened(tmp_path, repository, "Yes.")
    assert third.tool_state.files.edits == []
    asyncio.run(third.aclose())


def test_rules_are_read_again_when_they_change_and_folders_have_their_own(tmp_path, repository):
    coding = opened(tmp_path, repository, [call("Read", "1", path="web/page.ts")], "Read.", "Again.")

    async def work():
        await coding.say("Read the page.")
        (repository / "code_law.md").write_text("Always use tabs.\n")
        await coding.say("And now?")
        await coding.aclose()

    asyncio.run(work())
    rules = [e.event.text for e in coding.session.log.entries() if isinstance(e.event, RulesSet)]
    assert rules == ["Never use tabs.\n", "Always use tabs.\n"]
    assert any("Two spaces in web." in n.text for n in coding.news if isinstance(n, Reminded))
    assert "Never use tabs." not in str(coding.model.requests[-1].messages)


def test_reading_again_what_is_on_view_says_so(tmp_path, repository):
    coding = opened(
        tmp_path, repository, [call("Read", "1", path="main.py")], [call("Read", "2", path="main.py")], "Ok."
    )
    say(coding, "Read it twice.")
    assert "unchanged" in texts(coding)[1].lower()
    assert "print" not in texts(coding)[1]


class Person:
    """Answers what is asked, and remembers it."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def approve(self, question):
        self.asked.append(question)
        return self.answers.pop(0)


def test_a_denial_is_read_by_the_model_and_survives_a_restart(tmp_path, repository):
    person = Person(ApprovalAnswer("deny", "keep that file as it is"))
    coding = opened(
        tmp_path,
        repository,
        [call("Read", "1", path="main.py")],
        [call("Edit", "2", **EDIT)],
        "Then not.",
        mode="ask",
        approver=person,
    )
    assert say(coding, "Change it.") == Done("Then not.")
    assert "keep that file as it is" in texts(coding)[1]
    assert "'old'" in (repository / "main.py").read_text()
    again_person = Person(ApprovalAnswer("log"))
    again = opened(
        tmp_path,
        repository,
        [call("Edit", "3", **EDIT)],
        [call("Edit", "4", path="main.py", old_string="new", new_string="newer")],
        "Done.",
        mode="ask",
        approver=again_person,
    )
    assert say(again, "Do it after all.") == Done("Done.")
    assert [q.denied_before for q in again_person.asked] == ["keep that file as it is"]
    assert "'newer'" in (repository / "main.py").read_text(), "allowed for the whole log"


def test_in_plan_mode_nothing_is_changed(tmp_path, repository):
    writes = [call("Write", "1", path="new.py", content="x")]
    runs = [call("Bash", "2", command="touch x; ls")]
    coding = opened(tmp_path, repository, writes, runs, "A plan.", mode="plan")
    assert say(coding, "Plan it.") == Done("A plan.")
    assert all("plan mode" in text for text in texts(coding))
    assert sorted(p.name for p in repository.iterdir()) == [".git", "code_law.md", "main.py", "web"]


def test_pictures_belong_to_the_message_and_an_attached_text_mentions_nothing(tmp_path, repository):
    coding = opened(tmp_path, repository, "I see.")
    picture = Image("image/png", "AAAA")

    async def work():
        try:
            return await coding.say("Look.", "As @main.py says.", images=[picture])
        finally:
            await coding.aclose()

    assert asyncio.run(work()) == Done("I see.")
    events = [entry.event for entry in coding.session.log.entries()]
    said = [one.parts for one in events if isinstance(one, UserSaid) and one.origin == "person"]
    assert said == [(Text("Look."), picture), (Text("As @main.py says."),)]
    reminders = [str(one.parts) for one in events if isinstance(one, UserSaid) and one.origin == "reminder"]
    assert not any("main.py" in text for text in reminders)
