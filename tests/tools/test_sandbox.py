"""The sandboxes of the operating system, each where it works; commands try to get out."""

import asyncio
import http.server
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.tools.shell import launch
from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.hidden_files import hidden_paths
from holdfast.tools.shell.launch import landlock_version
from holdfast.tools.shell.processes import running_processes
from holdfast.tools.shell.repository_guard import names_git
from holdfast.tools.shell.sandbox import (
    Bubblewrap,
    Landlock,
    SandboxScope,
    Unconfined,
    find_sandbox,
    program_folders,
)
from holdfast.tools.shell.shell import Shell
from holdfast.tools.workspace import Workspace


def found(wanted):
    try:
        return find_sandbox(wanted)
    except InputError as error:
        pytest.skip(error.message)


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request):
    return found(request.param)


@pytest.fixture
def root():
    """A folder that is not below `/tmp`, which a sandbox replaces."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name).resolve()
        (folder / "root" / "sub").mkdir(parents=True)
        (folder / "outside").mkdir()
        (folder / "outside" / "read.txt").write_text("readable\n")
        yield folder / "root"


def run(sandbox, root, command, *, access="write", hidden=(), **arguments):
    with Shell(sandbox=sandbox, access=access, hidden=hidden) as shell:
        result = asyncio.run(bash_tool(shell).run({"command": command, **arguments}, Workspace([root])))
        return result.envelope


def test_a_root_below_the_temporary_folder_is_there(sandbox, tmp_path):
    (tmp_path / "x").write_text("seen\n")
    assert run(sandbox, tmp_path, "cat x; echo more >> x").text == "Exit code: 0\nseen"
    assert (tmp_path / "x").read_text() == "seen\nmore\n"


def test_programs_of_the_path_below_the_temporary_folder_are_there(sandbox, root, tmp_path, monkeypatch):
    """A virtual environment may be there, and a program in it needs more than its own folder."""
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "lib").write_text("found\n")
    program = tmp_path / "env" / "bin" / "prints"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/env/lib\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    assert run(sandbox, root, "prints").text == "Exit code: 0\nfound"
    assert run(sandbox, root, f"echo more >> {tmp_path}/env/lib").data["exit_code"] != 0
    assert (tmp_path / "env" / "lib").read_text() == "found\n"


@pytest.mark.parametrize(
    ("path", "folders"),
    [
        ("/tmp/env/bin:/usr/bin:/tmp/tools", ["/tmp/env", "/tmp/tools"]),
        ("/tmp/bin", ["/tmp/bin"]),
        ("/tmp:/:/bin:/tmp/", []),
        ("/tmp/a/../../etc/bin", []),
    ],
)
def test_which_folders_of_the_path_are_shown(monkeypatch, path, folders):
    monkeypatch.setenv("PATH", path)
    assert program_folders() == folders


def test_a_sandbox_lets_work_inside_the_roots(sandbox, root):
    command = (
        "mkdir a && echo hi > a/x && mv a/x sub/y && rm -r a && ln -s y sub/z && cat sub/z && pwd && cd sub"
    )
    envelope = run(sandbox, root, command)
    assert envelope.text == f"Exit code: 0\nWorking directory: sub\nhi\n{root}"
    assert (root / "sub" / "y").read_text() == "hi\n"


@pytest.mark.parametrize(
    "attempt",
    [
        "echo x > ../outside/new",
        "echo x >> ../outside/read.txt",
        "rm ../outside/read.txt",
        "mv ../outside/read.txt .",
        "truncate -s 0 ../outside/read.txt",
        "ln ../outside/read.txt here && echo x >> here",
        "ln -s ../outside out && echo x > out/new",
        "mkdir ../outside/folder",
        "cd ../outside && touch here",
        "mkfifo ../outside/pipe",
        "setsid bash -c 'echo x > ../outside/new'",
    ],
    ids=str,
)
def test_nothing_is_written_outside_the_roots(sandbox, root, attempt):
    envelope = run(sandbox, root, attempt)
    assert envelope.data["exit_code"] != 0, envelope.text
    assert [path.name for path in (root.parent / "outside").iterdir()] == ["read.txt"]
    assert (root.parent / "outside" / "read.txt").read_text() == "readable\n"


@pytest.mark.parametrize(
    "attempt",
    [
        "echo x > new",
        "echo x >> sub/kept",
        "rm sub/kept",
        "mv sub/kept sub/moved",
        "truncate -s 0 sub/kept",
        "ln sub/kept link && echo x >> link",
        "mkdir folder",
        "chmod 600 sub/kept",
        "chown 1:1 sub/kept",
        "touch sub/kept",
        "python3 -c \"import os; os.setxattr('sub/kept', 'user.x', b'1')\"",
        "python3 -c \"import fcntl, os; fcntl.ioctl(os.open('sub/kept', 0), 0x40086602, bytes([64] + [0] * 7))\"",
        "chmod 600 ../outside/read.txt",
        "touch -d 2001-01-01 ../outside/read.txt",
    ],
    ids=str,
)
def test_at_read_nothing_is_changed(sandbox, root, attempt):
    (root / "sub" / "kept").write_text("kept\n")
    before = state_of(root.parent)
    assert run(sandbox, root, attempt, access="read").data["exit_code"] != 0
    assert state_of(root.parent) == before


def state_of(folder):
    """Everything that can be told of the files below a folder, but when they were read."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
        found[str(path)] = (status.st_mode, status.st_uid, status.st_mtime_ns, content, attributes)
    return found


