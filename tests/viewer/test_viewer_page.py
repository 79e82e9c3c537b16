"""The page in a real browser: sessions, scrubbing, a cut and its original, a log that would like to be a page."""

import re
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from view_history import made_up_log

from holdfast.store import MemoryStore
from viewer.conftest import viewer
from viewer.session_samples import HOSTILE, hostile_work, keep, long_work
from viewer.session_samples import UNSEEN as UNSEEN_SIGNS

playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
expect = playwright.expect
pytestmark = pytest.mark.slow


UNSEEN = """() => {
  const texts = (node) => [...node.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ data }) => data);
  const words = [...document.body.querySelectorAll('*')].flatMap((node) => [
    ...(node.closest('pre, script') ? [] : texts(node)), ...[...node.attributes].map(({ value }) => value)]);
  const unseen = /[\\0\\u200b\\u2028-\\u202e\\u2066-\\u2069\\ufeff\\u{e0000}-\\u{e007f}]/u;
  return [document.title, ...words].filter((one) => unseen.test(one));
}"""
"""Texts with characters that have no shape or turn others around, but for whole texts."""


@contextmanager
def opened(browser, events, *, refused=0, **settings):
    """The page of a log. At the end there was no complaint but for `refused` requests, all to the viewer."""
    store = MemoryStore()
    log = keep(store, "sample", events)
    complaints, hosts = [], set()
    with viewer(store) as address:
        page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}, **settings})
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
        page.goto(address)
        yield page, log
        page.close()
        assert len([text for text in complaints if "404 (Not Found)" in text]) == refused
        assert len(complaints) == refused
        assert hosts == {urlsplit(address).netloc}


def choose_session(page):
    page.locator("#list a").first.click()
    expect(page.locator("#rows .block").first).to_be_visible()


def test_the_list_shows_what_a_session_amounts_to_and_is_searched(browser):
    with opened(browser, long_work()) as (page, log):
        row = page.locator("#list tbody tr")
        expect(row).to_contain_text(["Make the parser faster"])
        expect(row.locator("td").nth(3)).to_have_text("40")
        expect(row.locator("td").nth(5)).to_contain_text("$")
        page.fill("#search", log[:6])
        expect(row).to_be_visible()
        page.fill("#search", "nothing like it")
        expect(row).to_be_hidden()
        expect(page.locator("#none")).to_be_visible()


def test_arrow_keys_scrub_through_the_requests(browser):
    with opened(browser, long_work()) as (page, _):
        choose_session(page)
        now, timeline = page.locator("#now"), page.locator("#timeline")
        expect(now).to_contain_text("Request 40 of 40")
        timeline.focus()
        for key, number in (("ArrowLeft", 39), ("Shift+ArrowLeft", 29), ("Home", 1), ("ArrowRight", 2)):
            page.keyboard.press(key)
            expect(now).to_contain_text(f"Request {number} of 40")
            expect(timeline).to_have_attribute("aria-valuenow", str(number))
        expect(page.locator("#matches")).to_contain_text("4 blocks")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#matches")).to_contain_text("2 blocks")
        box = page.locator("#canvas").bounding_box()
        page.mouse.click(box["x"] + box["width"] - 14, box["y"] + 100)
        expect(now).to_contain_text("Request 40 of 40")


def test_the_mouse_goes_through_the_requests_and_zooms(browser):
    with opened(browser, long_work()) as (page, _):
        choose_session(page)
        now, canvas = page.locator("#now"), page.locator("#canvas")
        box = canvas.bounding_box()
        left, width, high = box["x"] + 58, box["width"] - 68, box["y"] + 100
        page.mouse.move(left + width * 0.0125, high)
        page.mouse.down()
        expect(now).to_contain_text("Request 1 of 40")
        page.mouse.move(left + width * 0.5125, high, steps=5)
        expect(now).to_contain_text("Request 21 of 40")
        page.mouse.up()
        page.mouse.move(left + width * 0.9, high)
        expect(now).to_contain_text("Request 21 of 40")
        expect(page.locator("#matches")).to_contain_text("44 blocks")
        drawn = canvas.get_attribute("data-drawn")
        page.mouse.wheel(0, -400)
        expect(canvas).not_to_have_attribute("data-drawn", drawn)
        assert page.evaluate("() => timeline.to - timeline.from") < 40
        assert page.evaluate("() => scrollY") == 0
        page.locator("#timeline").focus()
        page.keyboard.press("0")
        assert page.evaluate("() => timeline.to - timeline.from") == 40
        page.mouse.wheel(0, 200)
        page.wait_for_function("() => scrollY > 0")


