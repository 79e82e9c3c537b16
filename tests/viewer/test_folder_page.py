"""The list of sessions in a real browser: other agents' folders, sorting, thousands of rows, unreadable files."""

import re
from contextlib import contextmanager

import pytest

from holdfast.viewer.recorded_sessions import RecordedSessions
from recordings.recording_samples import NEUTRAL, write_lines
from viewer.agent_folders import make_home
from viewer.conftest import viewer
from viewer.session_samples import HOSTILE

playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
expect = playwright.expect
pytestmark = pytest.mark.slow


@contextmanager
def opened(browser, place, *, refused=0, **settings):
    """The page of a folder. At the end there was no complaint but for `refused` requests."""
    complaints = []
    with viewer(recorded=RecordedSessions([place])) as address:
        page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}, **settings})
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        expect(page.locator("#list tbody tr").first).to_be_visible(timeout=60_000)
        yield page
        page.close()
    assert len(complaints) == refused
    assert all("400 (Bad Request)" in text for text in complaints)


def column(page, number):
    return page.locator(f"#list tbody td:nth-child({number})").all_text_contents()


def numbered(count):
    said = ({"role": "user", "content": f"Task {number}"} for number in range(count))
    rest = NEUTRAL["messages"][1:]
    return [{**NEUTRAL, "id": f"demo/{n}", "messages": [asked, *rest]} for n, asked in enumerate(said)]


def test_sessions_of_every_agent_are_listed_with_figures_and_opened(browser, tmp_path):
    make_home(tmp_path)
    with opened(browser, tmp_path) as page:
        expect(page.locator("#list-count")).to_have_text("7 sessions")
        expect(page.locator("#list-unread")).to_have_text("")
        assert sorted(column(page, 2)) == [
            "claude-code",
            "claude-code",
            "codex",
            "copilot",
            "gemini",
            "opencode",
            "pi",
        ]
        assert all(int(steps) > 0 for steps in column(page, 4))
        page.fill("#search", "opencode pixel")
        expect(page.locator("#list-count")).to_have_text("1 of 7 sessions")
        page.locator("#list a").click()
        expect(page.locator("#title")).to_have_text("A pixel")
        expect(page.locator("#rows .block").first).to_be_visible()
        page.go_back()
        expect(page.locator("#list tbody tr")).to_have_count(1)


def test_a_damaged_file_says_what_is_missing(browser, tmp_path):
    folder = make_home(tmp_path)["pi"]
    (file,) = folder.rglob("*.jsonl")
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.rindex(b"{") + 9])
    with opened(browser, folder) as page:
        page.locator("#list a").click()
        expect(page.locator("#unread summary")).to_have_text(
            re.compile(r"^Import: line \d+, the last one, is torn and was left out")
        )
        file.write_bytes(whole)
        page.reload()
        expect(page.locator("#rows .block").first).to_be_visible()
        expect(page.locator("#unread")).not_to_contain_text("torn")


def test_the_list_is_sorted_by_mouse_and_by_keyboard(browser, tmp_path):
    make_home(tmp_path)
    with opened(browser, tmp_path) as page:
        expect(page.locator("#list-unread")).to_have_text("")
        head = page.get_by_role("columnheader", name="steps")
        page.get_by_role("button", name="steps").click()
        expect(head).to_have_attribute("aria-sort", "descending")
        falling = [int(steps) for steps in column(page, 4)]
        assert falling == sorted(falling, reverse=True)
        assert len(set(falling)) > 1
        page.keyboard.press("Enter")
        expect(head).to_have_attribute("aria-sort", "ascending")
        assert [int(steps) for steps in column(page, 4)] == sorted(falling)
        page.get_by_role("button", name="agent").press("Enter")
        expect(head).to_have_attribute("aria-sort", "none")
        assert column(page, 2) == sorted(column(page, 2))
        page.locator("#list a").first.focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator("#list a").nth(1)).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#rows .block").first).to_be_visible()


def test_a_file_with_several_sessions_is_opened_like_a_folder(browser, tmp_path):
    write_lines(tmp_path / "tasks.jsonl.gz", numbered(150))
    with opened(browser, tmp_path) as page:
        expect(page.locator("#list small")).to_contain_text("a file with several sessions")
        page.locator("#list a").click()
        expect(page.locator("#sessions-title")).to_have_text("Sessions in tasks.jsonl.gz")
        expect(page.locator("#list-count")).to_have_text("150 sessions")
        page.fill("#search", "task 149")
        page.locator("#list a").click()
        expect(page.locator("#title")).to_have_text("Task 149")
        page.locator("#home").click()
        expect(page.locator("#sessions-title")).to_have_text("Sessions")


def test_thousands_of_sessions_stay_fluid_and_are_not_read(browser, tmp_path):
    for number, value in enumerate(numbered(3_000)):
        write_lines(tmp_path / f"{number:04d}.jsonl", [value])
    with opened(browser, tmp_path) as page:
        rows = page.locator("#list tbody tr")
        expect(page.locator("#list-count")).to_have_text("3,000 sessions")
        assert rows.count() < 1_000
        page.get_by_role("button", name="session", exact=True).click()
        expect(rows.first).to_contain_text("Task 0")
        page.fill("#search", "task 2999")
        expect(rows).to_have_count(1)
        page.fill("#search", "")
        page.locator("#list-more").scroll_into_view_if_needed()
        expect(rows.nth(150)).to_be_attached()
        assert "not read yet" in page.locator("#list-unread").text_content()


def test_what_is_not_shown_is_said_and_stays_text(browser, tmp_path):
    write_lines(tmp_path / "a.jsonl", [{**NEUTRAL, "messages": [{"role": "user", "content": HOSTILE}]}])
    (tmp_path / "<img src=x onerror=alert(1)>.json").write_text('{"name": 1}')
    torn = {"type": "session", "id": "p1"}
    write_lines(tmp_path / "torn.jsonl", [torn, "no object", torn])
    with opened(browser, tmp_path, refused=1) as page:
        page.locator("#refused summary").click()
        expect(page.locator("#refused li")).to_contain_text(["<img src=x onerror=alert(1)>.json"])
        expect(page.locator("#list")).to_contain_text("<script>document.title='owned'</script>")
        expect(page.locator("#list")).to_contain_text("is not a JSON object")
        assert page.locator("main img, main script").count() == 0
        assert page.title() == "Holdfast view"


@pytest.mark.parametrize("width", [1440, 800, 400])
def test_the_list_fits_the_page_at_any_width(browser, tmp_path, width):
    make_home(tmp_path)
    with opened(browser, tmp_path, viewport={"width": width, "height": 800}) as page:
        expect(page.locator("#list-unread")).to_have_text("")
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
        page.get_by_role("button", name="tokens").click()
        expect(page.locator("#list th").nth(4)).to_have_attribute("aria-sort", "descending")
