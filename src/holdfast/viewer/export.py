"""The view of a session as one HTML file: the same page, with the answers that it would ask for.

Rule: the file needs no network and no server, has no secret, and says what was left out of it. The same session and
the same choice give the same bytes.
"""

import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct

from holdfast.drawings import DRAWINGS, asset, embedded, source_hash
from holdfast.errors import HoldfastError, InputError
from holdfast.messages import Json
from holdfast.numbers import counted, grouped
from holdfast.viewer.answers import block_reading, timeline_of, window_of
from holdfast.viewer.comparison import comparison_of
from holdfast.viewer.history import RequestHistory
from holdfast.viewer.kept_answers import KeptAnswers
from holdfast.viewer.library import SessionLibrary
from holdfast.viewer.money import money_of
from holdfast.viewer.remembered import remembered_at

MOST_BYTES = 4_000_000
"""Of texts and of other windows than the chosen one: small enough to be sent to somebody, and to open at once."""

ALL = 1 << 40

TAGS = re.compile(r'<(?:link rel="(icon|stylesheet)" href|script src)="([\w.-]+)"(?:>| defer></script>)\n')
"""The files of the page, as its head names them: the kind of a link, and the name."""


class ExportedView(Struct, frozen=True):
    """`about` says what is in the file and how large it is."""

    name: str
    page: str
    about: str


class ExportChoice(Struct, frozen=True):
    """What the page shows: a request, 0 for the last; the one that it is compared with, 0 for the one before; and
    the panel that is open. `shown`, `profile` and `budget` are those of `SessionLibrary.history`, `prices` those of
    its `money`."""

    request: int = 0
    compared: int = 0
    panel: str = "window"
    shown: str = "recorded"
    profile: str = ""
    budget: str = ""
    prices: str = ""


def export_view(
    library: SessionLibrary, id_: str, choice: ExportChoice, most: int = MOST_BYTES
) -> ExportedView:
    redacted = library.redacted(id_)
    id_ = id_ if redacted is library else redacted.rows()[0].id
    history = redacted.history(id_, choice.shown, choice.profile, choice.budget)
    count = len(history.requests)
    number, compared = choice.request or count, choice.compared or max((choice.request or count) - 1, 0)
    for wanted in (number, compared):
        if wanted > count:
            raise InputError(
                f"there is no request {grouped(wanted)} to export", hint=f"the session has {grouped(count)}"
            )
    session = _SessionAnswers(redacted, id_, history, choice.prices, most)
    if number:
        session.add_around(number, compared)
    chosen = {
        "id": id_,
        "request": number,
        "compared": compared,
        "panel": choice.panel,
        "prices": choice.prices,
    }
    about = session.about(number)
    page = _page({**session.kept.value(), **chosen, "about": about})
    size = f"{max(len(page.encode()) / 1e6, 0.1):.1f} MB"
    return ExportedView(f"holdfast-{id_}-{number}.html".replace(":", "-"), page, f"{about} It is {size}.")