def test_two_requests_are_compared_by_keyboard(browser):
    with opened(browser, long_work()) as (page, _):
        choose_session(page)
        page.locator("#timeline").focus()
        page.keyboard.press("Home")
        page.keyboard.press("p")
        page.keyboard.press("ArrowRight")
        page.locator("#tab-window").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#compare-state")).to_contain_text("Request 1, ")
        expect(page.locator("#compare-prefix")).to_contain_text("only grew at its end, by 2 blocks")
        expect(page.locator("#compare-rows li")).to_have_count(2)
        page.locator("#compare-rows button").last.press("Enter")
        expect(page.locator("#compare-now")).to_contain_text("row 0 of the output")
        page.keyboard.press("Escape")
        expect(page.locator("#compare-rows button").last).to_be_focused()


def test_every_block_says_whether_it_came_from_the_cache(browser):
    with opened(browser, long_work()) as (page, _):
        choose_session(page)
        page.locator("#timeline").focus()
        states = page.locator("#rows .cache")
        page.keyboard.press("Home")
        expect(states).to_have_text(["new", "new"])
        page.keyboard.press("ArrowRight")
        expect(states).to_have_text(["cached", "cached", "new", "new"])
        for _ in range(6):
            page.keyboard.press("ArrowRight")
        expect(page.locator("#now")).to_contain_text("Request 8 of 40")
        expect(states.last).to_have_text("new")
        expect(states.first).to_have_text("sent again")
        expect(page.get_by_role("option").last).to_have_accessible_name(
            re.compile("result, Bash, step 7, 1 step ago, .*, new: row 6")
        )


def test_a_session_is_opened_and_left_by_keyboard(browser):
    with opened(browser, long_work()) as (page, _):
        page.locator("#list a").first.press("Enter")
        expect(page.get_by_role("heading", level=1, name="Make the parser faster")).to_be_focused()
        expect(page.locator("#rows .block").first).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.get_by_role("radio", name="as recorded")).to_be_focused()
        page.go_back()
        expect(page.get_by_role("heading", level=1, name="Sessions")).to_be_focused()


def test_the_skip_link_stays_in_the_session(browser):
    with opened(browser, long_work()) as (page, _):
        choose_session(page)
        page.locator(".skip").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#main")).to_be_focused()
        expect(page.locator("#session")).to_be_visible()


def test_a_cut_is_shown_beside_its_original(browser):
    with opened(browser, long_work()) as (page, _):
        choose_session(page)
        page.check("input[value=preview]")
        page.fill("input[name=budget]", "16k")
        page.click("#choice button")
        expect(page.locator("#shown")).to_contain_text("nothing of it was sent")
        cut = page.locator(".block:has(.cut)").last
        cut.click()
        expect(page.locator("#cuts")).to_contain_text("by the rule first-sight")
        expect(page.locator("#seen")).to_contain_text("lines left out")
        whole = "row 39 of the output\n" * 120
        original = page.locator("#original").text_content()
        assert original.startswith("row ")
        assert original.count("\n") == whole.count("\n")
        page.locator("#cuts button").click()
        expect(page.locator("#original")).to_have_text(original)
        page.keyboard.press("Escape")
        expect(page.locator("#reading")).to_be_hidden()


def test_rows_are_read_by_keyboard_and_found_by_words(browser):
    with opened(browser, long_work()) as (page, _):
        choose_session(page)
        page.fill("#words", "part-7")
        expect(page.locator("#matches")).to_contain_text("1 block with these words")
        page.locator("#rows").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#seen")).to_contain_text("make part-7")
        expect(page.locator("#beside")).to_be_hidden()


def test_a_click_on_a_row_that_is_painted_again_meanwhile_counts(browser):
    with opened(browser, long_work()) as (page, _):
        choose_session(page)
        page.locator("#block-3").scroll_into_view_if_needed()
        box = page.locator("#block-3").bounding_box()
        page.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.evaluate("() => paintRows()")
        page.mouse.up()
        expect(page.locator("#seen")).to_contain_text("row 0 of the output")
        expect(page.locator("#block-3")).to_have_attribute("aria-selected", "true")


def test_a_long_window_is_read_to_its_end(browser):
    with opened(browser, long_work(300)) as (page, _):
        choose_session(page)
        expect(page.locator("#matches")).to_contain_text("603 blocks")
        page.locator("#rows").focus()
        page.keyboard.press("End")
        expect(page.locator("#block-602")).to_contain_text("row 298 of the output")
        page.keyboard.press("Home")
        expect(page.locator("#block-0")).to_contain_text("Be careful.")
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        expect(page.locator("#seen")).to_contain_text("row 298")


