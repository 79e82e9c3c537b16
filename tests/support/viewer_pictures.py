"""The pictures of the viewer in the documents: its real page in a real browser, on sessions of our own making.

    uv run python tests/support/viewer_pictures.py [FOLDER]

Writes `viewer-sessions`, `viewer-timeline` and `viewer-cut` as PNG, below `docs/pictures` unless FOLDER is given.
"""

import shutil
import sys
from pathlib import Path

from msgspec.structs import replace
from playwright.sync_api import expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from holdfast.events import AssistantReplied, LogStarted, Recorded, Recording
from holdfast.log import Log
from holdfast.recordings import find_recording
from holdfast.store import MemoryStore
from viewer.conftest import ARGUMENTS, viewer
from viewer.session_samples import MODEL, long_work

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
SIZE = {"width": 1180, "height": 1060}
SESSIONS = (
    ("Move the settings into one file", "claude-code", 96, 8),
    ("Why does the nightly build fail?", "copilot", 34, 3),
    ("Add a dark theme to the report", "opencode", 58, 4),
    ("Sort the invoices by due date", "opencode", 21, 2),
    ("Write tests for the importer", "claude-code", 120, 6),
    ("Review the change of the price table", "pi", 12, 1),
)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    store = MemoryStore()
    chosen = _inventory(store)
    for number, (title, agent, steps, rounds) in enumerate(SESSIONS):
        started, *work = long_work(steps, rounds)
        events = [replace(started, title=title, source=agent), *work]
        recorded = tuple(Recorded(event, at=1.79e9 - 90_000 * number + at) for at, event in enumerate(events))
        _import(store, title, recorded)
    with viewer(store) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        page = browser.new_context(viewport=SIZE, locale="en-GB", timezone_id="UTC").new_page()
        page.goto(address)
        expect(page.locator("#list-unread")).to_have_text("", timeout=60_000)
        page.screenshot(path=folder / "viewer-sessions.png", clip={"x": 0, "y": 0, **SIZE, "height": 560})
        page.goto(f"{address}#/{chosen}")
        page.check("input[value=preview]")
        page.fill("input[name=budget]", "32k")
        page.click("#choice button")
        expect(page.locator("#shown")).to_contain_text("nothing of it was sent", timeout=60_000)
        page.locator("#timeline").focus()
        for key in (*["Shift+ArrowLeft"] * 4, "ArrowLeft", "ArrowLeft"):
            page.keyboard.press(key)
        page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
        expect(page.locator("#now")).to_contain_text("Request 32")
        expect(page.locator("#rows .block").first).to_be_visible()
        page.screenshot(path=folder / "viewer-timeline.png")
        page.locator("#timeline").focus()
        page.keyboard.press("Home")
        for _ in range(12):
            page.keyboard.press("ArrowRight")
        expect(page.locator("#now")).to_contain_text("Request 13")
        page.locator("#rows .block.shortened").first.click()
        expect(page.locator("#reading")).to_be_visible()
        page.locator("#reading").screenshot(path=folder / "viewer-cut.png")
        browser.close()


def _inventory(store: MemoryStore) -> str:
    """The recording of the examples, as if a model with prices had been asked every half minute."""
    recording = find_recording(ROOT / "examples" / "recordings" / "inventory.jsonl")
    events = []
    for number, recorded in enumerate(recording.events):
        event = recorded.event
        if isinstance(event, AssistantReplied):
            event = replace(event, model=MODEL)
        elif isinstance(event, LogStarted):
            event = replace(event, source="claude-code")
        events.append(replace(recorded, event=event, at=1.7901e9 + 30 * number))
    return _import(store, recording.id, tuple(events))


def _import(store: MemoryStore, name: str, events: tuple[Recorded, ...]) -> str:
    return Log.import_recording(store, Recording(name, "sample", events), redact=str).id


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
