"""`holdfast wrap`: any program, and each agent that it knows, for which a small program of its name stands."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import command
from holdfast.cli.wrapped_agents import AGENTS
from holdfast.messages import Text
from holdfast.store import SqliteStore
from support.programs import running
from support.provider_server import Script, serving
from viewer.view_program import is_there

pytestmark = pytest.mark.slow

AGENT = """
import json, os, sys, urllib.request
body = {"model": "m", "messages": [{"role": "user", "content": sys.argv[1]}], "stream": True}
url = os.environ["MY_URL"] + "/chat/completions"
print(urllib.request.urlopen(url, json.dumps(body).encode()).read().count(b"data:") > 1)
sys.exit(7)
"""
SAYS_WHAT_IT_WAS_TOLD = """
import json, os, sys
files = {word: open(word).read() for word in sys.argv[1:] if os.path.isfile(word)}
print(json.dumps({"arguments": sys.argv[1:], "environment": dict(os.environ), "files": files}), flush=True)
"""
WAITS = SAYS_WHAT_IT_WAS_TOLD + "import signal; signal.pause()"


def fake(folder: Path, name: str, code: str = SAYS_WHAT_IT_WAS_TOLD) -> None:
    program = folder / name
    program.write_text(f"#!{sys.executable}\n{code}")
    program.chmod(0o755)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """An environment in which the folder is at home and first on the path, and no address is set."""
    rest = {
        name: value for name, value in os.environ.items() if not name.endswith(("_BASE_URL", "_API_BASE"))
    }
    return {**rest, "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), **more}


def wrapped(folder: Path, *words: object, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command("wrap", "--store", folder / "s.db", *words),
        capture_output=True, text=True, env=environment(folder, **more), check=False, timeout=120,
    )  # fmt: skip


def told(folder: Path, name: str, *words: object, **more: str) -> dict[str, Any]:
    fake(folder, name)
    done = wrapped(folder, *words, name, "--", "-p", "hello", **more)
    assert done.returncode == 0, done.stderr
    assert "sent nothing through the gateway" in done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    assert said["arguments"][-2:] == ["-p", "hello"]
    return said


def test_any_program_is_wrapped_with_its_own_exit_code(tmp_path) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT)
    with serving(Script(parts=(Text("Hello."),))) as server:
        done = wrapped(
            tmp_path, "--openai", server.openai_url, "--base-url-env", "MY_URL=/v1", "--",
            sys.executable, agent, "Hi there.",
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (7, "True\n"), done.stderr
    place = tmp_path / "s.db"
    assert f"1 request passed; recorded in {place}: `holdfast logs --store {place}` lists it" in done.stderr
    with SqliteStore(place) as kept:
        assert [info.head.title for info in kept.logs()] == ["Hi there."]


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("aider", {"OPENAI_API_BASE": "/v1", "ANTHROPIC_API_BASE": ""}),
        ("claude", {"ANTHROPIC_BASE_URL": ""}),
        ("gemini", {"GOOGLE_GEMINI_BASE_URL": ""}),
        ("mini", {"OPENAI_API_BASE": "/v1", "ANTHROPIC_API_BASE": ""}),
        ("opencode", {"OPENAI_BASE_URL": "/v1", "ANTHROPIC_BASE_URL": "/v1"}),
        ("qwen", {"OPENAI_BASE_URL": "/v1"}),
    ],
)
def test_an_agent_is_told_by_variables(name, paths, tmp_path) -> None:
    said = told(tmp_path, name)
    for variable, path in paths.items():
        host, _, after = said["environment"][variable].removeprefix("http://127.0.0.1:").partition("/")
        assert host.isdigit()
        assert f"/{after}".rstrip("/") == path
    assert said["arguments"] == ["-p", "hello"]


def test_dashes_behind_the_first_are_the_agents_own(tmp_path) -> None:
    fake(tmp_path, "agent")
    done = wrapped(tmp_path, "--base-url-env", "MY_URL", "--", "agent", "--", "-x", "--")
    assert json.loads(done.stdout)["arguments"] == ["--", "-x", "--"]


def test_an_agent_may_be_named_by_its_path(tmp_path) -> None:
    (tmp_path / "elsewhere").mkdir()
    fake(tmp_path / "elsewhere", "claude")
    done = wrapped(tmp_path, tmp_path / "elsewhere" / "claude", "--", "-p", "hello")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["environment"]["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")
    missing = wrapped(tmp_path, tmp_path / "nowhere" / "claude")
    assert (missing.returncode, "there is no program" in missing.stderr) == (2, True)


@pytest.mark.parametrize(("typed", "offered"), [("wrap g", ["gemini"]), ("wrap claude ma", ["ma"])])
def test_a_shell_offers_the_agents_and_then_files(typed, offered, tmp_path) -> None:
    asked = {"COMP_WORDS": f"holdfast {typed}", "COMP_CWORD": str(len(typed.split()))}
    done = subprocess.run(
        command(), capture_output=True, text=True, check=True, cwd=tmp_path, timeout=60,
        env=environment(tmp_path, _HOLDFAST_COMPLETE="bash_complete", **asked),
    )  # fmt: skip
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == offered


def test_codex_is_told_by_a_setting_among_its_arguments(tmp_path) -> None:
    option, setting, *_ = told(tmp_path, "codex")["arguments"]
    assert option == "-c"
    assert setting.startswith('openai_base_url="http://127.0.0.1:')
    assert setting.endswith('/v1"')


def test_codex_with_a_provider_of_the_users_own_is_pointed_there(tmp_path) -> None:
    (tmp_path / ".codex").mkdir()
    config = tmp_path / ".codex" / "config.toml"
    config.write_text('model_provider = "x"\n[model_providers.x]\nbase_url = "http://127.0.0.1:9/openai"\n')
    written = config.read_bytes()
    _, setting, *_ = told(tmp_path, "codex")["arguments"]
    assert setting.startswith('model_providers.x.base_url="http://127.0.0.1:')
    assert not setting.endswith('/v1"')
    assert config.read_bytes() == written


def test_opencode_is_told_by_configuration_only_where_a_variable_does_not_do(tmp_path) -> None:
    assert "OPENCODE_CONFIG_CONTENT" not in told(tmp_path, "opencode")["environment"]
    mine = json.dumps({"theme": "mine", "provider": {"google": {"options": {"timeout": 9}}}})
    more = {"GOOGLE_GENERATIVE_AI_API_KEY": "x", "OPENCODE_CONFIG_CONTENT": mine}
    config = json.loads(told(tmp_path, "opencode", **more)["environment"]["OPENCODE_CONFIG_CONTENT"])
    assert config["theme"] == "mine"
    options = config["provider"]["google"]["options"]
    assert options["timeout"] == 9
    assert options["baseURL"].startswith("http://127.0.0.1:")
    assert options["baseURL"].endswith("/v1beta")


def test_configuration_that_cannot_be_added_to_is_said(tmp_path) -> None:
    fake(tmp_path, "opencode")
    more = {"GOOGLE_GENERATIVE_AI_API_KEY": "x", "OPENCODE_CONFIG_CONTENT": "{mine"}
    done = wrapped(tmp_path, "opencode", **more)
    assert done.returncode == 2
    assert "`OPENCODE_CONFIG_CONTENT` holds no JSON object" in done.stderr


def test_pi_gets_an_extension_that_is_gone_afterwards(tmp_path) -> None:
    said = told(tmp_path, "pi")
    option, place, *_ = said["arguments"]
    assert option == "--extension"
    for provider, path in (("anthropic", ""), ("openai", "/v1"), ("google", "/v1beta")):
        line = next(li for li in said["files"][place].splitlines() if f'"{provider}"' in li)
        assert line.rstrip("} );").rpartition(":")[2].strip('" ').lstrip("0123456789") == path
    assert not Path(place).exists()
    assert not Path(place).parent.exists()


def test_a_program_that_cannot_be_started_is_said(tmp_path) -> None:
    program = tmp_path / "agent"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    done = wrapped(tmp_path, "--base-url-env", "MY_URL", "--", program)
    assert done.returncode == 2
    assert f"`{program}` cannot be started" in done.stderr
    assert "hint:" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_throwaway_files_are_gone_after_a_signal_too(number, tmp_path) -> None:
    """Ctrl-C in a terminal reaches both; other signals reach the one that was named, and are passed on."""
    fake(tmp_path, "pi", WAITS)
    words = command("wrap", "--store", tmp_path / "s.db", "pi")
    with running(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(tmp_path), start_new_session=True,
    ) as wrap:  # fmt: skip
        assert wrap.stdout is not None
        (place,) = json.loads(wrap.stdout.readline())["files"]
        assert Path(place).exists()
        if number == signal.SIGINT:
            os.killpg(wrap.pid, number)
        else:
            wrap.send_signal(number)
        assert wrap.wait(60) == 128 + number
    assert not Path(place).parent.exists()


SIGNALLED_AS_THE_AGENT_STARTS = """
import os, signal, subprocess, sys
from holdfast.cli import main, wrap