def test_at_read_there_is_room_for_temporary_files(sandbox, root):
    command = 'cat ../outside/read.txt > "$TMPDIR/x" && sort "$TMPDIR/x" && ls'
    assert run(sandbox, root, command, access="read").text == "Exit code: 0\nreadable\nsub"


@pytest.mark.parametrize("access", ["read", "write", "network"])
def test_files_with_secrets_cannot_be_read(sandbox, root, access):
    outside = root.parent / "outside"
    (outside / "keys").mkdir()
    (outside / "keys" / "id").write_text("secret key\n")
    (outside / "token").write_text("secret token\n")
    (root / "link").symlink_to(outside / "keys")
    (root / "own").write_text("secret of the project\n")
    hidden = [str(outside / "keys"), str(outside / "token"), str(outside / "never")]
    if sandbox.name == "bubblewrap" or access == "read":
        hidden.append(str(root / "own"))
    else:
        (root / "own").unlink()
    command = "cat ../outside/keys/id ../outside/token link/id own; cat ../outside/read.txt"
    envelope = run(sandbox, root, command, access=access, hidden=hidden)
    assert "secret" not in envelope.text
    assert "readable" in envelope.text
    assert "secret key" in run(sandbox, root, command, access="full", hidden=hidden).text


def test_a_person_may_show_what_is_hidden_by_default():
    keys = str(Path.home() / ".ssh")
    assert keys in hidden_paths()
    assert keys not in hidden_paths(["!~/.ssh"])
    assert {"/srv/keys", str(Path.home() / "more")} <= {*hidden_paths(["/srv/keys", "~/more/"])}


def test_the_environment_of_others_cannot_be_read(sandbox, root):
    """The environment that a process was started with, not the one it has now."""
    child = subprocess.Popen(["sleep", "60"], env={"WITHHELD_KEY": "secret value"})
    try:
        reading = (
            f"cat /proc/{child.pid}/environ /proc/{os.getpid()}/environ /proc/$PPID/environ | tr '\\0' '\\n'"
        )
        assert "secret value" in run(Unconfined(), root, reading).text
        for access in ("read", "write", "network"):
            assert "secret value" not in run(sandbox, root, reading, access=access).text
    finally:
        child.kill()
        child.wait()


def test_a_server_in_the_background_is_reached_by_the_next_command(root):
    sandbox, workspace = found("bubblewrap"), Workspace([root])
    serve = (
        "import http.server as h; s = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler); "
        "open('port', 'w').write(f'{s.server_port}\\n'); s.serve_forever()"
    )
    with Shell(sandbox=sandbox) as shell:
        tool = bash_tool(shell)
        asyncio.run(tool.run({"command": f'python3 -c "{serve}"', "run_in_background": True}, workspace))
        reach = (
            "until [ -s port ]; do sleep 0.05; done; exec 3<>/dev/tcp/127.0.0.1/$(cat port) && echo reached"
        )
        assert asyncio.run(tool.run({"command": reach}, workspace)).envelope.text.endswith("reached")
    with Shell(sandbox=sandbox) as other:
        reach = "exec 3<>/dev/tcp/127.0.0.1/$(cat port)"
        assert (
            asyncio.run(bash_tool(other).run({"command": reach}, workspace)).envelope.data["exit_code"] == 1
        )


