"""The person's own editor for a long prompt.

Rule: the text is in a file that nobody else can read and that is gone afterwards. An editor that fails changes
nothing.
"""

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import InputError

USUAL = ("nano", "vi")
"""Editors that are looked for if none is named."""


def editor_command(env: Mapping[str, str]) -> list[str]:
    """The editor that `VISUAL` or `EDITOR` names, or a usual one."""
    named = env.get("VISUAL", "").strip() or env.get("EDITOR", "").strip()
    command = shlex.split(named) if named else [next(filter(shutil.which, USUAL), "")]
    if not command[0] or not shutil.which(command[0]):
        trouble = f"the editor `{command[0]}` was not found" if command[0] else "no editor was found"
        raise InputError(trouble, hint="name one: `export EDITOR=…`")
    return command


def edit_text(text: str, command: list[str]) -> str:
    """The text as the editor leaves it. Waits until the editor has ended."""
    with tempfile.TemporaryDirectory(prefix="holdfast-prompt-") as folder:
        file = Path(folder) / "prompt.md"
        file.write_text(text, "utf-8")
        code = subprocess.run([*command, str(file)], check=False).returncode  # noqa: S603 - the editor of the person
        if code:
            raise InputError(f"`{command[0]}` ended with code {code}; the prompt is as it was")
        return file.read_text("utf-8", "replace").rstrip("\n")
