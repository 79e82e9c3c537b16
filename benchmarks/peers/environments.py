"""Environments with one library each, for the peers of a replay, the tests of our adapters, and those of Ray.

    python benchmarks/peers/environments.py langchain openai_agents

Rule: none of these libraries is needed to work on Holdfast. One that we have an adapter for gets Holdfast too, from
this folder, and what runs the tests of the adapter; and so does Ray.
"""

import argparse
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ENVIRONMENTS = HERE / ".envs"
OVERRIDES = HERE / "overrides.txt"
CLUSTER = "ray"
TESTS_NEED = ("pytest", "hypothesis")


class CannotSetUp(Exception):
    """Why an environment could not be made."""


def names() -> list[str]:
    return sorted(file.stem for file in (HERE / "requirements").glob("*.txt"))


def interpreter(name: str) -> Path:
    return ENVIRONMENTS / name / "bin" / "python"


def requirements(name: str) -> Path:
    return HERE / "requirements" / f"{name}.txt"


def pins(name: str) -> str:
    """`langchain 1.4.7, langgraph 1.2.20`, as the requirements say."""
    lines = requirements(name).read_text(encoding="utf-8").splitlines()
    return ", ".join(line.replace("==", " ") for line in map(str.strip, lines) if line and line[0] != "#")


def has_adapter(name: str) -> bool:
    return (ROOT / "src" / "holdfast" / "adapters" / f"{name}.py").exists()


def is_standing(name: str) -> bool:
    installed = _installed(name)
    return installed.exists() and installed.read_text(encoding="utf-8") == _made_from(name)


def install(name: str) -> None:
    """Make an environment from its pins. Raises CannotSetUp with the reason."""
    uv = shutil.which("uv")
    if uv is None:
        raise CannotSetUp("the environments are made with `uv`, which is not installed")
    wanted = ["-r", str(requirements(name)), "--override", str(OVERRIDES)]
    if has_adapter(name) or name == CLUSTER:
        wanted += ["-e", str(ROOT), *TESTS_NEED]
    to_pip = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(interpreter(name))]
    for command in (
        [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(ENVIRONMENTS / name)],
        [*to_pip, *wanted],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        if done.returncode:
            raise CannotSetUp(done.stderr.strip()[-300:])
    _installed(name).write_text(_made_from(name), encoding="utf-8")


def _installed(name: str) -> Path:
    """What an environment was made from."""
    return ENVIRONMENTS / name / "requirements.txt"


def _made_from(name: str) -> str:
    """The pins, and what Holdfast itself needs where an environment has it too."""
    pinned = requirements(name).read_text(encoding="utf-8")
    if not has_adapter(name):
        return pinned
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return "\n".join([pinned, *project["dependencies"]])


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="environments.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help=f"all without one: {', '.join(names())}")
    failed = 0
    for name in parser.parse_args(arguments).names or names():
        try:
            if not is_standing(name):
                install(name)
            print(f"{name}: {pins(name)}")
        except CannotSetUp as error:
            failed += 1
            print(f"{name} cannot be set up: {error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