class Popen(subprocess.Popen):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        if "agent" in str(self.args):
            os.kill(os.getpid(), signal.SIGTERM)

wrap.subprocess.Popen = Popen
sys.argv = ["holdfast", *sys.argv[1:]]
main()
"""


def test_a_signal_while_the_agent_starts_ends_it_too(tmp_path) -> None:
    fake(tmp_path, "agent", "import signal; signal.pause()")
    options = ["wrap", "--store", tmp_path / "s.db", "--base-url-env", "MY_URL", "--", "agent"]
    words = [sys.executable, "-c", SIGNALLED_AS_THE_AGENT_STARTS, *options]
    with running(words, env=environment(tmp_path)) as wrap:
        assert wrap.wait(60) == 128 + signal.SIGTERM


ASKS = """
import json, os, urllib.request
body = {"model": "m", "messages": [{"role": "user", "content": "Hi."}], "stream": True}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
urllib.request.urlopen(url, json.dumps(body).encode()).read()
"""


@pytest.mark.parametrize("path", ["", "/v1", "/v1/"])
def test_requests_go_where_the_agent_would_have_sent_them(path, tmp_path) -> None:
    """The address in the user's environment is the upstream, and the path there is as without a gateway."""
    fake(tmp_path, "qwen", ASKS)
    with serving(Script(parts=(Text("Hello."),))) as server:
        done = wrapped(tmp_path, "qwen", OPENAI_BASE_URL=server.url + path)
        expected = f"{path.rstrip('/')}/chat/completions"
        assert [request.path.replace("//", "/") for request in server.requests] == [expected], done.stderr


