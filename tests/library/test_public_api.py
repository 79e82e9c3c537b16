"""The promise of docs/api.md: every public name is on it, none changes unnoticed, and users' code is typed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from library import public_api

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "api.md").read_text("utf-8")
TABLE = PAGE.partition("| --- |")[2].partition("\n\n")[0]


def test_the_page_lists_every_public_name_and_no_other() -> None:
    rows = [line.split("|")[1] for line in TABLE.splitlines()[1:]]
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(holdfast.__all__)


def test_no_public_signature_changed_unnoticed() -> None:
    """If you mean it: keep what is public working (docs/api.md, "What may change"), then write the file again."""
    recorded = (Path(__file__).parent / "public_api.txt").read_text("utf-8").splitlines()
    assert list(public_api.lines()) == recorded


def test_the_stub_gives_the_same_names_as_the_package() -> None:
    stub = (ROOT / "src" / "holdfast" / "__init__.pyi").read_text("utf-8")
    assert sorted(re.findall(r"import \w+ as (\w+)", stub)) == sorted(holdfast.__all__)


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        ["tests/library/typed_user.py"],
        ["examples/data_analyst.py"],
        sorted(str(path.relative_to(ROOT)) for path in (ROOT / "examples" / "loops").glob("*.py")),
    ],
    ids=["user", "analyst", "loops"],
)
def test_users_code_is_typed_strictly(files, tmp_path) -> None:
    """As a user's own checker sees it: the installed package, with nothing of our configuration."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", str(tmp_path)]
    done = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_a_wrong_use_is_seen_by_a_type_checker(tmp_path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from holdfast import Agent, RunLimits, Session, tool\n"
        "@tool\n"
        "def double(number: int) -> int:\n"
        '    """Double it."""\n'
        "    return 2 * number\n"
        "double('x')\n"
        "Session(budjet='32k')\n"
        "Agent('a/b', limits=RunLimits(steps='many'))\n"
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        "",
        "--cache-dir",
        str(tmp_path / "c"),
    ]
    done = subprocess.run([*command, str(wrong)], capture_output=True, text=True, check=False)
    assert [int(line) for line in re.findall(r"wrong\.py:(\d+): error", done.stdout)] == [6, 7, 8]
