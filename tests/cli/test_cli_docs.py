"""docs/cli.md names every command, option, exit code and variable there is."""

import re
from pathlib import Path

import click
import pytest

from holdfast import errors
from holdfast.cli.app import COMMANDS, root
from holdfast.cli.exits import DEBUG, INTERRUPTED, UNEXPECTED
from holdfast.cli.streams import NO_COLOUR
from holdfast.recordings import FORMATS
from holdfast.store_places import STORE_VARIABLE

DOCS = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def commands() -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = []
    with root.make_context("holdfast", ["--store", "x"]) as ctx:
        for name in COMMANDS:
            command = root.get_command(ctx, name)
            assert command is not None
            found.append((f"holdfast {name}", command))
            if isinstance(command, click.Group):
                found += [(f"holdfast {name} {sub}", inner) for sub, inner in command.commands.items()]
    return found


@pytest.mark.parametrize(("name", "command"), commands())
def test_every_command_and_option_is_documented(name: str, command: click.Command) -> None:
    assert name in DOCS
    section = DOCS.split(f"## `{' '.join(name.split()[:2])}`")[1].split("\n## ")[0]
    everywhere = {"--store", "--no-color", "--help"}
    for option in (p for p in command.params if isinstance(p, click.Option)):
        long = max(option.opts, key=len)
        assert long in (DOCS if long in everywhere else section), long


def test_every_exit_code_is_documented_and_no_other() -> None:
    raised = {error.exit_code for error in vars(errors).values() if hasattr(error, "exit_code")}
    table = DOCS.split("## Exit codes")[1].split("\n## ")[0]
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)}
    assert documented == {0, *raised, UNEXPECTED, INTERRUPTED}


def test_formats_and_variables_are_documented() -> None:
    assert all(f"`{name}`" in DOCS for name in FORMATS)
    assert all(f"| `{name}` |" in DOCS for name in (STORE_VARIABLE, DEBUG, NO_COLOUR))