def test_an_address_on_the_command_line_beats_the_environment(tmp_path) -> None:
    fake(tmp_path, "qwen", ASKS)
    with serving(Script(parts=(Text("Hello."),))) as server:
        done = wrapped(tmp_path, "--openai", server.url, "qwen", OPENAI_BASE_URL="http://127.0.0.1:9/openai")
        assert [request.path for request in server.requests] == ["/v1/chat/completions"], done.stderr
    assert done.returncode == 0
    assert "recorded in" in done.stderr


def test_pi_with_an_address_in_its_models_file_is_sent_there(tmp_path) -> None:
    fake(tmp_path, "pi", """
import re, sys, urllib.request
url = re.search(r'"anthropic", . baseUrl: "([^"]+)"', open(sys.argv[2]).read())[1]
urllib.request.urlopen(url + "/v1/messages", b'{"model": "m", "messages": [], "stream": true}').read()
""")  # fmt: skip
    with serving(Script(parts=(Text("Hello."),))) as server:
        (tmp_path / ".pi" / "agent").mkdir(parents=True)
        models = tmp_path / ".pi" / "agent" / "models.json"
        models.write_text(json.dumps({"providers": {"anthropic": {"baseUrl": server.url}, "openai": None}}))
        assert wrapped(tmp_path, "pi").returncode == 0
        assert [request.path for request in server.requests] == ["/v1/messages"]


@pytest.mark.parametrize("name", AGENTS)
def test_settings_that_cannot_be_read_do_not_stop_an_agent(name, tmp_path) -> None:
    for place in (tmp_path / ".codex" / "config.toml", tmp_path / ".pi" / "agent" / "models.json"):
        place.parent.mkdir(parents=True)
        place.write_text("[[[")
    told(tmp_path, name)


def test_the_page_has_every_agent() -> None:
    page = (Path(__file__).parents[2] / "docs" / "gateway.md").read_text("utf-8")
    assert [name for name in AGENTS if f"| `{name}` |" not in page] == []


def test_claude_may_read_the_whole_texts_where_requests_are_changed(tmp_path) -> None:
    assert told(tmp_path, "claude")["arguments"] == ["-p", "hello"]
    said = told(tmp_path, "claude", "--mode", "safe")
    assert said["arguments"] == [f"--add-dir={tmp_path / 's-texts'}", "-p", "hello"]


def test_with_view_the_address_of_the_viewer_is_said_before_the_agent_starts(tmp_path) -> None:
    fake(tmp_path, "agent", WAITS)
    words = command("wrap", "--view", "--store", tmp_path / "s.db", "--base-url-env", "MY_URL", "--", "agent")
    with running(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(tmp_path)
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        (viewer,) = re.findall(r"the viewer is at (\S+)", program.stderr.readline())
        assert json.loads(program.stdout.readline())["arguments"] == []
        assert is_there(viewer)
        program.send_signal(signal.SIGTERM)
        assert program.wait(60) == 128 + signal.SIGTERM
    assert not is_there(viewer)
