"""`holdfast acp`: the client of the protocol's own package, a real process, and a provider on loopback."""

import asyncio
import base64
import json
import subprocess
import sys

import pytest
from command_line import holdfast

from support.programs import running

pytest.importorskip("acp", reason="the extra `acp` is not installed")

from acp.exceptions import RequestError
from acp.helpers import (
    embedded_text_resource,
    image_block,
    resource_block,
    resource_link_block,
    text_block,
)
from acp.schema import EnvVariable, McpServerStdio

from holdfast.messages import Thinking
from support.acp_client import STDERR, Editor, editing, run_editor
from support.agent_runs import bodies, call, environment, repository, says, waited, working
from support.provider_server import Failure, Pause

READ = call("Read", "r", path="main.py")
EDIT = call("Edit", "e", path="main.py", old_string="old", new_string="new")
BEFORE = "def main():\n    print('old')\n"
AFTER = "def main():\n    print('new')\n"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture
def root(tmp_path):
    return repository(tmp_path)


async def ask(agent, session, *blocks):
    """A prompt, and why its turn ended."""
    shaped = [text_block(block) if isinstance(block, str) else block for block in blocks]
    return (await agent.prompt(prompt=shaped, session_id=session)).stop_reason


async def opened(agent, root, **more):
    return (await agent.new_session(cwd=str(root), mcp_servers=[], **more)).session_id


def states(editor, id_):
    """What was told of a call, as its states in order."""
    told = [one for one in editor.updates if getattr(one, "tool_call_id", "") == id_]
    return [one.status for one in told if one.status]


@pytest.mark.slow
def test_an_edit_is_shown_approved_and_reported(root):
    async def scenario(server):
        async with editing(root, server, editor=Editor("allow_once")) as (agent, editor, _):
            session = await agent.new_session(cwd=str(root), mcp_servers=[])
            assert session.modes.current_mode_id == "ask"
            offered = {one.id: one.current_value for one in session.config_options}
            assert (offered["mode"], offered["model"]) == ("ask", "compatible/test")
            prompt = [text_block("Print new.")]
            done = await agent.prompt(prompt=prompt, session_id=session.session_id)
            assert done.stop_reason == "end_turn"
            assert (done.usage.input_tokens, done.usage.cached_read_tokens) == (1800, 1800)
            assert done.usage.output_tokens == 120
            # All of it came before the answer.
            assert editor.text == "I look.Done."
            assert editor.said("agent_thought_chunk") == "Hm."
            assert {one.tool_call_id: one.kind for one in editor.of("tool_call")} == {
                "r": "read",
                "e": "edit",
            }
            assert states(editor, "r") == ["pending", "in_progress", "completed"]
            assert states(editor, "e") == ["pending", "in_progress", "completed"]
            [(asked, options)] = editor.asked
            assert (asked.tool_call_id, asked.title) == ("e", "Edit main.py")
            told = [one for one in editor.of("tool_call_update") if one.tool_call_id == "e"]
            assert told[0].locations[0].path == str(root / "main.py")
            for one in (asked, told[-1]):
                diff = one.content[0]
                assert (diff.path, diff.old_text, diff.new_text) == (str(root / "main.py"), BEFORE, AFTER)
            assert options[0].kind == "allow_once"
            assert options[-1].kind == "reject_once"
            usage = editor.of("usage_update")[-1]
            assert 0 < usage.used < usage.size == 200_000
            assert usage.cost.amount == pytest.approx((1800 * 1.0 + 1800 * 0.1 + 120 * 5.0) / 1e6)
            assert editor.of("session_info_update")[-1].title == "Print new."
            commands = {one.name for one in editor.of("available_commands_update")[-1].available_commands}
            assert {"context", "rewind", "help"} <= commands
            assert "resume" not in commands

    with working(says(Thinking("Hm."), "I look.", READ), says(EDIT), says("Done.")) as server:
        run_editor(scenario(server))
    assert (root / "main.py").read_text() == AFTER
    assert (root.parent / STDERR).read_text() == ""


