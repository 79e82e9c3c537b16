"""What stands in the folder of a pair beside its results: tests, components, samples with their outputs.

Rule: files are only read, no link is followed out of the folder, and there is a bound on each.
"""

import contextlib
import csv
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path, PurePath

import msgspec

from holdfast.messages import Json
from holdfast.pair.component_signs import ComponentFiles, NamedFiles
from holdfast.pair.folder import RESULTS, SAMPLES, PairFolder, printable
from holdfast.pair.frozen import FrozenEvaluation
from holdfast.pair.suspicions import MOST_TESTS, OUTPUT_KEYS, SampleRecord, TestCount
from holdfast.review.checks.weakened_tests import tests_in
from holdfast.review.file_types import is_test_file, language_family

TRACES = "execution_traces"
MOST_FILES, MOST_BYTES = 5_000, 1_000_000
"""The most files that are looked at, and the largest of them."""
NEVER = {".git", "__pycache__"}
LEFT_OUT = {"node_modules", ".venv", "venv", "target", "vendor"}
MOST_DATA, MOST_TEXT = 50, 50_000_000
"""The most files of data that programs name, and characters of all programs."""
_WORD = re.compile(r"\w+")
_IMPORT = re.compile(r"^.*\b(?:import|from|require|include|use|exec|open)\b.*$", re.MULTILINE)


def component_files(layout: PairFolder, frozen: FrozenEvaluation) -> ComponentFiles:
    """Programs that are no part of the evaluation, and the data that they name. Of tests only those that a program
    imports; installed packages after all else, as far as there is room."""
    sources, tests, data, unseen = dict[str, str](), dict[str, str](), list[str](), list[str]()
    size = 0
    for path in chain(files_in(layout), files_in(layout, installed=True)):
        name, family = printable(path), language_family(path)
        if name in frozen.files or family in ("markup", "data"):
            data += [path] if family == "data" and name not in frozen.files else []
            continue
        if len(sources) >= MOST_FILES or size > MOST_TEXT:
            unseen += [] if _is_installed(path) else ["what came after many others"]
            break
        place = layout.root / path
        text = source(_inside(layout, place))
        if text is None:
            is_used = place.is_file() and (family or path.endswith(".pyc"))
            unseen += [name] if is_used else []
        elif "\0" not in text:
            size += len(text)
            (tests if is_test_file(path) else sources)[name] = text
    imports = {
        word for text in sources.values() for line in _IMPORT.findall(text) for word in _WORD.findall(line)
    }
    sources |= {name: text for name, text in tests.items() if PurePath(name).stem in imports}
    return ComponentFiles(sources, _named_data(layout, data, sources), tuple(unseen))


def _inside(layout: PairFolder, place: Path) -> Path:
    """Where a link leads, if it stays in the folder: what it leads to is run as well."""
    real = Path(os.path.realpath(place))
    return real if real.is_relative_to(layout.root) else place


def _named_data(layout: PairFolder, paths: Sequence[str], sources: Mapping[str, str]) -> dict[str, str]:
    named = NamedFiles.of(sources.values())
    texts = ((path, source(layout.root / path)) for path in paths if path in named)
    return {printable(path): text for path, text in islice(texts, MOST_DATA) if text is not None}


def _is_installed(path: str) -> bool:
    return not LEFT_OUT.isdisjoint(path.split("/"))


def count_tests(layout: PairFolder) -> TestCount:
    names: list[str] = []
    disabled = 0
    for path, text in _programs(layout):
        if is_test_file(path):
            found, off = tests_in(path, text)
            names += [f"{path}: {name}" for name in found]
            disabled += off
    return TestCount(tuple(sorted(names)[:MOST_TESTS]), disabled)


def sample_records(place: PairFolder, iteration: int, frozen: FrozenEvaluation) -> list[SampleRecord]:
    """The samples of the run: from their own files, or from lists among the inputs of the evaluation."""
    where = place.root / place.outputs.iteration(iteration)
    given = listed_samples(place, frozen) | _json_files(where / SAMPLES)
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


def chosen_samples(layout: PairFolder, iteration: int, frozen: FrozenEvaluation) -> set[str]:
    """Samples in the folder that the evaluation does not list."""
    where = layout.root / layout.outputs.iteration(iteration)
    return {*_json_files(where / SAMPLES)} - {*listed_samples(layout, frozen)}


def changed_chosen(layout: PairFolder, clean: PairFolder, iteration: int, chosen: set[str]) -> list[str]:
    """Files of these samples that are not in the copy as they are in the folder."""
    where = f"{layout.outputs.iteration(iteration)}/{SAMPLES}"
    before, after = _json_files(layout.root / where), _json_files(clean.root / where)
    return sorted(f"{where}/{name}.json" for name in chosen if before.get(name) != after.get(name))


def listed_samples(place: PairFolder, frozen: FrozenEvaluation) -> dict[str, dict[str, Json]]:
    """The samples in the inputs of the evaluation."""
    return {name: value for path in frozen.files for name, value in _listed_samples(place.root / path)}


def answer_files(clean: PairFolder, frozen: FrozenEvaluation) -> list[str]:
    """Inputs of the evaluation that list samples with what is expected."""
    return [path for path in frozen.files if any(_listed_samples(clean.root / path))]


def _output(*written: Json) -> Json:
    found = (one[key] for one in written if isinstance(one, dict) for key in OUTPUT_KEYS if key in one)
    return next(found, None)


def _listed_samples(path: Path) -> Iterator[tuple[str, dict[str, Json]]]:
    """Cases with what is expected: one in a JSON file, or many in a list, in lines or in a table."""
    for row in _rows(path):
        if isinstance(row, dict) and "expected" in row:
            yield str(row.get("sample") or row.get("id") or path.stem), row


def _rows(path: Path) -> Iterator[Json]:
    if path.suffix == ".json":
        value = _json(path)
        yield from value if isinstance(value, list) else [value]
    elif path.suffix in (".jsonl", ".ndjson", ".csv", ".tsv"):
        lines = (source(path) or "").splitlines()
        if path.suffix in (".csv", ".tsv"):
            table = csv.DictReader(lines, delimiter="\t" if path.suffix == ".tsv" else ",")
            with contextlib.suppress(csv.Error):
                yield from (
                    {key: value for key, value in row.items() if isinstance(key, str)} for row in table
                )
            return
        for line in lines:
            with contextlib.suppress(msgspec.MsgspecError, RecursionError):
                yield msgspec.json.decode(line)


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
    programs = (path for path in files_in(layout) if language_family(path) not in ("", "markup", "data"))
    for path in islice(programs, MOST_FILES):
        text = source(layout.root / path)
        if text is not None:
            yield printable(path), text


def files_in(layout: PairFolder, *, installed: bool = False) -> Iterator[str]:
    """Paths of files without outputs; either without what others installed, or only that."""
    for folder, folders, files in os.walk(layout.root):
        inner = Path(folder).relative_to(layout.root)
        is_there = _is_installed(inner.as_posix())
        folders[:] = sorted(
            one
            for one in folders
            if one not in NEVER
            and str(inner / one) != layout.outputs.folder
            and (installed or one not in LEFT_OUT)
        )
        if is_there == installed:
            yield from ((inner / name).as_posix() for name in sorted(files))


def _is_readable(path: Path) -> bool:
    """Whether it is a plain file: reading a pipe would wait for somebody to write."""
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and found.st_size <= MOST_BYTES


def source(path: Path) -> str | None:
    try:
        if not _is_readable(path):
            return None
        return path.read_text("utf-8", "replace")
    except OSError:
        return None
