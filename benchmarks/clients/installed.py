"""The agents of others, each installed once into a folder of its own.

    python benchmarks/clients/installed.py pi codex

Rule: versions are pinned, nothing outside `.installed/` is written, and one that cannot be installed says why.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

HERE = Path(__file__).resolve().parent
INSTALLED = HERE / ".installed"
NODE = "node@22.23.3"
"""For a client that wants a newer Node than many systems have; it lies beside its program."""


class CannotInstall(Exception):
    """Why a client is left out."""


class Package(Struct, frozen=True):
    """What to install and the program that it brings, relative to its folder. npm unless `is_python`."""

    name: str
    version: str
    requirements: tuple[str, ...]
    program: str
    is_python: bool = False

    @property
    def folder(self) -> Path:
        return INSTALLED / self.name

    @property
    def path(self) -> Path:
        return self.folder / self.program

    @property
    def pins(self) -> str:
        return "\n".join(self.requirements) + "\n"

    @property
    def is_installed(self) -> bool:
        mark = self.folder / "pins.txt"
        return mark.exists() and mark.read_text(encoding="utf-8") == self.pins and self.path.exists()


def _npm(name: str, version: str, package: str, program: str, *more: str) -> Package:
    return Package(name, version, (f"{package}@{version}", *more), f"node_modules/{program}")


PACKAGES = {
    package.name: package
    for package in (
        # The package of the platform holds the whole program; the one above it wants a newer Node.
        _npm(
            "claude",
            "2.1.328",
            "@anthropic-ai/claude-code-linux-x64",
            "@anthropic-ai/claude-code-linux-x64/claude",
        ),
        _npm("codex", "0.169.0", "@openai/codex", ".bin/codex"),
        _npm("opencode", "1.18.33", "opencode-ai", "opencode-linux-x64/bin/opencode"),
        _npm("gemini", "0.61.0", "@google/gemini-cli", ".bin/gemini"),
        # 0.24.4 now and then says that a quick command printed nothing.
        _npm("qwen", "0.15.10", "@qwen-code/qwen-code", ".bin/qwen"),
        _npm("pi", "0.87.1", "@earendil-works/pi-coding-agent", ".bin/pi", NODE),
        # litellm imports `mcp` and does not ask for it.
        Package("mini", "2.4.6", ("mini-swe-agent==2.4.6", "mcp"), ".venv/bin/mini", is_python=True),
        Package("aider", "0.86.2", ("aider-chat==0.86.2",), ".venv/bin/aider", is_python=True),
    )
}


def install(package: Package) -> None:
    """Install a client where it is missing or its pins have changed. Raises CannotInstall."""
    if package.is_installed:
        return
    tool = shutil.which("uv" if package.is_python else "npm")
    if tool is None:
        raise CannotInstall(f"`{'uv' if package.is_python else 'npm'}` is not installed")
    shutil.rmtree(package.folder, ignore_errors=True)
    package.folder.mkdir(parents=True)
    for command in _python(tool, package) if package.is_python else _node(tool, package):
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=package.folder)
        if done.returncode:
            raise CannotInstall(" ".join((done.stderr or done.stdout).split())[-300:])
    if not package.path.exists():
        raise CannotInstall(f"{package.requirements[0]} brings no `{package.program}`")
    (package.folder / "pins.txt").write_text(package.pins, encoding="utf-8")


def _python(uv: str, package: Package) -> list[list[str]]:
    python = str(package.folder / ".venv" / "bin" / "python")
    return [
        [uv, "venv", "--quiet", "--python", sys.executable, ".venv"],
        [uv, "pip", "install", "--quiet", "--python", python, *package.requirements],
    ]


def _node(npm: str, package: Package) -> list[list[str]]:
    # Without a file of its own npm would install into the nearest folder above that has one.
    (package.folder / "package.json").write_text("{}\n", encoding="utf-8")
    return [[npm, "install", "--no-audit", "--no-fund", "--loglevel=error", *package.requirements]]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="installed.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help=f"all without one: {', '.join(PACKAGES)}")
    names = parser.parse_args(arguments).names or list(PACKAGES)
    if unknown := [name for name in names if name not in PACKAGES]:
        parser.error(f"there is no client `{unknown[0]}`; there are: {', '.join(PACKAGES)}")
    failed = 0
    for name in names:
        try:
            install(PACKAGES[name])
            print(f"{name} {PACKAGES[name].version}: {PACKAGES[name].path}")
        except CannotInstall as error:
            failed += 1
            print(f"{name} cannot be installed: {error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