@pytest.mark.slow
def test_a_person_rejects_closes_the_dialog_and_allows_for_the_session(root):
    steps = [
        *(says(READ), says(EDIT), says("As you wish.")),
        *(says(call("Edit", "e", path="main.py", old_string="old", new_string="x")), says("No again.")),
        *(says(call("Edit", "e3", path="main.py", old_string="old", new_string="x")), says("Edited.")),
        *(says(call("Edit", "e4", path="main.py", old_string="x", new_string="old")), says("Back.")),
        *(says(call("Bash", "b1", command="echo one > out")), says("Ran.")),
        *(says(call("Bash", "b2", command="echo one > out")), says("Ran again.")),
    ]

    async def scenario(server):
        async with editing(root, server, editor=Editor("reject_once", "", "always-folder", "log")) as (
            agent,
            editor,
            _,
        ):
            session = await opened(agent, root)
            for _ in range(6):
                assert await ask(agent, session, "Go on.") == "end_turn"
            asked = [call.tool_call_id for call, _ in editor.asked]
            assert asked == ["e", "e#2", "e3", "b1"]
            assert "Always allow Edit(/main.py) (for you, in this folder)" in [
                one.name for one in editor.asked[2][1]
            ]
            for id_ in asked[:2]:
                assert states(editor, id_)[-1] == "failed"
            for id_ in ("e3", "e4", "b1", "b2"):
                assert states(editor, id_)[-1] == "completed"

    with working(*steps) as server:
        run_editor(scenario(server))
    assert (root / "main.py").read_text() == BEFORE
    assert "The user denied this call of Edit" in str(bodies(server)[2]["messages"])


@pytest.mark.slow
def test_cancel_while_it_streams_and_while_a_person_is_asked_and_a_later_prompt(root):
    slow = says("One word after another", piece=4, pauses=(Pause(before=4),))

    async def scenario(server):
        async with editing(root, server, "--max-steps", "2", editor=Editor("wait")) as (agent, editor, _):
            session = await opened(agent, root)
            turn = asyncio.create_task(ask(agent, session, "Tell me."))
            await editor.until(lambda: "One word" in editor.text)
            with pytest.raises(RequestError, match="is at work"):
                await ask(agent, session, "And this.")
            await agent.cancel(session_id=session)
            assert await turn == "cancelled"

            turn = asyncio.create_task(ask(agent, session, "Edit."))
            await editor.until(lambda: editor.asked)
            await agent.cancel(session_id=session)
            assert await turn == "cancelled"
            assert states(editor, "e")[-1] == "failed"

            # Nothing runs now: this cancels no later prompt.
            await agent.cancel(session_id=session)
            assert await ask(agent, session, "Say hello.") == "end_turn"
            assert editor.text.endswith("Hello.")

            with pytest.raises(RequestError, match="hint: "):
                await ask(agent, session, "Fail.")
            assert await ask(agent, session, "Look around.") == "max_turn_requests"
            assert "the limit of 2 steps is reached" in editor.text

    looks = [says(call("LS", f"l{n}", path=".")) for n in range(3)]
    hello = [says("Hello."), Failure(kind="auth")]
    with working(slow, says(READ), says(EDIT), *hello, *looks) as server:
        run_editor(scenario(server))
    said = [message["content"] for message in bodies(server)[3]["messages"]]
    assert any("One word" in str(text) for text in said)
    assert "Say hello." in said
    assert (root / "main.py").read_text() == BEFORE


