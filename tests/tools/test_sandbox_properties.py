"""Generated shell text at the access level `read`: whatever it is, no byte of the workspace changes.

Every path in it is relative and leads nowhere but into a throwaway copy, so that a sandbox that fails harms nothing
else.
"""

import asyncio
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.shell import Shell
from holdfast.tools.workspace import Workspace
from support.sandboxes import sandbox_or_skip

PATHS = st.sampled_from(["a", "b/c", "b", "new", "b/new", ".git/config", ".git/hooks/pre-commit", "link"])
WRITERS = [
    "echo x > {}",
    "echo x >> {}",
    ": > {}",
    "touch {}",
    "rm -rf {}",
    "mv {} moved",
    "cp a {}",
    "ln -s a {}",
    "ln {} hard",
    "mkdir -p {}/deep",
    "rmdir {}",
    "chmod 000 {}",
    "chmod -R 777 {}",
    "chown 1:1 {}",
    "truncate -s 0 {}",
    "tee {} < a",
    "dd if=a of={} 2>/dev/null",
    "sed -i s/a/b/ {}",
    "sort -o {} a",
    "find . -name {} -delete",
    "touch -d 2001-01-01 {}",
    "python3 -c \"open('{}', 'w').write('x')\"",
    "python3 -c \"import os; os.utime('{}', (1, 1))\"",
    "python3 -c \"import os; os.setxattr('{}', 'user.x', b'1')\"",
    "perl -e 'unlink \"{}\"'",
    "git init -q {}",
    "install -m 755 a {}",
    "split -b 1 a {}",
    "exec 3>{}; echo x >&3",
    "mkfifo {}",
]
FRAMES = [
    "{}",
    "( {} )",
    "{{ {}; }}",
    "f() {{ {}; }}; f",
    "if true; then {}; fi",
    "for i in 1 2; do {}; done",
    "x=$( {} )",
    "eval \"$(printf '%s' {!r})\"",
    "bash -c {!r}",
    "env -i bash -c {!r}",
    "setsid bash -c {!r}",
    "{} &\nwait",
    "trap {!r} EXIT",
    "cat <( {} )",
    "command eval {!r}",
    "nohup bash -c {!r} > /dev/null 2>&1",
    "xargs -I@ bash -c {!r} <<< x",
    "time {}",
    "unshare -r bash -c {!r}",
    "coproc {{ {}; }}; wait",
]
BASH_WORDS = st.text(alphabet="ab $`'\"\\|&;<>(){}*?[]~!#=\n-/.", max_size=40)


@st.composite
def scripts(draw):
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        written = draw(st.sampled_from(WRITERS)).format(draw(PATHS))
        frame = draw(st.sampled_from(FRAMES))
        parts.append(frame.format(written))
    return draw(st.sampled_from(["; ", " && ", " || ", "\n", " | "])).join(parts)


@pytest.fixture(scope="module", params=["bubblewrap", "landlock"])
def sandbox(request):
    return sandbox_or_skip(request.param)


@pytest.fixture(scope="module")
def root():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        top = Path(name).resolve() / "root"
        (top / "b").mkdir(parents=True)
        (top / "a").write_text("content\n")
        (top / "b" / "c").write_text("more\n")
        (top / ".git" / "hooks").mkdir(parents=True)
        (top / ".git" / "config").write_text("[core]\n")
        (top.parent / "outside").write_text("outside\n")
        (top / "link").symlink_to("../outside")
        yield top


def state_of(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        attributes = (
            {} if path.is_symlink() else {name: os.getxattr(path, name) for name in os.listxattr(path)}
        )
        found[str(path)] = (
            status.st_mode,
            status.st_uid,
            status.st_gid,
            status.st_mtime_ns,
            content,
            attributes,
        )
    return found


@pytest.mark.slow
def test_nothing_that_runs_at_read_changes_a_byte(sandbox, root):
    before = state_of(root.parent)
    environment = {"PATH": os.environ["PATH"], "HOME": str(root.parent / "nobody")}

    @settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(scripts() | BASH_WORDS.filter(str.strip))
    def check(script):
        with Shell(sandbox=sandbox, access="read", environment=environment) as shell:
            tool = bash_tool(shell)
            result = asyncio.run(tool.run({"command": script, "timeout": 20}, Workspace([root])))
            assert result.envelope.status != "error" or result.envelope.error.code == "INVALID_PARAM"
        assert state_of(root.parent) == before

    check()