def test_the_network_of_a_session_can_be_entered_once_it_is_there():
    """Before its users are mapped, whoever enters its namespaces may make none of its own."""
    for _ in range(20):
        network = found("bubblewrap").open_network()
        assert Path(f"/proc/{network.pid}/uid_map").read_text().split() != []
        network.close()
        assert not network.is_open


def test_a_sandbox_that_lets_something_out_is_not_used(monkeypatch, root):
    real = shutil.which("bwrap") or pytest.skip("bubblewrap is not installed")
    fake = root / "bwrap"
    fake.write_text(f'#!/bin/bash\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n# {real}\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{root}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(
        InputError, match="a file outside was written, a hidden file was read, a server outside"
    ):
        find_sandbox("bubblewrap")


def test_the_world_outside_can_be_read(sandbox, root):
    assert run(sandbox, root, "cat ../outside/read.txt").text == "Exit code: 0\nreadable"


def test_temporary_files_have_a_folder_of_their_own(sandbox, root, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with Shell(sandbox=sandbox) as shell:
        tool, workspace = bash_tool(shell), Workspace([root])
        asyncio.run(tool.run({"command": 'echo kept > "$TMPDIR/kept"'}, workspace))
        seen = asyncio.run(tool.run({"command": 'cat "$TMPDIR/kept"; mktemp'}, workspace)).envelope
    assert seen.text.startswith("Exit code: 0\nkept\n")
    if sandbox.name == "bubblewrap":
        assert run(sandbox, root, "ls -A /tmp").text == "Exit code: 0\n(no output)"


def test_there_is_no_way_to_a_server(sandbox, root):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        command = f"exec 3<>/dev/tcp/127.0.0.1/{server.server_port}"
        assert run(Unconfined(), root, command).data["exit_code"] == 0
        if isinstance(sandbox, Landlock) and sandbox.version < 4:
            assert "the network is open" in sandbox.describe()
        else:
            assert run(sandbox, root, command).data["exit_code"] == 1
            assert run(sandbox, root, command, access="read").data["exit_code"] == 1
        assert run(sandbox, root, command, access="network").data["exit_code"] == 0
        assert "the network is open" in sandbox.describe("network")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("access", ["read", "write", "network"])
def test_there_are_no_privileges_and_none_can_be_gained(sandbox, root, access):
    # At once: read line by line, the file may have changed meanwhile, and a line of it is missed.
    told = 'case "$1" in NoNewPrivs:|CapEff:|CapBnd:) echo "$1 $2";; esac'
    reading = f"set -- $(< /proc/self/status); while [ $# -gt 0 ]; do {told}; shift; done"
    found = run(sandbox, root, reading, access=access).text.splitlines()[1:]
    assert sorted(found) == [f"CapBnd: {'0' * 16}", f"CapEff: {'0' * 16}", "NoNewPrivs: 1"]


def test_descriptors_have_names_in_a_sandbox(sandbox, root):
    command = "cat <(echo one) && echo two | cat /dev/stdin && echo three > /dev/stdout"
    assert run(sandbox, root, command, access="read").text == "Exit code: 0\none\ntwo\nthree"


def test_a_time_limit_ends_what_runs_in_a_sandbox(sandbox, root):
    command = "setsid sleep 311 & env -i setsid sleep 312 & trap '' TERM; sleep 313; touch next"
    envelope = run(sandbox, root, command, timeout=1)
    assert envelope.data["stopped"] == "timeout"
    assert not (root / "next").exists()
    until = time.monotonic() + 10
    while sleeping(311, 312, 313) and time.monotonic() < until:
        time.sleep(0.05)
    assert sleeping(311, 312, 313) == []


def sleeping(*seconds):
    found = []
    for pid in running_processes():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"sleep") and words[1] in [str(n).encode() for n in seconds]:
            found.append(pid)
    return found