@pytest.mark.slow
def test_modes_options_and_commands(root):
    async def scenario(server):
        async with editing(root, server, env={"ANTHROPIC_API_KEY": "k"}) as (agent, editor, _):
            session = await opened(agent, root)
            with pytest.raises(RequestError, match="there is no mode `free`"):
                await agent.set_session_mode(mode_id="free", session_id=session)
            await agent.set_session_mode(mode_id="edit", session_id=session)
            assert await ask(agent, session, "Print new.") == "end_turn"
            assert editor.asked == []
            options = (await agent.set_config_option("mode", session, "plan")).config_options
            assert options[0].current_value == "plan"
            with pytest.raises(RequestError, match="there is no option `colour`"):
                await agent.set_config_option("colour", session, "red")
            with pytest.raises(RequestError, match="there is no model `a/b`"):
                await agent.set_config_option("model", session, "a/b")

            # A model that thinks has levels, and the effort stays when another is chosen.
            claude = next(one.value for one in options[1].options if one.value.startswith("anthropic/claude"))
            options = (await agent.set_config_option("model", session, claude)).config_options
            assert options[2].category == "thought_level"
            options = (await agent.set_config_option("effort", session, "low")).config_options
            assert options[2].current_value == "low"
            with pytest.raises(RequestError, match="has no level `very`"):
                await agent.set_config_option("effort", session, "very")

            # To another model and back, to the address that it was given with.
            for model in ("anthropic/test", "compatible/test"):
                options = (await agent.set_config_option("model", session, model)).config_options
                assert options[1].current_value == model
                assert options[0].current_value == "plan"
            assert await ask(agent, session, "/clear") == "end_turn"
            assert "this command is for a terminal" in editor.text
            assert await ask(agent, session, "/mode auto") == "end_turn"
            assert editor.of("current_mode_update")[-1].current_mode_id == "auto"
            assert editor.of("config_option_update")[-1].config_options[0].current_value == "auto"
            assert "asks only if a rule says so" in editor.text
            assert await ask(agent, session, "/mode bold") == "end_turn"
            assert "there is no mode `bold`" in editor.text
            # A path is no command, and what opens another session is none here.
            assert await ask(agent, session, "/etc/hosts: what is it?") == "end_turn"
            sent = [message["content"] for message in bodies(server)[-1]["messages"]]
            assert "/etc/hosts: what is it?" in sent

    with working(says(READ), says(EDIT), says("Done.")) as server:
        run_editor(scenario(server))
    assert (root / "main.py").read_text() == AFTER


@pytest.mark.slow
def test_a_session_is_listed_loaded_and_continued_in_a_new_process(root):
    todos = [{"content": "look", "status": "completed"}, {"content": "write", "status": "in_progress"}]
    steps = [says("I look.", READ, call("TodoWrite", "t", todos=todos)), says(EDIT), says("Done.")]

    async def first(server):
        async with editing(root, server, "--mode", "edit") as (agent, editor, _):
            session = await opened(agent, root)
            await opened(agent, root)  # Nobody speaks in this one.
            assert await ask(agent, session, "Print new.") == "end_turn"
            plan = editor.of("plan")[-1].entries
            assert [(one.content, one.status) for one in plan] == [
                ("look", "completed"),
                ("write", "in_progress"),
            ]
            assert "t" not in {one.tool_call_id for one in editor.of("tool_call")}

    async def second(server):
        async with editing(root, server) as (agent, editor, _):
            [stored] = (await agent.list_sessions(cwd=str(root))).sessions
            assert (stored.title, stored.cwd) == ("Print new.", str(root))
            assert (await agent.list_sessions()).sessions == [stored]
            assert (await agent.list_sessions(cwd=str(root.parent))).sessions == []
            session = stored.session_id
            loaded = await agent.load_session(cwd=str(root), session_id=session, mcp_servers=[])
            assert loaded.modes.current_mode_id == "ask"
            assert editor.said("user_message_chunk") == "Print new."
            assert editor.text == "I look.Done."
            assert [states(editor, id_)[-1] for id_ in ("r", "e")] == ["completed", "completed"]
            diff = [one for one in editor.of("tool_call_update") if one.tool_call_id == "e"][-1].content[0]
            assert (diff.old_text, diff.new_text) == ("old", "new")
            assert editor.of("plan")
            assert await ask(agent, session, "What did you do?") == "end_turn"
            # Resumed without its history, in the same process.
            await agent.close_session(session_id=session)
            with pytest.raises(RequestError, match="there is no open session"):
                await ask(agent, session, "Hello?")
            editor.updates.clear()
            await agent.resume_session(session_id=session, cwd=str(root), mcp_servers=[])
            assert await ask(agent, session, "And now?") == "end_turn"
            assert editor.said("user_message_chunk") == ""
            assert editor.text == "I edited main.py."

    with working(*steps) as server:
        run_editor(first(server))
    with working(says("I edited main.py.")) as server:
        run_editor(second(server))
    said = [str(message.get("content")) for message in bodies(server)[-1]["messages"]]
    assert [text for text in said if text in ("Print new.", "What did you do?", "And now?")] == [
        *("Print new.", "What did you do?", "And now?"),
    ]


