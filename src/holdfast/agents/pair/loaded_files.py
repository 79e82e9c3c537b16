"""Files that an evaluation runs or loads and that were not approved with it.

Rule: only by names and places. What a program opens under a name that it makes up is not known here.
"""

import re
import shlex
import sys
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path, PurePosixPath

from holdfast.agents.pair.project_state import MOST_FILES, files_in, source
from holdfast.pair.component_signs import NamedFiles
from holdfast.pair.folder import PairFolder, printable
from holdfast.pair.frozen import FrozenEvaluation
from holdfast.review.file_types import language_family

STANDARD = sys.stdlib_module_names - {"test"} | {"sitecustomize", "usercustomize"}
INTERPRETERS = {"python", "python3", "sh", "bash", "node", "deno", "bun", "ruby", "perl", "php"}
WRAPPERS = {"uv", "run", "env", "exec", "time", "nice"}
_IMPORT = re.compile(r"^\s*(?:import|from)\b.*$", re.MULTILINE)
SET_UP: dict[str, dict[str, str]] = {
    "pytest": {
        "pytest.ini": "",
        ".pytest.ini": "",
        "pytest.toml": "",
        ".pytest.toml": "",
        "pyproject.toml": "[tool.pytest",
        "tox.ini": "[pytest]",
        "setup.cfg": "[tool:pytest]",
    },
    "make": {"GNUmakefile": "", "makefile": "", "Makefile": ""},
    "npm": {"package.json": "", ".npmrc": ""},
}
"""By the program of a command: files in the folder that set it up, if they have this text."""


def command_programs(layout: PairFolder, frozen: FrozenEvaluation) -> list[str]:
    """Programs in the folder that the command runs and that are no inputs, whether they are there yet or not."""
    found = (name for words in _commands(frozen.plan.command) for name in _program(layout, words))
    return [printable(name) for name in dict.fromkeys(found) if name not in frozen.files]


def loaded_files(layout: PairFolder, frozen: FrozenEvaluation) -> list[str]:
    """Files beside the programs of the evaluation that Python loads instead of its own or of approved modules, and
    those that set up what the command runs."""
    found = {*_modules(layout, frozen), *_set_up(layout, frozen)}
    return sorted(printable(path) for path in found if path not in frozen.files)


def open_files(layout: PairFolder, frozen: FrozenEvaluation, design: Collection[str]) -> list[str]:
    """Files in the folder that the command or a program of the evaluation names and that are neither inputs nor of
    the design: what counts is what they are when it is run."""
    texts = [frozen.plan.command]
    for name in frozen.files:
        if language_family(name) not in ("", "markup", "data"):
            texts += [source(layout.root / name) or ""]
    named = NamedFiles.of(texts)
    modules = {word for text in texts for line in _IMPORT.findall(text) for word in re.findall(r"\w+", line)}
    return [
        printable(path)
        for path in islice(files_in(layout), MOST_FILES)
        if path not in frozen.files and path not in design and _is_named(path, named.words, modules)
    ]


def _is_named(path: str, words: Collection[str], modules: Collection[str]) -> bool:
    """A name without an ending may be any word."""
    place = PurePosixPath(path)
    return bool(place.suffix) and (place.name in words or (place.suffix == ".py" and place.stem in modules))


def _commands(command: str) -> Iterator[list[str]]:
    for part in re.split(r"[;&|\n]+", command):
        try:
            words = shlex.split(part)
        except ValueError:
            continue
        while words and (words[0] in WRAPPERS or re.fullmatch(r"\w+=.*", words[0])):
            words.pop(0)
        yield words


def _program(layout: PairFolder, words: list[str]) -> Iterator[str]:
    if words and PurePosixPath(words[0]).name.rstrip("0123456789.") in INTERPRETERS:
        if "-m" in words[:-1]:
            module = words[words.index("-m") + 1].replace(".", "/")
            yield from (name for name in (f"{module}.py", f"{module}/__main__.py") if _is_file(layout, name))
            return
        words = [word for word in words[1:] if not word.startswith("-")]
    if words and not words[0].startswith("/"):
        name = PurePosixPath(words[0]).as_posix()
        if _is_file(layout, name) or language_family(name) not in ("", "markup", "data"):
            yield name


def _is_file(layout: PairFolder, name: str) -> bool:
    found = layout.look(name)
    return not isinstance(found, str) and not found.is_folder


def _modules(layout: PairFolder, frozen: FrozenEvaluation) -> Iterator[str]:
    """In the folders of its programs and in the folder itself, where Python looks; empty files of packages say
    nothing."""
    programs = [PurePosixPath(name) for name in frozen.files if name.endswith(".py")]
    if not programs and not re.search("python|pytest", frozen.plan.command):
        return
    above = {folder for program in programs for folder in program.parents}
    for folder in {PurePosixPath(), *above}:
        own = {one.stem for one in programs if one.parent == folder}
        is_searched = folder == PurePosixPath() or bool(own)
        names = {"conftest"} if "pytest" in frozen.plan.command else set[str]()
        names |= STANDARD | own if is_searched else set()
        for ending in (".py", ".pyc", ".so", "/__init__.py", "/__init__.pyc"):
            for path in (layout.root / folder).glob(f"*{ending}"):
                inner = path.relative_to(layout.root)
                name = inner.relative_to(folder).parts[0].partition(".")[0]
                if name in names or (name == "__init__" and _has(path, "")):
                    yield inner.as_posix()


def _set_up(layout: PairFolder, frozen: FrozenEvaluation) -> Iterator[str]:
    words = {*re.findall(r"[\w.-]+", frozen.plan.command)}
    folders = {PurePosixPath(), *(folder for name in frozen.files for folder in PurePosixPath(name).parents)}
    for program, files in SET_UP.items():
        for folder in folders if program in words else ():
            for name, text in files.items():
                if _has(layout.root / folder / name, text):
                    yield (folder / name).as_posix()


def _has(path: Path, text: str) -> bool:
    """Whether there is a file with this text, or with any."""
    try:
        if not path.is_file() or not path.stat().st_size:
            return False
        return not text or text in path.read_text("utf-8", "replace")
    except OSError:
        return True
