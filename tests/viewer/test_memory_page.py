"""The page's memory and its search in what was left out, in a real browser."""

import pytest

from holdfast.events import AssistantReplied, ToolReturned, UserSaid
from holdfast.messages import Text, ToolCall
from viewer.session_samples import HOSTILE, hostile_work, remembered_work
from viewer.test_viewer_page import choose_session, expect, opened

pytestmark = pytest.mark.slow

DIRECTIVE = "Never touch api.py, which many others depend on, whatever it is that fails."


def preview(page):
    """What Holdfast would send, in a window so small that the first steps are in a note."""
    choose_session(page)
    page.check("input[value=preview]")
    page.fill("input[name=budget]", "16k")
    page.click("#choice button")
    expect(page.locator("#rows")).to_contain_text("[holdfast: steps 1-")


def facts(page, group):
    return page.locator(f"section[aria-labelledby=facts-{group}] .facts > li > button")


def go_to(page, number):
    page.evaluate(
        "(number) => { location.hash = location.hash.replace(/\\d+(?=\\/\\w+$)/, number); }", number
    )
    expect(page.locator("#now")).to_contain_text(f"Request {number} of")


def test_memory_follows_the_chosen_request(browser):
    with opened(browser, remembered_work()) as (page, _):
        choose_session(page)
        page.click("#tab-memory")
        expect(facts(page, "directives")).to_contain_text([DIRECTIVE])
        expect(facts(page, "errors")).to_contain_text(["make docs"])
        expect(page.locator("#memory-state")).to_contain_text("up to request 48")
        go_to(page, 5)
        expect(page.locator("#memory-state")).to_contain_text("up to request 5")
        expect(facts(page, "errors")).to_contain_text(["pytest tests/test_parser.py"])
        expect(facts(page, "files")).to_contain_text(["src/parser.py"])
        expect(facts(page, "todos")).to_have_count(1)
        go_to(page, 1)
        expect(page.locator("#facts-errors")).to_have_text("Open errors: none")
        expect(page.locator("#facts-files")).to_have_text("Files touched: none")


def test_a_fact_is_read_where_it_comes_from_by_keyboard(browser):
    with opened(browser, remembered_work()) as (page, _):
        preview(page)
        page.locator("#tab-window").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#tab-memory")).to_be_focused()
        line = facts(page, "directives").first
        line.focus()
        page.keyboard.press("Enter")
        expect(line).to_have_attribute("aria-expanded", "true")
        texts = page.locator(".facts pre")
        expect(texts).to_have_count(2)
        original, seen = texts.all()
        assert " ".join(original.locator("mark").text_content().split()) == DIRECTIVE
        expect(seen).to_contain_text("Make it faster.")
        page.keyboard.press("Escape")
        expect(line).to_be_focused()
        expect(page.locator(".facts article")).to_have_count(0)


def test_a_file_that_was_edited_twice_has_two_sources(browser):
    with opened(browser, remembered_work()) as (page, _):
        preview(page)
        page.click("#tab-memory")
        line = facts(page, "files").first
        expect(line).to_contain_text("in the note of steps 1 to 8")
        line.click()
        sources = page.locator(".facts article button")
        expect(sources).to_have_text(["step 3", "step 5"])
        expect(sources.last).to_have_attribute("aria-pressed", "true")
        sources.first.click()
        expect(sources.first).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".facts h3").first).to_contain_text("In the log: step 3")
        expect(page.locator(".facts h3").last).to_have_text("In request 48: in the note of steps 1 to 8")
        expect(page.locator(".facts mark").first).to_have_text("src/parser.py")


def test_a_long_group_is_shown_on_demand(browser):
    with opened(browser, remembered_work()) as (page, _):
        choose_session(page)
        page.click("#tab-memory")
        commands = facts(page, "commands")
        expect(commands).to_have_count(10)
        page.get_by_role("button", name="Show all 42").click()
        expect(commands).to_have_count(42)
        expect(commands.nth(10)).to_be_focused()


def test_search_finds_what_was_left_out(browser):
    with opened(browser, remembered_work()) as (page, _):
        preview(page)
        expect(page.locator("#left-out")).to_be_hidden()
        page.fill("#words", "HERON is")
        line = page.locator("#left-rows > li > button")
        expect(line).to_contain_text(["in the note of steps 1 to 8"])
        expect(line.locator("mark")).to_have_text("heron is")
        line.press("Enter")
        expect(page.locator("#left-rows pre").first.locator("mark")).to_have_count(40)
        expect(page.locator("#left-rows h3").first).to_contain_text("In the log: step 1, result of Read")
        page.fill("#words", "no such words")
        expect(page.locator("#left-state")).to_contain_text("Nothing that was left out")
        page.fill("#words", "")
        expect(page.locator("#left-out")).to_be_hidden()


def test_more_texts_that_were_left_out_come_on_demand(browser):
    work = [*remembered_work(), *remembered_work()[1:]]
    work = [*work, *work[1:]]
    with opened(browser, work) as (page, _):
        preview(page)
        page.fill("#words", "part")
        lines = page.locator("#left-rows > li")
        expect(lines).to_have_count(100)
        page.locator("#left-more").click()
        expect(page.locator("#left-more")).to_be_hidden()
        assert lines.count() > 100
        expect(page.locator("#left-state")).to_contain_text(f"{lines.count()} texts have these words")


def test_what_cannot_be_read_is_said(browser):
    with opened(browser, remembered_work(), refused=1) as (page, _):
        choose_session(page)
        page.route("**/remembered?*", lambda route: route.fulfill(status=404, json={"error": "it is gone"}))
        page.click("#tab-memory")
        expect(page.locator("#memory-state")).to_have_text("it is gone.")
        expect(page.locator("#state")).to_be_hidden()
        page.unroute("**/remembered?*")
        go_to(page, 5)
        expect(facts(page, "directives")).to_have_count(1)


def test_of_requests_chosen_while_one_is_read_only_the_last_counts(browser):
    with opened(browser, remembered_work()) as (page, _):
        choose_session(page)
        asked = []
        page.on("request", lambda request: asked.append(request.url))

        def hold(route):
            """Until it is no longer routed here."""

        page.route("**/remembered?*", hold)
        with page.expect_request("**/requests/48/remembered?*"):
            page.click("#tab-memory")
        for number in (9, 7, 5):
            go_to(page, number)
        page.unroute("**/remembered?*")
        expect(page.locator("#memory-state")).to_contain_text("up to request 5")
        expect(facts(page, "errors")).to_contain_text(["pytest tests/test_parser.py"])
        memory = [url.split("/requests/")[1] for url in asked if "/remembered?" in url]
        assert [number.split("/")[0] for number in memory] == ["48", "5"]


@pytest.mark.parametrize("width", [1440, 800, 400])
def test_markup_stays_text_and_nothing_is_wider_than_the_page(browser, width):
    call = ToolCall("c2", "Bash", {"command": f"make {HOSTILE}"})
    demand = UserSaid((Text(f"Never run {HOSTILE}"),))
    events = [
        *hostile_work(),
        demand,
        AssistantReplied((call,)),
        ToolReturned("c2", "Bash", (Text(HOSTILE),)),
    ]
    events.append(AssistantReplied((Text("done"),)))
    with opened(browser, events, viewport={"width": width, "height": 800}) as (page, _):
        choose_session(page)
        page.click("#tab-memory")
        expect(facts(page, "directives").first).to_contain_text("<script>")
        facts(page, "commands").first.click()
        expect(page.locator(".facts pre").first).to_contain_text(HOSTILE)
        assert page.locator("main script, main img, main iframe, main svg").count() == 0
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