@pytest.mark.slow
def test_two_sessions_in_two_folders_with_attachments(root, tmp_path):
    other = repository(tmp_path / "second")
    config = (root / "holdfast.toml").read_text()
    (root / "holdfast.toml").write_text(config.replace("window", "images = true\nwindow", 1))

    async def scenario(server):
        async with editing(root, server) as (agent, editor, _):
            one, two = await opened(agent, root), await opened(agent, other)
            blocks = [
                text_block("Compare "),
                resource_link_block("main.py", (root / "main.py").as_uri() + "#L1:2"),
                text_block(" with "),
                resource_block(embedded_text_resource((root / "notes.md").as_uri(), "Write to @main.py.")),
                image_block(PNG, "image/png"),
            ]
            turns = await asyncio.gather(ask(agent, one, *blocks), ask(agent, two, "Hello."))
            assert turns == ["end_turn", "end_turn"]
            with pytest.raises(RequestError, match="no picture that a model reads"):
                await ask(agent, one, image_block(base64.b64encode(b"GIF").decode(), "image/gif"))
            with pytest.raises(RequestError, match="the model takes no pictures"):
                await ask(agent, two, image_block(PNG, "image/png"))
            (root / "cut.png").write_bytes(base64.b64decode(PNG)[:40])
            assert await ask(agent, one, "See @cut.png") == "end_turn"
            assert "`cut.png` begins like a picture, but it is damaged" in editor.said("agent_thought_chunk")
            with pytest.raises(RequestError, match="the prompt is empty"):
                await ask(agent, one, " ")

    with working(says("Hello.")) as server:
        run_editor(scenario(server))
    sent = [json.dumps(body["messages"]) for body in bodies(server)]
    with_files = next(text for text in sent if "Compare" in text)
    assert 'Compare @\\"main.py\\":1-2 with `notes.md`' in with_files
    assert "You must read them with Read before you answer:\\n- main.py, lines 1-2\\n<" in with_files
    assert "Write to @main.py.\\n</attachment>" in with_files
    assert PNG in with_files
    [plain] = [text for text in sent if "Compare" not in text]
    assert str(other) in plain
    assert str(root) + '"' not in plain


@pytest.mark.slow
def test_own_commands_hooks_and_the_output_of_a_running_command(root):
    (root / ".holdfast" / "commands").mkdir(parents=True)
    (root / ".holdfast" / "commands" / "again.md").write_text("---\nargument-hint: WHAT\n---\nOnce more: $1.")
    own = root.parent / "config" / "holdfast" / "holdfast.toml"
    own.parent.mkdir(parents=True)
    own.write_text(
        '[[hooks.prompt]]\ncommand = "grep -q secret && { echo no secrets >&2; exit 2; }; exit 0"\n'
    )
    # It ends when the editor has been told what it printed.
    print_and_wait = call("Bash", "b", command="echo begun '```'; until [ -e seen ]; do sleep 0.05; done")

    async def scenario(server):
        async with editing(root, server, "--mode", "auto") as (agent, editor, _):
            session = await opened(agent, root)
            attached = resource_block(embedded_text_resource((root / "notes.md").as_uri(), "A secret."))
            assert await ask(agent, session, "Look at ", attached) == "refusal"
            assert "blocked the message: no secrets" in editor.text
            assert bodies(server) == []
            turn = asyncio.create_task(ask(agent, session, "/again tests"))
            await editor.until(lambda: any("begun" in text for text in printed(editor)))
            (root / "seen").touch()
            assert await turn == "end_turn"
            commands = editor.of("available_commands_update")[-1].available_commands
            [again] = [one for one in commands if one.name == "again"]
            assert again.input.root.hint == "WHAT"
            assert "again.md" in again.description
            # The fence is longer than what is in it.
            assert printed(editor)[0] == "````\nbegun ```\n````"

    def printed(editor):
        updates = [one for one in editor.of("tool_call_update") if one.tool_call_id == "b" and one.content]
        return [one.content[0].content.text for one in updates]

    with working(says(print_and_wait), says("Done.")) as server:
        run_editor(scenario(server))
    assert "Once more: tests." in str(bodies(server)[0]["messages"])


