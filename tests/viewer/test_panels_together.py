"""The page as a whole: sessions one after another, panels beside each other, and what is late or refused."""

from contextlib import closing

import pytest

from holdfast.events import LogStarted
from holdfast.messages import Text
from holdfast.store import MemoryStore
from holdfast.viewer.store_place import StorePlace
from viewer.conftest import viewer
from viewer.other_process import other_process
from viewer.session_samples import keep, long_work
from viewer.test_live_page import begin, page_of

playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
expect = playwright.expect
pytestmark = pytest.mark.slow


@pytest.fixture
def two(browser):
    """A page on a session of twenty requests, and one that is empty; a function that opens one of them."""
    store = MemoryStore()
    ids = {
        "long": keep(store, "long", long_work(20)),
        "short": keep(store, "short", long_work(4)),
        "empty": keep(store, "empty", [LogStarted(title="T" * 5000, origin="import", source="sample")]),
    }
    with viewer(store) as address, page_of(browser, address) as page:
        yield page, lambda name: page.evaluate("(id) => { location.hash = `#/${id}`; }", ids[name])


def test_a_session_shows_nothing_of_the_one_before(two):
    page, show = two
    show("long")
    expect(page.locator("#now")).to_contain_text("Request 20 of 20")
    page.click("#tab-compare")
    page.click("#compare-pin")
    expect(page.locator("#compare-state")).to_contain_text("Request 20 is the chosen one itself")
    show("empty")
    expect(page.locator("#state")).to_contain_text("Nobody has asked a model")
    for name in ("#now", "#timeline", "#tabs", "#panel-compare"):
        expect(page.locator(name)).to_be_hidden()
    assert len(page.locator("#title").inner_text()) < 500
    show("short")
    expect(page.locator("#compare-state")).to_contain_text("Request 3, ")
    expect(page.locator("#timeline")).to_be_visible()


def test_a_session_that_comes_late_does_not_cover_the_list(two):
    page, show = two
    late = []

    def hold(route):
        late.append(route)

    page.route("**/timeline?*", hold)
    show("long")
    expect(page.locator("#state")).to_contain_text("Reading the session")
    page.click("#home")
    expect(page.locator("#sessions")).to_be_visible()
    with page.expect_response("**/timeline?*"):
        late[0].continue_()
    page.evaluate("() => new Promise(requestAnimationFrame)")
    expect(page.locator("#session")).to_be_hidden()
    expect(page.locator("#sessions")).to_be_visible()


def test_a_session_that_cannot_be_read_does_not_show_another_ones_requests(two):
    page, show = two
    show("long")
    expect(page.locator("#now")).to_contain_text("Request 20 of 20")
    page.route("**/timeline?*", lambda route: route.fulfill(status=400, json={"error": "it is damaged"}))
    show("short")
    expect(page.locator("#state")).to_have_text("it is damaged")
    page.unroute("**/timeline?*")
    page.click("#home")
    expect(page.locator("#sessions")).to_be_visible()
    show("short")
    expect(page.locator("#now")).to_contain_text("Request 4 of 4")


def test_a_profile_that_is_refused_leaves_the_session_as_it_was(two):
    page, show = two
    show("long")
    expect(page.locator("#now")).to_contain_text("Request 20 of 20")
    page.check("input[value=preview]")
    page.fill("#choice [name=budget]", "nothing")
    page.click("#choice button")
    expect(page.locator("#state")).to_contain_text("`nothing` is not a number of tokens; ")
    page.locator("#timeline").press("ArrowLeft")
    expect(page.locator("#now")).to_contain_text("Request 19 of 20")
    expect(page.locator("#matches")).to_contain_text("in the order sent")


def test_the_link_to_the_content_stays_in_the_session(two):
    page, show = two
    show("long")
    expect(page.locator("#now")).to_contain_text("Request 20 of 20")
    page.locator(".skip").press("Enter")
    expect(page.locator("#main")).to_be_focused()
    expect(page.locator("#session")).to_be_visible()


def test_a_very_long_text_is_shown_in_part_until_asked_for(browser):
    store = MemoryStore()
    events = long_work(3, 1)
    events[2] = type(events[2])((Text("line\n" * 100_000),))
    log = keep(store, "long text", events)
    with viewer(store) as address, page_of(browser, f"{address}#/{log}") as page:
        page.locator(".block", has_text="line").first.click()
        more = page.locator("#seen button")
        expect(more).to_have_text("Show all 500,000 characters")
        more.click()
        expect(more).to_have_count(0)
        assert page.evaluate("() => document.querySelector('#seen').textContent.length") == 500_000


def test_who_reads_a_fact_is_not_moved_and_money_stays_in_sight(browser, tmp_path):
    place = tmp_path / "store.db"
    with other_process(place) as other, closing(StorePlace(place)) as store, viewer(store) as address:
        log = begin(other, "Work", 2)
        with page_of(browser, f"{address}#/{log}/2/memory") as page:
            expect(page.locator("#live")).to_have_text("live")
            page.locator("#memory-groups li button").first.click()
            source = page.locator("#memory-groups article")
            expect(source).to_contain_text("In the log")
            other.step(log)
            expect(page.locator("#now")).to_contain_text("Request 2 of 3")
            expect(source).to_be_visible()
            page.click("#tab-money")
            expect(page.locator("#money-found")).to_be_visible()
            page.evaluate("""() => { window.wasHidden = false; new MutationObserver(() => {
                window.wasHidden ||= document.querySelector('#money-found').hidden; })
                .observe(document.querySelector('#money-found'), { attributes: true }); }""")
            other.step(log)
            expect(page.locator("#now")).to_contain_text("of 4")
            expect(page.locator("#money-told")).to_contain_text("all 4 requests")
            assert not page.evaluate("() => window.wasHidden")


def test_a_replay_is_asked_for_again_after_the_viewer_was_away(two):
    page, show = two
    row = {
        "id": 1,
        "kind": "preview",
        "profile": "code",
        "budget": "16k",
        "state": "running",
        "stage": "packing",
    }
    under_way = [{**row, "done": 1, "total": 20, "error": "", "figures": None}]
    show("long")
    expect(page.locator("#now")).to_contain_text("Request 20 of 20")
    page.route("**/what-if?*", lambda route: route.fulfill(json=under_way))
    page.click("#tab-money")
    expect(page.locator("#what-if-rows")).to_contain_text("1 of 20 requests")
    page.unroute("**/what-if?*")
    page.route("**/what-if?*", lambda route: route.abort())
    expect(page.locator("#what-if-state")).to_have_text("The viewer does not answer: it may have ended.")
    page.unroute("**/what-if?*")
    expect(page.locator("#what-if-rows")).to_be_hidden()
    expect(page.locator("#what-if-state")).to_be_empty()
