"""Names that many projects share, which are no evidence: `package.json`, `README.md`, `__init__`.

Rule: counted by project, not by run, on calibration recordings; a project never counts for itself, so that what
is measured and what was calibrated on stay disjoint. The data file was made by

    python -m holdfast.lab.evidence.common_names RECORDINGS... > src/holdfast/lab/evidence/common_names.tsv
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from holdfast.errors import InputError
from holdfast.lab.case import ReplayCase, make_case, project_of
from holdfast.lab.evidence.indexed_message import argument_values, names_in
from holdfast.lab.evidence.needs import Measure
from holdfast.lab.scored_message import read_message
from holdfast.recordings import read_recordings

SHIPPED = "common_names.tsv"
TITLE = "projects"
"""Opens the data file's first line."""
FEWEST = 2
"""Projects that a name must be in to be in the file at all."""


class CommonNames(Struct, frozen=True):
    """Which projects each shared name was found in, as bits in the order of `projects`."""

    projects: tuple[str, ...]
    found: dict[str, int]

    def above(self, measure: Measure, project: str) -> Callable[[str], bool]:
        """Says which names to leave out when measuring recordings of a project."""
        own = 1 << self.projects.index(project) if project in self.projects else 0
        others = len(self.projects) - bool(own)
        limit = max(measure.common_projects, measure.common_share * others)
        return lambda name: (self.found.get(name, 0) & ~own).bit_count() > limit

    @property
    def about(self) -> str:
        return f"{len(self.found)} names shared by {FEWEST} or more of {len(self.projects)} projects"


@cache
def shipped_names() -> CommonNames:
    return read_names(files(__package__).joinpath(SHIPPED).read_text("utf-8"), SHIPPED)


def read_names(text: str, where: str) -> CommonNames:
    """The first line lists the projects; each other line is a name and the projects it is in, in hexadecimal."""
    head, *rows = text.splitlines() or [""]
    title, *projects = head.split("\t")
    if title != TITLE:
        raise _broken(where, 1, "does not list the projects")
    found: dict[str, int] = {}
    for number, row in enumerate(rows, 2):
        name, _, bits = row.partition("\t")
        try:
            found[name] = int(bits, 16)
        except ValueError:
            raise _broken(where, number, "is not a name with the projects it is in") from None
        if found[name] >> len(projects):
            # A negative number too: it never shifts to 0.
            raise _broken(where, number, "names projects that the first line does not have")
    return CommonNames(tuple(projects), found)


def _broken(where: str, line: int, what: str) -> InputError:
    return InputError(
        f"`{where}` line {line} {what}",
        hint="make the file again with `python -m holdfast.lab.evidence.common_names`",
    )


def write_names(names: CommonNames) -> Iterator[str]:
    yield "\t".join((TITLE, *names.projects))
    for name, bits in sorted(names.found.items()):
        yield f"{name}\t{bits:x}"


def count_names(cases: Iterable[ReplayCase]) -> CommonNames:
    """Names by project, of those in several."""
    by_project: dict[str, set[str]] = {}
    for case in cases:
        seen = by_project.setdefault(case.project, set())
        for turn in case.turns:
            if turn.message is not None:
                scored = read_message(turn.message)
                seen |= names_in(scored.text)
                for call in scored.calls:
                    for _, value in argument_values(call.arguments):
                        seen |= names_in(value)
    projects = tuple(sorted(by_project))
    bits: dict[str, int] = {}
    for place, project in enumerate(projects):
        for name in by_project[project]:
            bits[name] = bits.get(name, 0) | 1 << place
    # Addresses of pages and people have no place in a file that is handed on, and few are shared by many.
    named = {name: b for name, b in bits.items() if "://" not in name and "@" not in name}
    return CommonNames(projects, {name: b for name, b in named.items() if b.bit_count() >= FEWEST})


if __name__ == "__main__":
    found = (
        make_case(recording, project_of(recording, path.name.split(".")[0], "source"))
        for path in map(Path, sys.argv[1:])
        for recording in read_recordings(path)
    )
    sys.stdout.writelines(f"{line}\n" for line in write_names(count_names(found)))