@pytest.mark.slow
def test_questions_sub_agents_and_a_server_of_the_editor(root):
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    choices = [{"label": "SQLite", "description": "one file"}, {"label": "Postgres"}]
    question = {"question": "Which database?", "options": choices}
    task = call("Task", "t", description="print new", prompt="Edit it.", writes=True)
    steps = [
        *(says(call("AskUser", "q", questions=[question, {**question, "multiple": True}])), says(task)),
        *(says(READ), says(EDIT), says("Sub-agent: done.")),
        says("All done."),
    ]
    mark = root.parent / "mark"
    given = McpServerStdio(
        name="sample",
        command="sh",
        args=["-c", 'pwd > "$MARK"; exit 3'],
        env=[EnvVariable(name="MARK", value=str(mark))],
    )
    answers = ("SQLite", "Postgres", "That is all", "allow_once")

    async def scenario(server):
        async with editing(root, server, editor=Editor(*answers)) as (agent, editor, _):
            session = await agent.new_session(cwd=str(root), mcp_servers=[given])
            assert await ask(agent, session.session_id, "Go.") == "end_turn"
            asked = [(call.tool_call_id, call.title) for call, _ in editor.asked]
            assert asked[:3] == [("q", "Which database?")] * 3
            assert asked[3] == ("t", "print new: Edit main.py")
            assert editor.asked[3][0].content[0].new_text == AFTER
            updates = [one for one in editor.of("tool_call_update") if one.tool_call_id == "t"]
            assert any("step 1: Read main.py" in str(one.content) for one in updates)
            assert updates[-1].status == "completed"
            await asyncio.to_thread(waited, mark.exists)

    with working(*steps) as server:
        run_editor(scenario(server))
    assert (root / "main.py").read_text() == AFTER
    said = json.dumps(bodies(server)[-1]["messages"])
    assert "Answer: SQLite" in said
    assert "Answer: Postgres" in said
    assert mark.read_text() == f"{root}\n"


@pytest.mark.slow
def test_an_editor_with_forms_shows_all_questions_in_one(root):
    options = [{"label": "SQLite", "description": "one file"}, {"label": "Postgres"}]
    questions = [
        {"question": "Which database?", "options": options},
        {"question": "For which tests?", "options": options, "multiple": True},
    ]
    editor = Editor()
    editor.form = {"choice0": "SQLite", "words0": "in memory", "choice1": ["SQLite", "Postgres"]}

    async def scenario(server):
        async with editing(root, server, editor=editor) as (agent, _, _):
            session = await opened(agent, root)
            assert await ask(agent, session, "Go.") == "end_turn"
            [form] = editor.forms
            assert form.tool_call_id == "q"
            fields = form.requested_schema.properties
            assert [one.title for one in fields.values()][::2] == ["Which database?", "For which tests?"]
            assert editor.asked == []

    with working(says(call("AskUser", "q", questions=questions)), says("Good.")) as server:
        run_editor(scenario(server))
    said = json.dumps(bodies(server)[-1]["messages"])
    assert "Answer: SQLite; in their own words:" in said
    assert "in memory" in said
    assert "Answer: SQLite; Postgres" in said