def test_settings_of_git_stay_as_they_are_in_bubblewrap(root):
    sandbox = found("bubblewrap")
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    settings = (root / ".git" / "config").read_text()
    names = "-c user.name=n -c user.email=a@b"
    envelope = run(
        sandbox,
        root,
        f"touch f && git add f && git {names} commit -qm x && git log --format=%s; "
        "echo '[x]' >> .git/config; echo x > .git/hooks/pre-commit; rm -rf .git/hooks; git config core.pager evil",
    )
    assert "\nx\n" in envelope.text
    assert (root / ".git" / "config").read_text() == settings
    assert not (root / ".git" / "hooks" / "pre-commit").exists()


def test_processes_of_others_are_not_seen_in_bubblewrap(root):
    envelope = run(found("bubblewrap"), root, "ls -d /proc/[0-9]* | wc -l; ls -A /run | wc -l")
    assert int(envelope.text.split("\n")[1]) < 10
    assert envelope.text.split("\n")[2] in ("0", "1")


def test_without_a_sandbox_it_is_said_why(monkeypatch, root):
    assert find_sandbox("off").describe().startswith("No sandbox: commands can do all")
    monkeypatch.setenv("PATH", str(root))
    with pytest.raises(
        InputError, match="the sandbox `bubblewrap` does not work here: bubblewrap: not installed"
    ):
        find_sandbox("bubblewrap")
    automatic = find_sandbox("auto")
    assert isinstance(automatic, Landlock if landlock_version() else Unconfined)