class _SessionAnswers:
    """The answers about one session, the most important first."""

    def __init__(
        self, library: SessionLibrary, id_: str, history: RequestHistory, prices: str, most: int
    ) -> None:
        self.kept = KeptAnswers(most)
        self._library, self._id, self._history = library, id_, history
        self._windows: dict[int, None] = {}
        self._unread = 0
        """Blocks of the chosen request whose texts are left out."""
        row = library.row(id_)
        session = f"sessions/{id_}"
        refused: Json = {"total": 0, "files": []}
        first = {"sessions": [row], "refused": refused, session: row}
        first[f"{session}/figures"] = library.figures(id_)
        # Which history it was tells one page's columns from another's; the same session gives the same bytes.
        timeline = {**timeline_of(history), "history": ""}
        money = money_of(history, library.prices(prices))
        of_session = {self._path("timeline"): timeline, self._path("money"): money}
        self.kept.add({**first, **of_session}, is_bounded=False)

    def _path(self, rest: str) -> str:
        return f"sessions/{self._id}/{rest}"

    def add_around(self, number: int, compared: int) -> None:
        """The chosen request, the one that it is compared with, and then its neighbours as far as there is room."""
        self._add_chosen(number, compared)
        if compared not in (0, number):
            self._add(compared)
        last = len(self._history.requests)
        for distance in range(1, last):
            near = [one for one in (number - distance, number + distance) if 1 <= one <= last]
            if not all(one in self._windows or self._add(one) for one in near):
                break
        folds = self._folds()
        for one in self._windows:
            at = bisect_right(folds, one)
            if at and folds[at - 1] - 1 in self._windows:
                self._compare(one, folds[at - 1] - 1)

    def _add_chosen(self, number: int, compared: int) -> None:
        """All rows, since they are what was asked for; then the texts, the newest first."""
        rows, texts = self._window(number)
        self.kept.add(rows, is_bounded=False)
        if compared:
            self._compare(number, compared, is_bounded=False)
        remembered = self._path(f"requests/{number}/remembered")
        self.kept.add({remembered: remembered_at(self._history, number)}, is_bounded=False)
        for path, value in reversed(texts.items()):
            self._unread += not self.kept.add({path: value, **self._whole_texts(value)})
        self._windows[number] = None

    def _add(self, number: int) -> bool:
        rows, texts = self._window(number)
        whole: dict[str, Json] = {}
        for value in texts.values():
            whole |= self._whole_texts(value)
        if not self.kept.add({**rows, **texts, **whole}):
            return False
        self._windows[number] = None
        for other in (number - 1, number + 1):
            if other in self._windows:
                self._compare(number, other)
        return True

    def _window(self, number: int) -> tuple[dict[str, Json], dict[str, Json]]:
        """The rows of a request, and its texts, by path."""
        place = self._path(f"requests/{number}")
        texts = {
            f"{place}/blocks/{at}": block_reading(self._history, placed.block)
            for at, placed in enumerate(self._history.window(number))
        }
        return {place: window_of(self._history, number, most=ALL)}, texts

    def _whole_texts(self, reading: Json) -> dict[str, Json]:
        """The texts that the cuts of a block name. One that is not found is beside the block anyway."""
        found: dict[str, Json] = {}
        for id_ in {cut["id"]: None for cut in reading["cuts"]}:
            with suppress(HoldfastError):
                found[self._path(f"texts/{id_}")] = {"id": id_, "text": self._library.text(self._id, id_)}
        return found

    def _compare(self, one: int, other: int, *, is_bounded: bool = True) -> None:
        later, earlier = max(one, other), min(one, other)
        path = self._path(f"requests/{later}/compare/{earlier}")
        if path not in self.kept:
            rows = comparison_of(self._history, later, earlier, most=ALL)
            self.kept.add({path: rows}, is_bounded=is_bounded)

    def _folds(self) -> list[int]:
        """The requests before which there was a fold or a compaction."""
        requests = self._history.requests
        return [one.number for one in requests if any(m.kind in ("fold", "compaction") for m in one.marks)]

    def about(self, number: int) -> str:
        count, windows = len(self._history.requests), sorted(self._windows)
        told = f"This file has the timeline of {counted(count, 'request')}"
        if len(windows) == count:
            told += " and every window."
        else:
            told += f" and the {_ranges(windows)}; the others are left out to keep it small."
        if self._unread:
            told += (
                f" Of request {grouped(number)}, the texts of {counted(self._unread, 'block')} are left out."
            )
        return f"{told} Secrets are replaced by <REDACTED>."


def _ranges(numbers: list[int]) -> str:
    """`windows of requests 3 and 12 to 40`."""
    there = set(numbers)
    starts = [one for one in numbers if one - 1 not in there]
    ends = [one for one in numbers if one + 1 not in there]
    parts = [
        grouped(a) if a == b else f"{grouped(a)} to {grouped(b)}" for a, b in zip(starts, ends, strict=True)
    ]
    whose = "window of request" if len(numbers) == 1 else "windows of requests"
    return f"{whose} {' and '.join(parts)}"


def page_file(name: str) -> str:
    """A file of the page."""
    return asset(name) if name in DRAWINGS else asset(f"page/{name}", "holdfast.viewer")


def _page(data: Mapping[str, Json]) -> str:
    """The page with its files in place, and the answers at its end."""
    source = page_file("page.html")
    tags = list(TAGS.finditer(source))
    icon = b64encode(page_file("icon.svg").encode()).decode()
    style = "\n".join(page_file(tag[2]) for tag in tags if tag[1] == "stylesheet")
    script = "\n".join(page_file(tag[2]) for tag in tags if not tag[1])
    policy = (
        f"default-src 'none'; script-src '{source_hash(script)}'; style-src '{source_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<link rel="icon" href="data:image/svg+xml;base64,{icon}">\n<style>{style}</style>\n'
    )
    end = (
        f'<script type="application/json" id="answers">{embedded(data)}</script>\n<script>{script}</script>\n'
    )
    before, after = (
        TAGS.sub("", source).replace("</body>", f"{end}</body>").split('<meta charset="utf-8">\n', 1)
    )
    return f'{before}<meta charset="utf-8">\n{head}{after}'