@pytest.mark.slow
@pytest.mark.parametrize("signal", [None, 2], ids=["closed", "Ctrl-C"])
def test_an_editor_that_goes_away_in_the_middle_of_a_turn_loses_nothing(root, signal):
    slow = says("One word after another", piece=4, pauses=(Pause(before=4),))

    async def leaves(server):
        async with editing(root, server) as (agent, editor, process):
            session = await opened(agent, root)
            turn = asyncio.create_task(ask(agent, session, "Tell me."))
            await editor.until(lambda: "One word" in editor.text)
            if signal:
                process.send_signal(signal)
            else:
                process.stdin.close()
            assert await process.wait() == 0
            turn.cancel()

    async def comes_back(server):
        async with editing(root, server) as (agent, editor, _):
            [stored] = (await agent.list_sessions(cwd=str(root))).sessions
            await agent.load_session(cwd=str(root), session_id=stored.session_id, mcp_servers=[])
            assert editor.said("user_message_chunk") == "Tell me."
            assert "One word" in editor.text

    with working(slow) as server:
        run_editor(leaves(server))
        run_editor(comes_back(server))
    assert "Traceback" not in (root.parent / STDERR).read_text()


def lines(*messages):
    return b"".join(m if isinstance(m, bytes) else json.dumps(m).encode() + b"\n" for m in messages)


def request(id_, method, **params):
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


@pytest.mark.slow
def test_what_is_asked_wrongly_is_answered_with_an_error_of_the_protocol(root):
    sent = lines(
        b"this is no JSON\n",
        b"[1, 2]\n",
        {"jsonrpc": "2.0", "id": 7},
        request(1, "initialize", protocolVersion=99),
        request(2, "session/prompt", sessionId="none", prompt=[]),
        request(3, "session/load", sessionId="none", cwd=str(root), mcpServers=[]),
        request(4, "session/new", cwd="relative", mcpServers=[]),
        request(5, "session/new", cwd=str(root), mcpServers="many"),
        request(6, "session/dance"),
        request(8, "session/new", cwd=str(root), mcpServers=[]),
        {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "none"}},
        {"jsonrpc": "2.0", "method": "unknown/notification"},
        request(9, "session/list"),
        request(10, "session/list", cursor="9" * 5_000),
        request(11, "session/new", cwd="/" + "a" * 5_000, mcpServers=[]),
    )
    pipe = subprocess.PIPE
    env = {**environment(root), "ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}
    command = [sys.executable, "-m", "holdfast", "acp"]
    with running(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env) as process:
        process.stdin.write(sent)
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(13)]
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    codes = {one["id"]: one["error"]["code"] for one in answers if "error" in one}
    assert [one["error"]["code"] for one in answers[:2]] == [-32700, -32600]
    assert codes == {
        None: -32600,
        7: -32600,
        2: -32002,
        3: -32002,
        4: -32602,
        5: -32602,
        6: -32601,
        8: -32603,
        10: -32602,
        11: -32602,
    }
    said = {one["id"]: one["error"]["message"] for one in answers if "error" in one}
    assert said[2] == "there is no open session `none`\nhint: open it with `session/load`"
    assert said[8].startswith("no model is chosen")
    results = {one["id"]: one["result"] for one in answers if "result" in one}
    assert results[1]["protocolVersion"] == 1
    assert results[1]["agentCapabilities"]["loadSession"] is True
    assert results[1]["agentCapabilities"]["promptCapabilities"] == {
        "audio": False,
        "embeddedContext": True,
        "image": True,
    }
    assert results[9]["sessions"] == []
    assert b"Traceback" not in errors


def test_without_the_extra_one_sentence_says_so(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "acp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "acp", None)
    done = holdfast("acp")
    assert done.code == 2
    assert done.err == (
        "error: `holdfast acp` needs the SDK of the Agent Client Protocol, which is not installed\n"
        "hint: run `pip install '.[acp]'` in a checkout of Holdfast\n"
    )


@pytest.mark.slow
def test_without_an_editor_one_sentence_says_so(tmp_path):
    with (tmp_path / "file").open("w+b") as file:
        command = [sys.executable, "-m", "holdfast", "acp"]
        done = subprocess.run(command, stdin=file, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: `holdfast acp` talks to an editor through pipes")
