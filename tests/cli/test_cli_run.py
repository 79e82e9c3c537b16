"""`holdfast run` in a real repository against a provider on loopback: in a process of its own where streams and
signals matter, else in this one."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import holdfast, process

from holdfast.cli.event_output import describe_notice
from holdfast.cli.exits import EXIT_CODES
from holdfast.models.model import RetryScheduled
from support.agent_runs import (
    Ran,
    bodies,
    call,
    environment,
    killed,
    last_content,
    repository,
    run,
    says,
    start,
    waited,
)
from support.provider_server import Failure, Pause, serving

EDIT = call("Edit", "e", path="main.py", old_string="old", new_string="new")
READ = call("Read", "r", path="main.py")


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = repository(tmp_path)
    monkeypatch.chdir(root)
    for name, value in environment(root).items():
        monkeypatch.setenv(name, value)
    return root


def here(server, *arguments):
    """The command in this process and folder."""
    name = f"compatible/test@{server.openai_url}"
    done = holdfast("run", "--model", name, "--sandbox", "off", *arguments)
    return Ran(done.code, done.out, done.err.encode())


def test_the_answer_is_all_that_stands_on_stdout(root):
    with serving(says("I look.", READ), says("It prints `old`.")) as server:
        done = here(server, "-p", "What does @main.py print?")
    assert (done.code, done.out) == (0, "It prints `old`.\n")
    assert "Read main.py – " in done.err
    assert "2 steps, 2,480 tokens (1,200 cached), $0.0017, log l" in done.err
    asked = bodies(server)[0]
    assert asked["messages"][1]["content"] == "What does @main.py print?"
    assert "You must read them with Read" in asked["messages"][2]["content"]


def test_one_object_with_usage_cost_and_files(root):
    with serving(says(READ), says(EDIT), says("Done.")) as server:
        done = here(server, "-p", "Print new.", "--mode", "edit", "--json")
    told = done.json
    assert told["outcome"] == "done"
    assert told["text"] == "Done."
    assert told["steps"] == 3
    assert told["usage"] == {
        "prompt": 3600,
        "completion": 120,
        "cache_read": 1800,
        "cache_write": 0,
        "searches": 0,
    }
    assert told["dollars"] == pytest.approx((1800 * 1.0 + 1800 * 0.1 + 120 * 5.0) / 1e6)
    assert told["files"] == ["main.py"]
    assert told["log"].startswith("l")
    assert "'new'" in (root / "main.py").read_text()


def test_a_line_for_everything_that_happens(root):
    with serving(says("I look.", READ), says("Fine.")) as server:
        done = here(server, "-p", "Look.", "--stream-json", "--partial")
    kinds = [line["type"] for line in done.lines]
    assert kinds == ["start", "step", "text", "reply", "call", "result", "step", "text", "reply", "end"]
    assert all(line["v"] == 1 for line in done.lines)
    assert done.lines[0]["model"] == "compatible/test"
    result = done.lines[5]
    assert (result["id"], result["name"], result["status"]) == ("r", "Read", "success")
    assert "print('old')" in result["text"]
    assert done.lines[-1]["text"] == "Fine."
    assert done.err == ""


def test_a_command_that_failed_is_no_success_in_the_stream(root):
    steps = (
        says(call("Bash", "1", command="exit 3")),
        says(call("Bash", "2", command="true")),
        says("Done."),
    )
    with serving(*steps) as server:
        done = here(server, "-p", "Run.", "--stream-json", "--mode", "auto")
    results = [line for line in done.lines if line["type"] == "result"]
    assert [(line["status"], line["exit_code"]) for line in results] == [("error", 3), ("success", 0)]


def test_what_is_streamed_and_traced_has_no_secret(root, tmp_path):
    secret = "ghp_" + "Ab1" * 12
    (root / "key.txt").write_text(f"token = {secret}\n")
    with serving(says(call("Read", "1", path="key.txt")), says("Read.")) as server:
        done = here(server, "-p", "Look.", "--stream-json", "--trace", str(tmp_path / "trace.jsonl"))
    trace = (tmp_path / "trace.jsonl").read_text()
    assert secret not in done.out + trace
    assert "<REDACTED>" in done.out
    assert [json.loads(line)["type"] for line in trace.splitlines()][-1] == "end"
    assert all("at" in json.loads(line) for line in trace.splitlines())


@pytest.mark.slow
def test_the_prompt_comes_from_a_pipe_and_data_beside_one(root):
    with serving(says("Yes."), says("Well.")) as server:
        assert run(root, server, data=b"Is it so?\n").out == "Yes.\n"
        run(root, server, "-p", "Sum up.", data="ä @main.py\n".encode())
    alone, both = bodies(server)
    assert alone["messages"][1]["content"] == "Is it so?"
    said = [message["content"] for message in both["messages"][1:-1]]
    assert "Sum up." in str(said)
    assert "<stdin>\nä @main.py\n\n</stdin>" in str(said).replace("\\n", "\n")
    assert "system-reminder" not in str(said), "an `@` in data mentions nothing"


def test_a_folder_without_rules_is_mentioned_once(root):
    with serving(says("Hi."), says("Hi.")) as server:
        first, second = here(server, "-p", "Hello."), here(server, "-p", "Hello.")
    sentence = (
        "this folder has no `code_law.md`, `AGENTS.md` or `CLAUDE.md`; `/init` in the terminal writes one"
    )
    assert sentence in first.err
    assert sentence not in second.err


def test_nobody_is_there_to_approve(root):
    with serving(says(READ), says(EDIT), says("I may not.")) as server:
        done = here(server, "-p", "Print new.")
    assert done.out == "I may not.\n"
    assert "'old'" in (root / "main.py").read_text()
    refused = last_content(bodies(server)[2])
    assert "the rule `Edit(/main.py)` would allow it; nobody is there to approve it: it changes" in refused


def test_a_rule_allows_what_it_covers(root):
    (root / "make.py").write_text("open('out.txt', 'w').close()\n")
    runs = call("Bash", "b", command="python3 make.py")
    with serving(says(runs), says("Made.")) as server:
        done = here(server, "-p", "Make it.", "--allow", "Bash(python3 make.py)", "--json")
    assert (root / "out.txt").exists(), done.err
    with serving(says("No.")) as server:
        wrong = here(server, "-p", "x", "--allow", "Bash(((")
    assert wrong.code == 2
    assert bodies(server) == []


def test_questions_are_answered_from_a_file(root, tmp_path):
    (tmp_path / "answers.toml").write_text('"which database" = "SQLite"\n')
    question = {"question": "Which database?", "options": [{"label": "Postgres"}, {"label": "SQLite"}]}
    with serving(says(call("AskUser", "q", questions=[question])), says("SQLite.")) as server:
        here(server, "-p", "Choose.", "--answers", str(tmp_path / "answers.toml"))
    assert "Answer: SQLite" in last_content(bodies(server)[1])


@pytest.mark.parametrize(
    ("outcome", "answers", "options"),
    [
        ("steps", [says(READ)], ["--max-steps", "1"]),
        ("cost", [says(READ)], ["--max-cost", "0.0001"]),
        ("time", [says(READ)], ["--max-time", "0.000001"]),
        ("empty", [says(" ")], []),
        ("model", [Failure(kind="auth")], []),
        ("refused", [says("", stop="refused")], []),
        ("loop", [says(READ)], []),
        ("overflow", [Failure(kind="overflow")], []),
    ],
    ids=["steps", "cost", "time", "empty", "model", "refused", "loop", "overflow"],
)
def test_exit_codes_say_what_it_came_to(root, outcome, answers, options):
    with serving(*answers) as server:
        done = here(server, "-p", "Go.", "--json", *options)
    assert done.json["outcome"] == outcome, done.err
    assert done.code == EXIT_CODES[outcome]
    assert done.err.splitlines()[-2 if "hint" not in done.err else -3].startswith("error: ")


def test_what_cannot_be_used_is_said_before_anybody_is_asked(root, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text('{"type": "nonsense"}')
    with serving(says("x")) as server:
        for arguments, words in (
            ([], "nothing to do"),
            (["-p", "x", "--json", "--stream-json"], "exclude each other"),
            (["-p", "x", "--output-schema", str(bad)], "is not a JSON Schema"),
            (["-p", "x", "--output-schema", str(tmp_path / "none.json")], "cannot be read"),
            (["-p", "x", "--answers", str(tmp_path / "none.toml")], "cannot be read"),
            (["-p", "x", "--trace", str(tmp_path / "no" / "t.jsonl")], "cannot be written"),
            (["-p", "x", "--profile", "nope"], "there is no profile"),
        ):
            done = here(server, *arguments)
            assert (done.code, done.out) == (2, ""), arguments
            assert words in done.err
        assert here(server, "--continue").code == 3
        assert here(server, "--log", "l0123456").code == 3
    assert bodies(server) == []


SCHEMA = {"type": "object", "properties": {"routes": {"type": "array"}}, "required": ["routes"]}


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    return str(path)


def test_an_answer_that_fits_its_schema(root, schema):
    wrong, right = '{"route": []}', '```json\n{"routes": ["/"]}\n```'
    with serving(says("no json"), says(wrong), says(right)) as server:
        done = here(server, "-p", "List.", "--output-schema", schema)
    assert (done.code, json.loads(done.out)) == (0, {"routes": ["/"]})
    first, second, third = bodies(server)
    assert "one JSON value" in last_content(first)
    assert "it is not JSON" in last_content(second)
    assert "'routes' is a required property" in last_content(third)


def test_an_answer_that_never_fits_has_its_own_code(root, schema):
    with serving(says("no json")) as server:
        done = here(server, "-p", "List.", "--output-schema", schema, "--json")
    assert (done.code, done.json["outcome"]) == (18, "schema")
    assert len(bodies(server)) == 3
    with serving(says("no json")) as server:
        short = here(server, "-p", "List.", "--output-schema", schema, "--max-steps", "2", "--json")
    assert short.json["steps"] == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"]
)
def test_a_signal_leaves_a_log_that_can_be_continued(root, number, code):
    slow = says(call("Bash", "b", command="echo so far; touch begun; sleep 30"))
    with serving(slow, says("I see.")) as server:
        running = start(root, server, "-p", "Wait.", "--mode", "auto", "--json")
        done = killed(running, (root / "begun").exists, number)
        assert (done.code, done.json["outcome"]) == (code, "interrupted")
        again = here(server, "--continue", "-p", "Well?", "--json")
    assert again.json["log"] == done.json["log"]
    result = next(m for m in bodies(server)[1]["messages"] if m["role"] == "tool")
    assert "(interrupted before it ended, with all it started)" in result["content"]
    assert result["content"].endswith("so far"), "what it had printed is kept"


@pytest.mark.slow
def test_a_signal_while_the_model_writes_keeps_what_came(root):
    halfway = says("The first half. ", "And more.", piece=5, pauses=(Pause(before=3),))
    with serving(halfway, says("On.")) as server:
        running = start(root, server, "-p", "Tell.", "--stream-json", "--partial")
        assert running.stdout is not None
        while b'"text"' not in running.stdout.readline():
            pass
        done = killed(running, lambda: True, signal.SIGINT)
        assert done.code == 130
        again = here(server, "--continue", "-p", "And?", "--json")
    assert again.json["text"] == "On."
    replied = bodies(server)[1]["messages"][2]
    assert replied["role"] == "assistant"
    assert "The first half. And more.".startswith(replied["content"])


@pytest.mark.slow
@pytest.mark.parametrize("partial", [True, False])
def test_a_stream_has_what_a_command_prints_and_the_end_of_a_job(root, partial):
    waits = "until [ -e {} ]; do sleep 0.02; done"
    job = call("Bash", "j", command=waits.format("go"), run_in_background=True)
    command = call("Bash", "c", command="touch begun; echo so far; " + waits.format("on"))
    with serving(says(job), says(command), says("Done.")) as server:
        more = ["--partial"] if partial else []
        running = start(root, server, "-p", "Go.", "--mode", "auto", "--stream-json", *more)
        lines = []
        assert running.stdout is not None
        while not lines or lines[-1]["type"] != "end":
            lines.append(json.loads(running.stdout.readline()))
            # Each waits for the line of the one before.
            if lines[-1]["type"] == ("output" if partial else "call"):
                (root / "go").touch()
            elif lines[-1]["type"] == "job_ended":
                (root / "on").touch()
        running.communicate(timeout=60)
    told = [line for line in lines if line["type"] in ("output", "job_ended")]
    printed = {"v": 1, "type": "output", "id": "c", "text": "so far\n", "lines": 1, "bytes": 7}
    ended = {"v": 1, "type": "job_ended", "call": "j", "id": "b1", "command": job.arguments["command"]}
    ended |= {"exit_code": 0, "sentence": "Exit code: 0, 0 lines, 0 bytes"}
    assert told == ([printed, ended] if partial else [ended])


PATIENT = """
import sys
import holdfast.agents.coding.coding_session as coding_session
coding_session.SERVER_SECONDS = 600.0
from holdfast.cli.app import run
sys.exit(run(sys.argv[1:]))
"""
"""Waits for servers until they have started, however busy the machine is."""


@pytest.mark.slow
def test_a_signal_while_everything_is_being_opened(tmp_path):
    begun = tmp_path / "begun"
    mute = f'[mcp.servers.mute]\ncommand = "sh"\nargs = ["-c", "touch {begun}; sleep 600"]\n'
    mute += "stop_seconds = 0.2\nstart_seconds = 600\n"
    root = repository(tmp_path, more=mute)
    with serving(says("x")) as server:
        name = f"compatible/test@{server.openai_url}"
        given = ("run", "--model", name, "--sandbox", "off", "-p", "Go.", "--json", "--trust")
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        running = subprocess.Popen(
            [sys.executable, "-c", PATIENT, *given], cwd=root, env=environment(root), **streams
        )
        done = killed(running, begun.exists, signal.SIGINT)
    assert (done.code, done.json["outcome"]) == (130, "interrupted")
    assert bodies(server) == []


@pytest.mark.slow
def test_a_closed_pipe_ends_the_run(root):
    with serving(*[says(call("Bash", f"b{n}", command=f"sleep 0.2; echo {n}")) for n in range(40)]) as server:
        running = start(root, server, "-p", "Go on.", "--stream-json", "--mode", "auto")
        assert running.stdout is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.wait(timeout=60) == 0
        assert len(bodies(server)) < 40
    assert b"Traceback" not in running.stderr.read()
    running.stderr.close()


def test_without_a_model_three_lines_say_what_to_do(root, monkeypatch):
    for name in list(environment(root)):
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    done = holdfast("run", "-p", "x")
    lines = done.err.splitlines()
    assert (done.code, done.out) == (2, b"")
    assert [line.split(":")[0] for line in lines] == ["error", "note", "hint"]
    assert "no key of a provider is set" in lines[1]
    assert "`holdfast tour`" in lines[2]
    assert "export OPENAI_API_KEY=…" in holdfast("run", "-p", "x", "--model", "openai/gpt-6-luna").err
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    assert "`ANTHROPIC_API_KEY` is set (`--model anthropic/" in holdfast("run", "-p", "x").err


@pytest.mark.parametrize(
    ("command", "option"), [("run", "--max-cost"), ("run", "--max-time"), ("review", "--max-cost")]
)
@pytest.mark.parametrize("amount", ["nan", "inf", "0", "-1"])
def test_a_limit_is_a_number(root, command, option, amount):
    done = holdfast(command, option, amount)
    assert done.code == 2
    assert f"invalid value for `{option}`" in done.err


def test_a_limit_of_dollars_needs_a_price(root):
    with serving(says("x")) as server:
        done = holdfast("run", "-p", "x", "--max-cost", "1", "--model", f"anthropic/test@{server.url}")
    assert done.code == 2
    assert "the price of `anthropic/test` is not known" in done.err


@pytest.mark.slow
def test_alone_in_a_pipe_it_runs_what_comes_or_says_what_to_use(root):
    with serving(says("Piped.")) as server:
        name = f"compatible/test@{server.openai_url}"
        done = process("--model", name, cwd=root, env=environment(root), input=b"Do it.")
    assert (done.code, done.text) == (0, "Piped.\n")
    assert bodies(server)[0]["messages"][1]["content"] == "Do it."
    assert holdfast().text.startswith("Usage: holdfast")
    no_screen = holdfast("--continue")
    assert no_screen.code == 2
    assert "`holdfast run -p TEXT`" in no_screen.err
    assert holdfast("resume").code == 2
    behind = holdfast("--mode", "plan", "profiles")
    assert behind.code == 2
    assert "after the command" in behind.err


def test_a_retry_is_announced_with_a_tenth_of_a_second():
    assert describe_notice(RetryScheduled(0.2, "overloaded")) == "retrying in 0.2 s: overloaded"


def test_telemetry_that_is_not_installed_is_asked_for(root, monkeypatch):
    monkeypatch.delitem(sys.modules, "holdfast.models.telemetry", raising=False)
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    done = holdfast("run", "-p", "x")
    assert done.code == 2
    assert "hint: run `pip install '.[otel]'` in a checkout of Holdfast, or unset the variable" in done.err


def test_the_persons_own_file_counts_and_a_stranger_changes_nothing_of_it(root):
    make = call("Bash", "m", command="make all")
    push = call("Bash", "p", command="make clean")
    (root / "Makefile").write_text("all clean:\n\t@touch $@\n")
    (root / "holdfast.toml").write_text('[permissions]\nallow = ["Bash"]\nmode = "auto"\n')
    own = root.parent / "config" / "holdfast" / "holdfast.toml"
    own.parent.mkdir(parents=True)
    with serving(says(make), says(push), says("Done.")) as server:
        own.write_text(
            f'default_model = "compatible/test@{server.openai_url}"\n'
            '[permissions]\nallow = ["Bash(make:*)"]\ndeny = ["Bash(make clean:*)"]\n'
        )
        done = holdfast("run", "--sandbox", "off", "-p", "Make it.")
    assert (done.code, done.text) == (0, "Done.\n")
    assert (root / "all").exists()
    assert not (root / "clean").exists()
    assert "sets `permissions.allow`, `permissions.mode`, which a project may not do by itself" in done.err


HOOKS = """
[[hooks.before_tool]]
match = "Edit|MultiEdit|Write"
command = "echo '{\\"decision\\": \\"deny\\", \\"reason\\": \\"frozen\\"}'"
[[hooks.prompt]]
command = "if grep -q forbidden; then echo not that >&2; exit 2; fi"
"""


def test_a_projects_hooks_run_once_they_are_trusted(root):
    (root / "holdfast.toml").write_text((root / "holdfast.toml").read_text() + HOOKS)
    with serving(says(READ), says(EDIT), says("Done.")) as server:
        done = here(server, "-p", "Print new.", "--mode", "edit")
    assert "sets `hooks`, which a project may not do by itself" in done.err
    assert "'new'" in (root / "main.py").read_text()
    (root / "main.py").write_text("print('old')\n")
    with serving(says(READ), says(EDIT), says("Done.")) as server:
        done = here(server, "-p", "Print new.", "--mode", "edit", "--stream-json", "--trust")
    (line,) = [line for line in done.lines if line["type"] == "hook"]
    assert (line["is_failure"], line["text"].endswith(" denied Edit: frozen")) == (False, True)
    assert "'old'" in (root / "main.py").read_text()


def test_a_prompt_that_a_hook_blocks_has_an_exit_code_and_asks_no_model(root):
    (root / "holdfast.toml").write_text((root / "holdfast.toml").read_text() + HOOKS)
    with serving(says("Done.")) as server:
        done = here(server, "-p", "Do what is forbidden.", "--trust")
        assert bodies(server) == []
    assert done.code == EXIT_CODES["blocked"]
    assert "blocked the message: not that" in done.err


@pytest.mark.slow
def test_what_a_pipe_brings_passes_the_hook_of_the_prompt(root):
    (root / "holdfast.toml").write_text((root / "holdfast.toml").read_text() + HOOKS)
    with serving(says("Done.")) as server:
        done = run(root, server, "-p", "Sum up.", "--trust", data=b"It is forbidden.\n")
        assert bodies(server) == []
    assert done.code == EXIT_CODES["blocked"]


def test_an_own_command_is_what_is_said(root):
    folder = root / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "look.md").write_text("---\ndescription: Look\n---\nLook at @$1 and say why.\n")
    (folder / "model.md").write_text("Never used.")
    with serving(says("Fine."), says("Fine.")) as server:
        done = here(server, "-p", "/look main.py")
        here(server, "-p", "/usr/bin/look main.py")
        sent = [body["messages"] for body in bodies(server)]
    assert done.code == 0
    assert sent[0][1]["content"] == "Look at @main.py and say why."
    assert "You must read them with Read" in sent[0][2]["content"]
    assert "`/model` is built in, so the file is not used" in done.err
    assert sent[1][1]["content"] == "/usr/bin/look main.py"


@pytest.mark.parametrize(("model", "asked"), [("house/small", "small"), ("sonnet", "test")])
def test_a_kind_of_sub_agent_may_have_a_model_of_the_catalogue(root, model, asked):
    folder = root / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "scout.md").write_text(f"---\ndescription: Looks.\nmodel: {model}\n---\nYou are a scout.\n")
    task = call("Task", "t", description="look", prompt="Look.", subagent_type="scout")
    with serving(says(task), says("It is old."), says("Done.")) as server:
        more = (
            f'[models."house/small"]\nurl = "{server.openai_url}"\nprice = {{ input = 9.0, output = 9.0 }}\n'
        )
        (root / "holdfast.toml").write_text((root / "holdfast.toml").read_text() + more)
        done = here(server, "-p", "What is it?", "--json")
        sent = bodies(server)
    assert [body["model"] for body in sent] == ["test", asked, "test"]
    assert sent[1]["messages"][0]["content"].endswith("You are a scout.")
    dear, usual = 9.0 * 1_240 / 1e6, (600 * 1.0 + 600 * 0.1 + 40 * 5.0) / 1e6
    expected = 2 * usual + (dear if asked == "small" else usual)
    assert done.json["dollars"] == pytest.approx(expected)


HANGS = 'command = "echo $$ > pid; exec sleep 500"\ntimeout = 400\n'


@pytest.mark.slow
@pytest.mark.parametrize("event", ["before_tool", "after_tool", "prompt", "stop"])
def test_a_hook_that_hangs_holds_up_no_signal(root, event):
    (root / "holdfast.toml").write_text(f"[[hooks.{event}]]\n{HANGS}")
    pid = root / "pid"
    with serving(says(READ), says("Done.")) as server:
        running = start(root, server, "-p", "Go.", "--trust")
        done = killed(running, lambda: pid.exists() and pid.read_text(), signal.SIGINT)
    assert done.code == 130
    waited(lambda: not Path(f"/proc/{int(pid.read_text())}").exists())


@pytest.mark.slow
def test_a_hook_that_hangs_at_the_prompt_ends_with_the_time_of_the_run(root):
    (root / "holdfast.toml").write_text(f"[[hooks.prompt]]\n{HANGS}")
    with serving(says("Done.")) as server:
        done = run(root, server, "-p", "Go.", "--trust", "--max-time", "4")
    assert done.code == EXIT_CODES["time"]
    assert "does not end" not in done.err
    waited(lambda: not Path(f"/proc/{int((root / 'pid').read_text())}").exists())
