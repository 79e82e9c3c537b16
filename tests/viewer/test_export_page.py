"""An export in a real browser: the same page without a server, whatever the log holds, on a screen and on paper."""

from contextlib import contextmanager

import pytest

from holdfast.events import AssistantReplied, LogStarted, ToolReturned, UserSaid
from holdfast.messages import Text, ToolCall
from holdfast.store import MemoryStore
from holdfast.viewer.export import MOST_BYTES, ExportChoice
from viewer.conftest import viewer
from viewer.session_samples import HOSTILE, MODEL, hostile_work, keep, long_work
from viewer.test_export import exported

playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
expect = playwright.expect
pytestmark = pytest.mark.slow


@contextmanager
def opened_file(browser, path, **settings):
    """The page of a file. At the end nothing but the file was asked for, and nothing complained."""
    complaints, requests = [], []
    page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}, **settings})
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url.partition("#")[0]))
    page.goto(path.as_uri())
    expect(page.locator("#title")).not_to_be_empty()
    yield page
    page.close()
    assert complaints == []
    assert requests == [path.as_uri()]


@pytest.fixture
def visit(browser, tmp_path):
    def open_export(events, choice=None, most=MOST_BYTES, **settings):
        path = tmp_path / "view.html"
        path.write_text(exported(events, choice or ExportChoice(), most=most).page, "utf-8")
        return opened_file(browser, path, **settings)

    return open_export


def test_requests_are_scrubbed_read_searched_and_compared_without_a_server(visit):
    with visit(long_work(), ExportChoice(request=12)) as page:
        now = page.locator("#now")
        expect(now).to_contain_text("Request 12 of 40")
        expect(page.locator("#about")).to_contain_text("every window")
        page.locator("#timeline").focus()
        page.keyboard.press("ArrowLeft")
        expect(now).to_contain_text("Request 11 of 40")
        page.keyboard.press("End")
        expect(now).to_contain_text("Request 40 of 40")
        page.fill("#words", "PART-7")
        expect(page.locator("#matches")).to_contain_text("1 block with these words")
        page.locator("#rows").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#seen")).to_contain_text("make part-7")
        page.keyboard.press("Escape")
        page.locator("#tab-window").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#compare-state")).to_contain_text("Request 39")
        page.select_option("#compare-what", "left")
        expect(page.locator("#compare-rows button")).to_have_count(0)
        page.select_option("#compare-what", "entered")
        page.locator("#compare-rows button").last.click()
        expect(page.locator("#compare-now")).to_contain_text("row 38 of the output")
        assert not page.locator("#choice, #export").first.is_visible()
        page.click("#home")
        expect(page.locator("#list tbody tr")).to_contain_text(["Make the parser faster"])


def test_a_cut_of_a_preview_is_beside_its_original(visit):
    with visit(long_work(), ExportChoice(shown="preview", budget="16k")) as page:
        expect(page.locator("#shown")).to_contain_text("nothing of it was sent")
        page.locator(".block:has(.cut)").last.click()
        expect(page.locator("#seen")).to_contain_text("lines left out")
        original = page.locator("#original").text_content()
        assert original.count("\n") == 120
        page.locator("#cuts button").click()
        expect(page.locator("#original")).to_have_text(original)


def test_the_prices_that_were_chosen_are_those_of_the_export(visit):
    choice, other = (
        ExportChoice(panel="money"),
        ExportChoice(panel="money", prices="anthropic/claude-haiku-4-5"),
    )
    with visit(long_work(), choice) as page:
        recorded = page.locator("#money-table .sum td").last.text_content()
        expect(page.locator("#money-state")).to_have_text("")
    with visit(long_work(), other) as page:
        expect(page.locator("#money-state")).to_have_text("At the prices of anthropic/claude-haiku-4-5.")
        cheaper = page.locator("#money-table .sum td").last.text_content()
    assert float(cheaper[1:]) == pytest.approx(float(recorded[1:]) / 5, rel=0.05)


def test_what_was_left_out_is_said_where_it_is_missed(visit):
    with visit(long_work(60), ExportChoice(request=60, compared=2, panel="compare"), most=120_000) as page:
        expect(page.locator("#compare-state")).to_contain_text("Request 2")
        page.locator("#timeline").focus()
        page.keyboard.press("Home")
        expect(page.locator("#now")).to_contain_text("Request 1 of 60")
        expect(page.locator("#compare-state")).to_have_text("This comparison is left out of this export.")
        page.click("#tab-window")
        expect(page.locator("#matches")).to_have_text("The window of request 1 is left out of this export.")
        assert page.locator(".block").count() == 0


def test_a_window_of_many_blocks_is_read_to_its_end(visit):
    with visit(long_work(160)) as page:
        expect(page.locator("#matches")).to_contain_text("323 blocks")
        page.locator("#rows").focus()
        page.keyboard.press("End")
        expect(page.locator("#block-322")).to_contain_text("row 158 of the output")