def test_ten_thousand_requests_are_scrubbed_and_read(browser):
    events = [entry.event for entry in made_up_log(10_000, 20)]
    with opened(browser, events) as (page, _):
        page.locator("#list a").first.click()
        now = page.locator("#now")
        expect(now).to_contain_text("Request 10,000 of 10,000", timeout=60_000)
        page.locator("#timeline").focus()
        for key, number in (("Home", "1"), ("PageUp", "101"), ("ArrowRight", "102"), ("End", "10,000")):
            page.keyboard.press(key)
            expect(now).to_contain_text(f"Request {number} of 10,000")
        drawn = page.locator("#canvas").get_attribute("data-drawn")
        page.keyboard.press("+")
        expect(page.locator("#canvas")).not_to_have_attribute("data-drawn", drawn)
        page.locator("#rows").focus()
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        expect(page.locator("#seen")).not_to_be_empty()


@pytest.mark.parametrize("width", [1440, 800, 400])
def test_nothing_is_wider_than_the_page(browser, width):
    with opened(browser, hostile_work(), viewport={"width": width, "height": 800}) as (page, _):
        choose_session(page)
        page.locator(".block").last.click()
        expect(page.locator("#reading")).to_be_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_log_full_of_markup_stays_text(browser):
    with opened(browser, hostile_work()) as (page, _):
        choose_session(page)
        title = "".join(f"⟨U+{ord(sign):04X}⟩" if sign in UNSEEN_SIGNS else sign for sign in HOSTILE)
        expect(page.locator("#title")).to_have_text(title)
        assert page.title() == f"{title} · Holdfast view"
        for at in range(page.locator(".block").count()):
            page.locator(f"#block-{at}").click()
            expect(page.locator("#seen")).to_contain_text("<script>document.title='owned'</script>")
        assert page.locator("main script, main img, main iframe, main svg").count() == 0
        assert page.title() == f"{title} · Holdfast view"
        assert page.evaluate(UNSEEN) == []
        assert "\u202e" in page.locator("#seen").text_content()
        expect(page.locator("#unseen")).to_contain_text("9 characters of this text cannot be seen")
        expect(page.locator("#unseen")).to_contain_text("U+202E")
        expect(page.locator("#unseen")).to_contain_text("U+E0069")
        for name in ("compare", "memory", "money"):
            page.locator(f"#tab-{name}").click()
            expect(page.locator(f"#panel-{name}")).to_be_visible()
        expect(page.locator("#memory-state, #money-told").last).not_to_have_text("Reading…")
        assert page.evaluate(UNSEEN) == []
        page.goto(page.url.partition("#")[0])
        expect(page.locator("#list a")).to_contain_text("<script>")
        assert page.evaluate(UNSEEN) == []


@pytest.mark.parametrize(
    "attempt",
    [
        "document.body.innerHTML = markup",
        "document.body.setAttribute('onclick', 'document.title = 1')",
        "document.createElement('script').textContent = 'document.title = 1'",
        "document.createElement('script').src = 'http://127.0.0.1:9/other.js'",
    ],
)
def test_the_policy_of_the_page_lets_nothing_become_script(browser, attempt):
    store = MemoryStore()
    keep(store, "sample", hostile_work())
    with viewer(store) as address:
        page = browser.new_page()
        page.goto(address)
        with pytest.raises(playwright.Error, match=r"Trusted|Content Security Policy"):
            page.evaluate(f"(markup) => {{ {attempt}; }}", HOSTILE)
        assert page.title() == "Holdfast view"
        page.close()


def test_a_request_that_is_not_there_is_said_and_the_last_is_shown(browser):
    with opened(browser, long_work()) as (page, log):
        page.goto(f"{page.url.partition('#')[0]}#/{log}/9999")
        words = "There is no request 9,999, this is the last. Request 40 of 40"
        expect(page.locator("#now")).to_contain_text(words)
        page.locator("#timeline").focus()
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#now")).to_have_text(re.compile("^Request 39 of 40"))


def test_an_error_is_a_sentence_on_the_page(browser):
    with opened(browser, long_work(), refused=1) as (page, _):
        choose_session(page)
        page.evaluate("() => { location.hash = '#/unknown-session'; }")
        expect(page.locator("#state")).to_have_text("there is no session `unknown-session`")
