"""What stands in the folder of a pair beside its results: tests, components, samples with their outputs.

Rule: files are only read, links are not followed, and there is a bound on each.
"""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path, PurePath

import msgspec

from holdfast.messages import Json
from holdfast.pair.folder import RESULTS, SAMPLES, PairFolder, printable
from holdfast.pair.frozen import FrozenEvaluation
from holdfast.pair.suspicions import MOST_TESTS, OUTPUT_KEYS, SampleRecord, TestCount
from holdfast.review.checks.weakened_tests import tests_in
from holdfast.review.file_types import is_test_file, language_family

TRACES = "execution_traces"
MOST_FILES, MOST_BYTES = 5_000, 1_000_000
"""The most files that are looked at, and the largest of them."""
STANDARD = sys.stdlib_module_names - {"test"} | {"sitecustomize", "usercustomize"}
LEFT_OUT = {".git", "__pycache__", "node_modules", ".venv", "venv", "target", "vendor"}


def component_sources(layout: PairFolder, frozen: FrozenEvaluation) -> dict[str, str]:
    """Programs that are no tests and no part of the evaluation."""
    return {
        name: text for name, text in _programs(layout) if name not in frozen.files and not is_test_file(name)
    }


def count_tests(layout: PairFolder) -> TestCount:
    names: list[str] = []
    disabled = 0
    for path, text in _programs(layout):
        if is_test_file(path):
            found, off = tests_in(path, text)
            names += [f"{path}: {name}" for name in found]
            disabled += off
    return TestCount(tuple(sorted(names)[:MOST_TESTS]), disabled)


def sample_records(clean: PairFolder, iteration: int, frozen: FrozenEvaluation) -> list[SampleRecord]:
    """The samples of the run: from their own files, or from lists among the inputs of the evaluation."""
    where = clean.root / clean.outputs.iteration(iteration)
    given = {name: value for path in frozen.files for name, value in _listed_samples(clean.root / path)}
    given |= _json_files(where / SAMPLES)
    traces, results = _json_files(where / TRACES), _json_files(where / RESULTS)
    return [
        SampleRecord(
            name,
            {key: one for key, one in value.items() if key not in ("expected", "sample", "id")},
            value.get("expected"),
            _output(results.get(name), traces.get(name)),
        )
        for name, value in sorted(given.items())
    ]


def answer_files(clean: PairFolder, frozen: FrozenEvaluation) -> list[str]:
    """Inputs of the evaluation that list samples with what is expected."""
    return [path for path in frozen.files if any(_listed_samples(clean.root / path))]


def shadowing_files(layout: PairFolder, frozen: FrozenEvaluation) -> list[str]:
    """Files beside the programs of the evaluation that Python loads instead of its own modules, and those that set
    up pytest."""
    programs = [PurePath(name).parent for name in frozen.files if name.endswith(".py")]
    names = {*STANDARD, *(["conftest"] if "pytest" in frozen.plan.command else [])}
    found = set[str]()
    for folder in {PurePath(), *programs} if programs or "python" in frozen.plan.command else ():
        for ending in (".py", ".pyc", ".so", "/__init__.py", "/__init__.pyc"):
            for path in (layout.root / folder).glob(f"*{ending}"):
                inner = path.relative_to(layout.root)
                if inner.relative_to(folder).parts[0].partition(".")[0] in names:
                    found.add(printable(inner.as_posix()))
    return sorted(found - {*frozen.files})


def _output(*written: Json) -> Json:
    found = (one[key] for one in written if isinstance(one, dict) for key in OUTPUT_KEYS if key in one)
    return next(found, None)


def _listed_samples(path: Path) -> Iterator[tuple[str, dict[str, Json]]]:
    """Cases in a JSON list, each with a name and what is expected."""
    rows = _json(path) if path.suffix == ".json" else None
    for row in rows if isinstance(rows, list) else ():
        name = (row.get("sample") or row.get("id")) if isinstance(row, dict) else None
        if isinstance(row, dict) and isinstance(name, str) and "expected" in row:
            yield name, row


def _json_files(folder: Path) -> dict[str, dict[str, Json]]:
    """The objects in the JSON files of a folder, by the names of the files."""
    if not folder.is_dir() or folder.is_symlink():
        return {}
    names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False))
    found = {PurePath(name).stem: _json(folder / name) for name in names[:MOST_FILES]}
    return {name: value for name, value in found.items() if isinstance(value, dict)}


def _json(path: Path) -> Json:
    try:
        if not _is_readable(path):
            return None
        value: Json = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return value


def _programs(layout: PairFolder) -> Iterator[tuple[str, str]]:
    """Programs in the folder with their texts, without outputs and what others installed."""
    seen = 0
    for folder, folders, files in os.walk(layout.root):
        inner = Path(folder).relative_to(layout.root)
        folders[:] = [
            one for one in folders if one not in LEFT_OUT and str(inner / one) != layout.outputs.folder
        ]
        for name in sorted(files):
            path = (inner / name).as_posix()
            if language_family(path) in ("", "markup", "data"):
                continue
            seen += 1
            if seen > MOST_FILES:
                return
            text = _source(layout.root / path)
            if text is not None:
                yield printable(path), text


def _is_readable(path: Path) -> bool:
    """Whether it is a plain file: reading a pipe would wait for somebody to write."""
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and found.st_size <= MOST_BYTES


def _source(path: Path) -> str | None:
    try:
        if not _is_readable(path):
            return None
        return path.read_text("utf-8", "replace")
    except OSError:
        return None