def test_a_sandbox_that_does_not_work_is_not_used(monkeypatch, root):
    fake = root / "bwrap"
    fake.write_text("#!/bin/sh\necho 'no permission to make namespaces' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{root}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(InputError, match="no permission to make namespaces"):
        find_sandbox("bubblewrap")
    assert not isinstance(find_sandbox("auto"), Bubblewrap)


def test_what_cannot_be_bound_is_not_started(root):
    """A launcher that is told to restrict, where it cannot, must not run the command."""
    scope = SandboxScope((str(root),), str(root), str(root))
    from_nowhere = Landlock(1).arguments(["/nonexistent/program"], scope)
    done = subprocess.run(from_nowhere, capture_output=True, text=True, check=False)
    assert done.returncode == 126
    assert "the shell could not be started" in done.stderr


def test_settings_of_the_kernel_stay_as_they_are(sandbox, root):
    """Root owns them, and needs no capability to write what it owns; so they are opened here and never written."""
    opening = "python3 -c \"import os; os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)\""
    if os.getuid() == 0:
        assert run(Unconfined(), root, opening).data["exit_code"] == 0
    assert run(sandbox, root, opening).data["exit_code"] != 0
    assert run(sandbox, root, "cat /proc/sys/kernel/ostype").text == "Exit code: 0\nLinux"


@pytest.mark.parametrize("is_by_a_program", [False, True])
def test_sockets_of_programs_outside_are_closed_in_bubblewrap(root, tmp_path, monkeypatch, is_by_a_program):
    path = root.parent / "outside" / "x.sock"
    if is_by_a_program:
        path = tmp_path / "x.sock"
        monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    connecting = f"python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{path}')\""
    name = f"holdfast test {root}"
    abstract = f"python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')\""
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as nameless:
        named.bind(str(path))
        named.listen()
        nameless.bind(f"\0{name}")
        nameless.listen()
        for command in (connecting, abstract):
            assert run(Unconfined(), root, command).data["exit_code"] == 0
            assert "ConnectionRefusedError" in run(found("bubblewrap"), root, command).text


def test_a_socket_of_the_workspace_is_open_in_bubblewrap(root):
    with socket.socket(socket.AF_UNIX) as own:
        own.bind(str(root / "own.sock"))
        own.listen()
        command = "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('own.sock')\""
        assert run(found("bubblewrap"), root, command).data["exit_code"] == 0


def test_no_descriptor_of_ours_is_open_in_a_command(sandbox, root):
    with (root.parent / "outside" / "read.txt").open("r+") as ours:
        os.set_inheritable(ours.fileno(), True)
        text = run(sandbox, root, "ls -l /proc/self/fd").text
    assert "read.txt" not in text


def test_a_terminal_of_somebody_else_is_not_written_to(sandbox, root):
    ours, theirs = os.openpty()
    try:
        envelope = run(sandbox, root, f"echo x > {os.ttyname(theirs)}")
        assert envelope.data["exit_code"] != 0
    finally:
        os.close(ours)
        os.close(theirs)


def repository(root):
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root / ".git"


@pytest.mark.parametrize(
    "attempt",
    [
        "echo ../evil > .git/commondir",
        "echo x > .git/config.worktree",
        "printf 'exec touch x' > .git/git-rebase-todo",
        "cp sub/index .git/index",
        "mkdir .git/modules",
        "rm -rf .git",
        "mv .git g",
    ],
    ids=str,
)
def test_only_commands_that_name_git_write_to_a_repository(root, attempt):
    sandbox = found("bubblewrap")
    git = repository(root)
    (root / "sub" / "index").write_text("x")
    before = sorted(str(path) for path in git.rglob("*"))
    assert run(sandbox, root, attempt).data["exit_code"] != 0
    assert sorted(str(path) for path in git.rglob("*")) == before


def test_settings_and_hooks_of_submodules_stay_as_they_are_in_bubblewrap(root):
    sandbox = found("bubblewrap")
    git = repository(root)
    module = git / "modules" / "deep" / "one"
    (module / "hooks").mkdir(parents=True)
    (module / "HEAD").write_text("ref: refs/heads/main\n")
    (module / "config").write_text("[core]\n")
    run(
        sandbox,
        root,
        "git --version; cd .git/modules/deep/one; echo x >> config; echo x > hooks/pre-commit; echo x > HEAD",
    )
    assert (module / "config").read_text() == "[core]\n"
    assert not (module / "hooks" / "pre-commit").exists()
    assert (module / "HEAD").read_text() == "x\n"


@pytest.mark.parametrize(
    ("command", "is_named"),
    [
        ("git commit -m x", True),
        ("cd sub && /usr/bin/git add .", True),
        ("bash -c 'git commit'", True),
        ("x=$(git stash)", True),
        ("pre-commit run", True),
        ("npm test", False),
        ("echo x > .gitignore", False),
        ("git commit -m 'never closed", True),
        ("npm test 'never closed", False),
    ],
    ids=str,
)
def test_which_commands_name_git(command, is_named):
    assert names_git(command) is is_named


def test_a_root_that_became_another_is_not_opened_to_commands(root):
    """Of two roots the inner one could be swapped for a link by a command in the outer one."""
    workspace = Workspace([root, root / "sub"])
    with Shell() as shell:
        (root / "sub").rmdir()
        (root / "sub").symlink_to(root.parent / "outside")
        envelope = asyncio.run(bash_tool(shell).run({"command": "true"}, workspace)).envelope
    assert envelope.error is not None
    assert envelope.error.code == "ACCESS_DENIED"


def test_a_network_that_ended_is_created_again(root):
    with Shell(sandbox=found("bubblewrap")) as shell:
        tool, workspace = bash_tool(shell), Workspace([root])
        assert asyncio.run(tool.run({"command": "true"}, workspace)).envelope.data["exit_code"] == 0
        shell._network._process.kill()
        shell._network._process.wait()
        assert asyncio.run(tool.run({"command": "true"}, workspace)).envelope.data["exit_code"] == 0


@pytest.mark.parametrize("version", [1, 3, 4])
def test_an_older_landlock_says_what_it_leaves_open(version, monkeypatch):
    monkeypatch.setattr(launch, "can_filter", lambda: False)
    said = "the network is open" if version < 4 else "TCP connections and servers are refused"
    assert said in Landlock(version).describe()


@pytest.mark.parametrize(
    ("attempt", "bubblewrap", "landlock"),
    [
        ("kill -0 {other}", False, landlock_version() < 6),
        ("chmod 600 ../outside/read.txt", False, True),
        ("echo x > .git/hooks/pre-commit", False, True),
        ("echo x >> .git/config", False, True),
        ('python3 -c "import socket; socket.socket(socket.AF_UNIX)"', True, False),
        ('python3 -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"', True, False),
    ],
    ids=["signal", "metadata outside", "hooks", "settings", "Unix socket", "UDP socket"],
)
def test_what_is_documented_of_each_sandbox_at_write(sandbox, root, attempt, bubblewrap, landlock):
    """docs/tools.md says so; what is possible is a limit, and not wanted."""
    repository(root)
    other = subprocess.Popen(["sleep", "60"])
    try:
        code = run(sandbox, root, attempt.format(other=other.pid)).data["exit_code"]
    finally:
        other.kill()
        other.wait()
    assert (code == 0) is {"bubblewrap": bubblewrap, "landlock": landlock}[sandbox.name]
