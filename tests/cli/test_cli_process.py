"""The program as a process: streams, pipes, signals, terminals, shells, and what it loads."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import termios
import weakref
from io import FileIO
from pathlib import Path

import pytest
from command_line import command, holdfast, json_file, on_terminal, process, work

from holdfast.cli.app import COMMANDS, root
from holdfast.cli.exits import run_guarded
from holdfast.cli.streams import printable
from holdfast.models.catalogue import load_catalogue
from holdfast.numbers import counted
from holdfast.version import __version__
from support.waiting import wait_until


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return json_file(tmp_path / "work.json", work())


def test_the_script_that_is_installed() -> None:
    script = Path(sys.executable).with_name("holdfast")
    done = subprocess.run([script, "--version"], capture_output=True, check=True)
    assert (done.stdout.decode(), done.stderr) == (f"holdfast {__version__}\n", b"")


@pytest.mark.slow
def test_data_and_words_take_different_streams(recording: Path) -> None:
    done = process("pack", recording, "--budget", "8k", "--explain")
    assert done.code == 0
    assert done.json[1]["role"] == "user"
    assert "layer" in done.err
    assert "layer " not in done.text.split("\n")[0]


def test_help_is_to_be_had_everywhere() -> None:
    assert holdfast("-h").out == holdfast("--help").out == holdfast().out
    for name in COMMANDS:
        done = holdfast(name, "-h")
        assert done.code == 0
        assert done.text.index("Options:") < done.text.index("Examples:")
        assert max(map(len, done.text.split("\n"))) <= 80
    inner = [("logs", name) for name in ("export", "import", "delete", "verify")]
    for names in [*inner, ("permissions", "check")]:
        shown = holdfast(*names, "--help").text
        assert shown.index("Options:") < shown.index("Examples:"), "as in every other help"
        assert max(map(len, shown.split("\n"))) <= 80


def test_models_named_in_a_help_are_in_the_catalogue() -> None:
    known = load_catalogue().models
    texts = [holdfast(name, "--help").text for name in COMMANDS]
    named = {found for text in texts for found in re.findall(r"\banthropic/[\w.-]+", text)}
    assert named
    assert named <= known.keys()


def test_the_help_of_auto_does_not_promise_that_nobody_is_asked() -> None:
    said = " ".join(holdfast("run", "--help").text.split())
    assert "auto: ask only where a rule says so" in said


def test_the_list_of_commands_says_what_each_command_says() -> None:
    with root.make_context("holdfast", ["--store", "x"]) as ctx:
        for name, about in COMMANDS.items():
            found = root.get_command(ctx, name)
            assert found is not None
            assert found.get_short_help_str(200) == about


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["pakc"]])
def test_nothing_heavy_is_loaded_before_it_is_needed(arguments: list[str]) -> None:
    code = "import sys; from holdfast.cli.app import run; run(sys.argv[1:]); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, check=True)
    loaded = set(done.stdout.decode().split("\n")[-2].split())
    assert "click" in loaded
    assert not loaded & {
        "rich",
        "msgspec",
        "splintr",
        "sqlite3",
        "holdfast.session",
        "holdfast.config",
        "tomllib",
    }


@pytest.mark.slow
def test_recall_loads_neither_tables_nor_tokenizer() -> None:
    code = "import sys; from holdfast.cli.app import run; run(['recall', 'a0000000']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert not set(done.stdout.decode().split()) & {"rich", "splintr", "kingfisher"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["show", "{}"], ["pack", "{}"], ["logs", "export", "{log}"], ["--help"]]
)
def test_a_closed_pipe_is_no_error(recording: Path, arguments: list[str]) -> None:
    log = holdfast("pack", recording, "--json").json["log"]
    filled = [argument.format(recording, log=log) for argument in arguments]
    running = subprocess.Popen(command(*filled), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None
    running.stdout.close()
    _, said = running.communicate(timeout=60)
    assert running.returncode == 0
    assert b"error" not in said.lower()
    assert b"Traceback" not in said


@pytest.mark.slow
def test_a_closed_pipe_for_both_streams(recording: Path) -> None:
    reader, writer = os.pipe()
    running = subprocess.Popen(command("pack", recording, "--explain"), stdout=writer, stderr=writer)
    os.close(writer)
    os.close(reader)
    assert running.wait(timeout=60) == 0


@pytest.mark.slow
def test_a_full_disk_is_said() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command("profiles"), stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert b"error: the output cannot be written: No space left on device\n" in done.stderr


def is_empty(pipe: FileIO) -> bool:
    return not int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def is_sleeping(process: int) -> bool:
    return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S"


@pytest.mark.slow
def test_ctrl_c_ends_in_one_line_and_leaves_nothing_behind(tmp_path: Path, store: Path) -> None:
    pipe = tmp_path / "recording.jsonl"
    os.mkfifo(pipe)
    running = subprocess.Popen(command("pack", pipe), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # Opening the other end waits until the command reads the recording, so the signal comes in the midst of it.
    with pipe.open("wb", buffering=0) as writer:
        writer.write(b'{"role": "user", "content": "hello"}\n')
        # A signal just before the system call of a read is noticed after it only, as in every Python program.
        wait_until(lambda: is_empty(writer) and is_sleeping(running.pid))
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, b"", b"interrupted\n")
    assert not store.exists()


@pytest.mark.slow
def test_ctrl_c_during_an_export_leaves_no_half_a_file(tmp_path: Path, recording: Path) -> None:
    log = holdfast("pack", recording, "--json").json["log"]
    old = tmp_path / "out" / "log.jsonl"
    old.parent.mkdir()
    old.write_text("the old content")
    code = f"""