def odd_work():
    """Long lines, half characters, and texts that could pass for numbers of texts or for properties."""
    call = ToolCall("c1", "Bash", {"command": "x" * 400_000, "$": 0, "__proto__": {"polluted": True}})
    return [
        LogStarted(title="\u202e\ud83d half \udc00\0", origin="import", source="__proto__"),
        UserSaid((Text("y" * 600_000), Text('{"$": 1}'), Text("\ud800\u2028</script>"))),
        AssistantReplied((Text("constructor"), call), MODEL),
        ToolReturned("c1", "Bash", (Text("\0\x1b[31m\r\n\u2066</pre>" * 1000),)),
        AssistantReplied((Text("done"),), MODEL),
    ]


@pytest.mark.parametrize("events", [hostile_work(), odd_work()], ids=["markup", "odd"])
def test_a_hostile_log_stays_text(visit, events):
    with visit(events) as page:
        count = int(page.locator("#block-0").get_attribute("aria-setsize"))
        for at in range(count):
            page.locator(f"#block-{at}").click()
            expect(page.locator("#seen")).not_to_be_empty()
        page.click("#tab-compare")
        page.locator("#compare-rows button").last.click()
        expect(page.locator("#compare-now")).not_to_be_empty()
        assert page.locator("main script, main img, main iframe, main svg").count() == 0
        assert page.title().endswith(" · Holdfast view")
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
        assert page.evaluate("() => ({}).polluted") is None


@pytest.mark.parametrize(
    "attempt",
    [
        "document.body.innerHTML = markup",
        "document.body.setAttribute('onclick', 'document.title = 1')",
        "document.createElement('script').textContent = 'document.title = 1'",
        "return fetch('http://127.0.0.1:9/').then(() => document.title = 1)",
    ],
)
def test_the_policy_of_the_file_runs_and_asks_for_nothing_else(browser, tmp_path, attempt):
    path = tmp_path / "view.html"
    path.write_text(exported(hostile_work()).page, "utf-8")
    page = browser.new_page()
    requests = []
    page.goto(path.as_uri())
    page.on("requestfinished", lambda request: requests.append(request.url))
    with pytest.raises(playwright.Error, match=r"Trusted|Content Security Policy|Failed to fetch"):
        page.evaluate(f"(markup) => {{ {attempt}; }}", HOSTILE)
    assert requests == []
    assert page.title().endswith(" · Holdfast view")
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 400])
def test_nothing_is_wider_than_the_page(visit, width, scheme):
    events = long_work(20, 2)
    with visit(events, viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        page.locator(".block").last.click()
        expect(page.locator("#reading")).to_be_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
        dark = page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(23, 22, 20)"
        assert dark == (scheme == "dark")


def test_paper_is_white_and_has_every_row(visit):
    with visit(long_work(), color_scheme="dark") as page:
        shown = page.locator(".block").count()
        drawn = page.locator("#canvas").get_attribute("data-drawn")
        page.emulate_media(media="print")
        expect(page.locator(".block")).to_have_count(83)
        assert shown < 83
        assert page.locator("#canvas").get_attribute("data-drawn") != drawn
        assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not page.locator("#tabs").is_visible()


def test_the_button_downloads_what_the_page_shows(browser, tmp_path):
    store = MemoryStore()
    log = keep(store, "sample", long_work())
    with viewer(store) as address:
        page = browser.new_page()
        page.goto(f"{address}#/{log}/30/compare")
        page.check("input[value=preview]")
        page.fill("input[name=budget]", "16k")
        page.click("#choice button")
        expect(page.locator("#shown")).to_contain_text("budget 16k")
        page.fill("#compare-number", "5")
        expect(page.locator("#compare-state")).to_contain_text("Request 29")
        with page.expect_download() as download:
            page.click("#export")
        expect(page.locator("#export-state")).to_contain_text("It is 0.")
        path = tmp_path / download.value.suggested_filename
        assert path.name.endswith("-30.html")
        download.value.save_as(path)
        page.close()
    with opened_file(browser, path) as page:
        expect(page.locator("#shown")).to_contain_text("budget 16k")
        expect(page.locator("#now")).to_contain_text("Request 30 of 40")
        expect(page.locator("#compare-state")).to_contain_text("Request 5")


def test_a_failure_of_the_export_is_a_sentence_beside_the_button(browser):
    store = MemoryStore()
    log = keep(store, "sample", long_work(4, 1))
    with viewer(store) as address:
        page = browser.new_page()
        page.goto(f"{address}#/{log}")
        expect(page.locator("#rows .block").first).to_be_visible()
        page.evaluate("() => { current.at = 98; }")
        page.click("#export")
        expect(page.locator("#export-state")).to_have_text(
            "there is no request 99 to export; the session has 4"
        )
        page.close()
