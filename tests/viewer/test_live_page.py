"""The page while another process works: what appears without a reload, what stays, and a server that comes back."""

import signal
from contextlib import closing, contextmanager

import pytest

from holdfast.viewer.recorded_sessions import RecordedSessions
from holdfast.viewer.store_place import StorePlace
from recordings.recording_samples import NEUTRAL, write_lines
from support.free_port import free_port
from viewer.conftest import viewer
from viewer.other_process import other_process
from viewer.view_program import end, serve

playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
expect = playwright.expect
pytestmark = pytest.mark.slow

SECONDS = 60_000


@pytest.fixture(autouse=True)
def patient():
    """A busy machine may take its time."""
    expect.set_options(timeout=SECONDS)
    yield
    expect.set_options(timeout=5_000)


@contextmanager
def page_of(browser, address):
    """A page that is never loaded again, and complains of nothing."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(SECONDS)
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    page.evaluate("() => { window.isFirstLoad = true; }")
    yield page
    assert page.evaluate("() => window.isFirstLoad")
    page.close()
    assert complaints == []


@pytest.fixture
def live(tmp_path, browser):
    """A page on a store, and another process that writes to it."""
    place = tmp_path / "store.db"
    with (
        other_process(place) as other,
        closing(StorePlace(place)) as store,
        viewer(store) as address,
        page_of(browser, address) as page,
    ):
        expect(page.locator("#live")).to_have_text("live")
        yield page, other


def open_session(page, title):
    page.get_by_role("link", name=title).click()
    expect(page.locator("#session")).to_be_visible()


def begin(other, title, steps):
    log = other.begin(title)
    for number in range(1, steps + 1):
        other.step(log, f"step number {number}")
    return log


def test_sessions_appear_grow_and_go_in_the_list(live):
    page, other = live
    expect(page.locator("#state")).to_contain_text("There is no session yet")
    first = begin(other, "The first <b>one</b>", 1)
    row = page.locator("#list tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("The first <b>one</b>")
    expect(page.locator("#state")).to_be_hidden()
    expect(row.locator("td").nth(3)).to_have_text("1")
    other.step(first)
    expect(row.locator("td").nth(3)).to_have_text("2")
    begin(other, "The second", 1)
    expect(row).to_have_count(2)
    expect(row.first).to_contain_text("The second")
    page.fill("#search", "first")
    expect(row).to_have_count(1)
    begin(other, "The third", 1)
    expect(page.locator("#list-count")).to_have_text("1 of 3 sessions")
    expect(row).to_have_count(1)
    other.delete(first)
    expect(row).to_have_count(0)
    expect(page.locator("#none")).to_be_visible()
    page.fill("#search", "")
    expect(row).to_have_count(2)
    expect(row.first).to_contain_text("The third")


def test_the_sessions_of_a_file_stay_while_a_store_grows(browser, tmp_path):
    place, folder = tmp_path / "store.db", tmp_path / "folder"
    folder.mkdir()
    write_lines(folder / "two.jsonl", [NEUTRAL, {**NEUTRAL, "id": "demo/two"}])
    with (
        other_process(place) as other,
        closing(StorePlace(place)) as store,
        viewer(store, recorded=RecordedSessions([folder])) as address,
        page_of(browser, address) as page,
    ):
        open_file = page.get_by_role("link", name="two.jsonl")
        open_file.click()
        rows = page.locator("#list tbody tr")
        expect(rows).to_have_count(2)
        begin(other, "work", 1)
        page.wait_for_function("() => live.known.size === 2")
        expect(rows).to_have_count(2)
        expect(page.get_by_role("link", name="Fix the parser")).to_have_count(2)
        page.click("#home")
        expect(open_file).to_be_visible()
        expect(page.get_by_role("link", name="work")).to_be_visible()


def test_the_newest_request_is_followed_and_another_stays_chosen(live):
    page, other = live
    log = begin(other, "work", 3)
    now, follow = page.locator("#now"), page.locator("#follow")
    open_session(page, "work")
    expect(now).to_contain_text("Request 3 of 3")
    expect(follow).to_be_checked()
    other.step(log, "step number 4")
    expect(now).to_contain_text("Request 4 of 4")
    expect(page.locator("#matches")).to_contain_text("7 blocks")
    page.locator("#timeline").focus()
    page.keyboard.press("Home")
    expect(follow).not_to_be_checked()
    page.locator("#block-0").click()
    expect(page.locator("#seen")).to_have_text("Begin.")
    other.step(log, "step number 5")
    expect(now).to_contain_text("Request 1 of 5")
    expect(page.locator("#timeline")).to_have_attribute("aria-valuemax", "5")
    expect(page.locator("#seen")).to_be_visible()
    follow.check()
    expect(now).to_contain_text("Request 5 of 5")
    follow.uncheck()
    other.step(log, "step number 6")
    expect(now).to_contain_text("Request 5 of 6")


def test_who_reads_a_block_of_the_last_request_is_not_moved(live):
    page, other = live
    log = begin(other, "work", 2)
    open_session(page, "work")
    page.locator("#block-2").click()
    expect(page.locator("#seen")).to_contain_text("result of step number 1")
    other.step(log)
    expect(page.locator("#now")).to_contain_text("Request 2 of 3")
    expect(page.locator("#seen")).to_be_visible()
    expect(page.locator("#follow")).not_to_be_checked()


def test_the_first_request_of_an_open_session_appears(live):
    page, other = live
    log = begin(other, "work", 0)
    open_session(page, "work")
    expect(page.locator("#state")).to_contain_text("Nobody has asked a model")
    other.step(log)
    expect(page.locator("#now")).to_contain_text("Request 1 of 1")
    expect(page.locator("#state")).to_be_hidden()
    other.delete(log)
    expect(page.locator("#state")).to_have_text("This session was deleted.")


def test_what_is_in_sight_stays_while_others_are_added(live):
    page, other = live
    log = begin(other, "work", 30)
    open_session(page, "work")
    expect(page.locator("#now")).to_contain_text("Request 30 of 30")
    page.locator("#timeline").focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("+")
    sight = "() => [timeline.from, timeline.to]"
    before = page.evaluate(sight)
    assert before[1] < 30
    other.step(log)
    expect(page.locator("#now")).to_contain_text("Request 1 of 31")
    assert page.evaluate(sight) == before
    page.keyboard.press("0")
    other.step(log)
    expect(page.locator("#now")).to_contain_text("Request 1 of 32")
    assert page.evaluate(sight) == [0, 32]


def test_a_request_is_compared_with_one_that_came_later(live):
    page, other = live
    log = begin(other, "work", 2)
    open_session(page, "work")
    page.click("#tab-compare")
    expect(page.locator("#compare-state")).to_contain_text("Request 1, ")
    other.step(log)
    expect(page.locator("#compare-state")).to_contain_text("and request 3, ")


def test_a_store_that_comes_later_goes_and_comes_again_is_followed(browser, tmp_path):
    place = tmp_path / "store.db"
    with (
        closing(StorePlace(place)) as store,
        viewer(store) as address,
        page_of(browser, address) as page,
    ):
        rows = page.locator("#list tbody tr")
        expect(page.locator("#live")).to_have_text("live")
        expect(page.locator("#state")).to_contain_text("There is no session yet")
        with other_process(place) as other:
            begin(other, "The first", 2)
            expect(rows).to_have_count(1)
            expect(page.locator("#state")).to_be_hidden()
            open_session(page, "The first")
        for file in tmp_path.glob("store.db*"):
            file.unlink()
        expect(page.locator("#state")).to_have_text("This session was deleted.")
        page.click("#home")
        expect(page.locator("#state")).to_contain_text("There is no session yet")
        with other_process(place) as other:
            log = begin(other, "The second", 1)
            expect(rows).to_contain_text(["The second"])
            expect(rows).to_have_count(1)
            open_session(page, "The second")
            other.step(log)
            expect(page.locator("#now")).to_contain_text("Request 2 of 2")


def test_a_page_finds_a_server_that_was_killed_and_started_again(browser, tmp_path):
    place, port = tmp_path / "store.db", free_port()
    with other_process(place) as other:
        log = begin(other, "work", 2)
        program, address, _ = serve("--store", place, "--port", port)
        with page_of(browser, f"{address}#/{log}") as page:
            expect(page.locator("#live")).to_have_text("live")
            expect(page.locator("#now")).to_contain_text("Request 2 of 2")
            end(program, signal.SIGKILL)
            expect(page.locator("#live")).to_contain_text("Not connected, trying again.")
            page.locator("#timeline").focus()
            page.keyboard.press("Home")
            expect(page.locator("#matches")).to_contain_text("The viewer does not answer")
            page.keyboard.press("End")
            other.step(log)
            other.step(log)
            program, again, _ = serve("--store", place, "--port", port)
            assert again == address
            expect(page.locator("#live")).to_have_text("live")
            expect(page.locator("#now")).to_contain_text("Request 4 of 4")
            expect(page.locator("#matches")).not_to_contain_text("does not answer")
            expect(page.locator("#state")).to_be_hidden()
            other.step(log)
            expect(page.locator("#now")).to_contain_text("Request 5 of 5")
        end(program)


def test_a_page_says_when_the_address_has_changed(browser, tmp_path):
    place, port = tmp_path / "store.db", free_port()
    with other_process(place) as other:
        begin(other, "work", 1)
        program, address, _ = serve("--store", place, "--port", port)
        with page_of(browser, address) as page:
            expect(page.locator("#live")).to_have_text("live")
            end(program, signal.SIGTERM)
            (tmp_path / "store-view-token").unlink()
            program, again, _ = serve("--store", place, "--port", port)
            assert again != address
            expect(page.locator("#live")).to_contain_text("use the one that `holdfast view` printed")
        end(program)


def test_a_hidden_page_leaves_and_catches_up_when_it_is_looked_at(live):
    page, other = live
    log = begin(other, "work", 1)
    open_session(page, "work")
    expect(page.locator("#now")).to_contain_text("Request 1 of 1")
    look = """(isHidden) => {
        Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(look, True)
    expect(page.locator("#live")).to_have_text("")
    other.step(log)
    page.evaluate(look, False)
    expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("#now")).to_contain_text("Request 2 of 2")