import holdfast.cli.logs as logs
from holdfast.cli.app import run
whole = logs.export_log
def some(log):
    for line in list(whole(log))[:3]:
        yield line
    raise KeyboardInterrupt
logs.export_log = some
raise SystemExit(run(["logs", "export", "{log}", "-o", {str(old)!r}]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"interrupted\n")
    assert [p.name for p in old.parent.iterdir()] == ["log.jsonl"]
    assert old.read_text() == "the old content"


def test_the_unexpected_is_one_line_and_a_hint() -> None:
    code = "from holdfast.cli.exits import run_guarded; raise SystemExit(run_guarded(lambda: 1 // 0))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 70
    lines = done.stderr.decode().rstrip("\n").split("\n")
    assert lines[0] == "error: unexpected ZeroDivisionError: integer division or modulo by zero"
    assert lines[1].startswith("hint: set HOLDFAST_DEBUG=1 to see the traceback")
    assert len(lines) == 2
    env = {**os.environ, "HOLDFAST_DEBUG": "1"}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, env=env)
    assert told.returncode == 70
    assert b"Traceback" in told.stderr


def test_debugging_is_no_unknown_variable(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_DEBUG", "1")
    assert "warning" not in holdfast("pack", recording).err


@pytest.mark.slow
def test_colours_are_for_terminals_only() -> None:
    bold = b"\x1b[1m"
    shown = on_terminal("profiles")
    assert shown.code == 0
    assert bold in shown.out
    assert bold not in on_terminal("profiles", "--no-color").out
    assert bold not in on_terminal("profiles", env={"NO_COLOR": "1"}).out
    assert bold not in process("profiles", env={**os.environ, "FORCE_COLOR": "1"}).out
    assert b"\x1b[1;31merror:\x1b[0m" in on_terminal("pakc").out
    assert b"\x1b" not in on_terminal("--no-color", "pakc").out


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal_only(recording: Path) -> None:
    bar = "━"
    shown = on_terminal("logs", "import", recording).out.decode()
    assert shown.index("checking ") < shown.index("importing ") < shown.rindex(bar) < shown.index("entries")
    assert bar not in process("logs", "import", recording).err


def test_tables_follow_the_width_of_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = json_file(tmp_path / "a.json", [{"role": "user", "content": "words " * 20 + "end"}])
    monkeypatch.setenv("COLUMNS", "200")
    assert "words end\n" in holdfast("show", path).text
    monkeypatch.setenv("COLUMNS", "50")
    rows = holdfast("show", path).text.split("rounds\n")[1].split("\n")
    assert max(map(len, rows)) == 50
    assert rows[1].endswith("…")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    done = holdfast("completion", shell)
    assert done.code == 0
    assert "_HOLDFAST_COMPLETE" in done.text
    assert done.err.startswith("hint: ")
    assert holdfast("completion", "tcsh").code == 2


def completed(words: str) -> list[str]:
    count = len(words.split(" ")) - 1
    env = {**os.environ, "_HOLDFAST_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    done = process(env=env)
    assert (done.code, done.err) == (0, "")
    return [line.split(",", 1)[1] for line in done.text.split("\n") if line.startswith("plain,")]


@pytest.mark.slow
def test_what_a_shell_offers(recording: Path, tmp_path: Path) -> None:
    log = holdfast("pack", recording, "--json").json["log"]
    (tmp_path / "holdfast.toml").write_text('[profile.cosy]\nextends = "code"\n')
    assert completed("holdfast p") == ["pair", "pack", "permissions", "profiles"]
    assert completed("holdfast pack x --profile co") == ["code", "cosy"]
    assert completed("holdfast pack x --from o") == ["openai", "opencode"]
    assert "--budget" in completed("holdfast pack x --b")
    assert completed("holdfast logs export l") == [log]
    assert completed("holdfast show l") == [log]
    (tmp_path / "holdfast.toml").write_text("broken [")
    assert completed("holdfast pack x --profile co") == ["code"]


def test_the_bash_script_works_in_bash(recording: Path, tmp_path: Path) -> None:
    (tmp_path / "holdfast").write_text(f'#!/bin/sh\nexec {sys.executable} -m holdfast "$@"\n')
    (tmp_path / "holdfast").chmod(0o755)
    script = (
        'eval "$(holdfast completion bash 2>/dev/null)"; COMP_WORDS=(holdfast rec); COMP_CWORD=1; '
        '_holdfast_completion holdfast; echo "${COMPREPLY[@]}"'
    )
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False, env=env)
    assert done.stdout.decode().strip() == "recall", done.stderr


def test_where_the_store_is(recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--store`, before or behind the command, beats the variable, which beats the file."""
    (tmp_path / "holdfast.toml").write_text('store = "from_file.db"\n')
    assert holdfast("--store", tmp_path / "first.db", "logs", "import", recording).code == 0
    assert holdfast("logs", "import", recording, "--store", tmp_path / "second.db").code == 0
    assert holdfast("logs", "import", recording).code == 0
    monkeypatch.delenv("HOLDFAST_STORE")
    assert holdfast("logs", "import", recording).code == 0
    assert {p.name for p in tmp_path.glob("*.db")} == {"first.db", "second.db", "store.db", "from_file.db"}


def test_numbers_and_words() -> None:
    assert [counted(n, "log") for n in (0, 1, 2000)] == ["0 logs", "1 log", "2,000 logs"]
    assert printable("a\tb\x1b[31m\u202ec\n上") == "a b[31mc 上"


class Held:
    """Something that a weak reference can be made to."""


def test_an_interrupt_that_is_dropped_comes_again() -> None:
    """Python drops what is raised in the callback of a weak reference, of which an import makes many."""
    handler, hook, dropped = signal.getsignal(signal.SIGINT), sys.unraisablehook, []

    def interrupt(_: object) -> None:
        dropped.append(True)
        signal.raise_signal(signal.SIGINT)

    def wait() -> int:
        held = Held()
        reference = weakref.ref(held, interrupt)
        del held
        assert reference() is None
        signal.pause()
        return 0

    assert run_guarded(wait) == 130
    assert dropped == [True]
    assert (signal.getsignal(signal.SIGINT), sys.unraisablehook) == (handler, hook)
