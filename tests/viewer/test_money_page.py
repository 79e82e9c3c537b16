"""The Money panel in a real browser: its sums, other prices, what-ifs to their end and cancelled."""

import time

import pytest

from holdfast.events import LogStarted
from holdfast.session import Session
from holdfast.store import MemoryStore
from viewer import conftest
from viewer.conftest import viewer
from viewer.session_samples import hostile_work, keep, long_work
from viewer.test_viewer_page import choose_session, opened

playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
expect = playwright.expect
pytestmark = pytest.mark.slow

LONG = 90_000
"""Milliseconds that a replay may take on a loaded machine."""


def never_done(_entries, _pack_of, _tell):
    while True:
        time.sleep(0.01)


def open_money(page):
    choose_session(page)
    page.click("#tab-money")
    expect(page.locator("#money-found")).to_be_visible()


def cells(page, row):
    return page.locator("#money-table tbody tr").nth(row).locator("td").all_text_contents()


def test_the_panel_has_the_sums_of_the_session_and_of_the_chosen_request(browser):
    with opened(browser, long_work()) as (page, _):
        listed = page.locator("#list tbody tr td").nth(5)
        expect(listed).to_contain_text("$")
        session = listed.text_content()
        open_money(page)
        *_, dollars = cells(page, 6)
        assert dollars == session
        expect(page.locator("#money-one")).to_have_text("request 40")
        told = page.locator("#money-told")
        expect(told).to_contain_text("The provider reported the usage of all 40 requests.")
        of_last = cells(page, 6)[1]
        expect(page.locator("#now")).to_contain_text(of_last)
        page.locator("#timeline").focus()
        page.keyboard.press("Home")
        expect(page.locator("#money-one")).to_have_text("request 1")
        assert cells(page, 1)[0] == "50"
        chart = page.locator("#money-chart")
        assert dollars in chart.get_attribute("aria-label")
        chart.click()
        expect(page.locator("#now")).to_contain_text("Request 20 of 40")


def test_other_prices_are_chosen_by_name(browser):
    with opened(browser, long_work(), refused=1) as (page, _):
        open_money(page)
        before = cells(page, 6)
        page.locator("#money-prices").focus()
        option = page.locator("#money-models option[value='anthropic/claude-haiku-4-5']")
        expect(option).to_contain_text("input $1, output $5, cache read $0.1, cache write $1.25")
        page.keyboard.type("anthropic/claude-haiku-4-5")
        page.keyboard.press("Enter")
        fifth = f"${float(before[3][1:]) / 5:.2f}"
        expect(page.locator("#money-table .sum td").last).to_have_text(fifth)
        page.fill("#money-prices", "gpt-0")
        page.keyboard.press("Enter")
        expect(page.locator("#money-state")).to_have_text("the catalogue has no model `gpt-0` with a price.")
        expect(page.locator("#money-found")).to_be_hidden()
        page.fill("#money-prices", "")
        page.keyboard.press("Enter")
        expect(page.locator("#money-table .sum td").last).to_have_text(before[3])


def test_without_usage_and_price_it_says_so(browser):
    store = MemoryStore()
    with Session(budget="8k", store=store) as session:
        session.append({"role": "user", "content": "go"}, {"role": "assistant", "content": "done"})
        with viewer(store) as address:
            page = browser.new_page()
            page.goto(address)
            open_money(page)
            expect(page.locator("#money-state")).to_contain_text("The log names no model")
            expect(page.locator("#money-told")).to_contain_text(
                "The provider reported no usage: all figures are"
            )
            assert cells(page, 6)[1::2] == ["no price", "no price"]
            expect(page.locator("#money-chart")).to_be_hidden()
            page.close()


def test_without_a_request_there_is_no_panel(browser):
    store = MemoryStore()
    keep(store, "empty", [LogStarted(title="Nothing yet", origin="import")])
    keep(store, "sample", long_work(8, 2))
    with viewer(store) as address:
        page = browser.new_page()
        page.goto(address)
        page.get_by_text("Make the parser faster").click()
        page.click("#tab-money")
        expect(page.locator("#money-found")).to_be_visible()
        page.click("#home")
        page.get_by_text("Nothing yet").click()
        expect(page.locator("#state")).to_have_text("Nobody has asked a model in this session yet.")
        expect(page.locator("#tabs")).to_be_hidden()
        expect(page.locator("#panel-money")).to_be_hidden()
        page.close()


def replay(page, budget, profile=""):
    page.fill("#what-if [name=profile]", profile)
    page.fill("#what-if [name=budget]", budget)
    page.keyboard.press("Enter")


def test_a_what_if_runs_to_its_end_and_opens_in_the_timeline(browser):
    with opened(browser, long_work()) as (page, _):
        open_money(page)
        expect(page.locator("#what-if-rows")).to_be_hidden()
        replay(page, "16k")
        rows = page.locator("#what-if-rows tbody tr")
        expect(rows).to_have_count(3)
        replay(page, "16k", "nonsense")
        expect(rows.nth(3)).to_contain_text("there is no profile `nonsense`")
        run = page.get_by_role("button", name="Open code, 16k")
        expect(run).to_be_visible(timeout=LONG)
        expect(page.get_by_role("button", name="Open as recorded")).to_be_visible(timeout=LONG)
        expect(page.locator("#what-if-state")).to_contain_text("done.")
        expect(rows.nth(0)).to_contain_text("reported by the provider for 40 of them")
        dollars = rows.nth(2).locator("[data-name=dollars]").text_content()
        assert dollars.startswith("$")
        expect(page.locator("#what-if-rows").get_by_role("button", name="Cancel")).to_have_count(
            0, timeout=LONG
        )
        for budget, profile, words in (
            ("16k", "", "This was replayed before."),
            ("x", "", "default, x: failed."),
        ):
            replay(page, budget, profile)
            expect(page.locator("#what-if-state")).to_have_text(words)
        run.click()
        expect(page.locator("#shown")).to_contain_text("nothing of it was sent (profile code, budget 16k)")
        expect(page.locator("#money-told")).to_contain_text("Nothing of it was sent")
        expect(page.locator("#money-table .sum td").last).to_have_text(dollars)
        page.get_by_role("button", name="Open as recorded").click()
        expect(page.locator("#shown")).to_contain_text("what the client sent")
        page.fill("#money-prices", "anthropic/claude-haiku-4-5")
        page.keyboard.press("Enter")
        expect(rows.nth(2).locator("[data-name=dollars]")).not_to_have_text(dollars)


def test_a_what_if_is_cancelled(browser, monkeypatch):
    monkeypatch.setattr(conftest, "older_evidence", never_done)
    with opened(browser, long_work(8, 2)) as (page, _):
        open_money(page)
        replay(page, "16k")
        expect(page.locator("#what-if-rows progress")).to_be_visible(timeout=LONG)
        expect(page.locator("#what-if-rows tbody tr").nth(2)).to_contain_text("of 8 requests")
        page.locator("#timeline").focus()
        page.keyboard.press("Home")
        expect(page.locator("#now")).to_contain_text("Request 1 of 8")
        for name in ("code, 16k", "everything, cached", "as recorded"):
            button = page.get_by_role("button", name=f"Cancel {name}")
            button.focus()
            page.keyboard.press("Enter")
            expect(button).to_have_count(0)
        expect(page.locator("#what-if-rows")).to_contain_text("cancelled")
        expect(page.locator("#what-if-rows progress")).to_have_count(0)
        expect(page.locator("#what-if-state")).to_contain_text("as recorded: cancelled.")


@pytest.mark.parametrize("width", [1440, 800, 400])
def test_nothing_is_wider_than_the_page(browser, width):
    with opened(browser, hostile_work(), viewport={"width": width, "height": 800}) as (page, _):
        open_money(page)
        expect(page.locator("#money-state")).to_contain_text("The catalogue has no price for <script>")
        replay(page, "<b>16k</b>")
        expect(page.locator("#what-if-rows .wrong")).to_be_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
        for id_ in ("money-table", "what-if-rows"):
            assert page.evaluate("(id) => document.getElementById(id).scrollWidth - innerWidth", id_) <= 0
