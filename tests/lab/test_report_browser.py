"""The page in a real browser: it draws, it answers, it asks nobody for anything."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from msgspec.structs import replace

from holdfast.lab.report import write_html
from holdfast.lab.report.window import MOST_ROWS, folds_in
from support.report_sample import BUDGETS, CURVES, HOSTILE, sample_report

playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("there is no chromium on the path", allow_module_level=True)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WHOLE = sample_report(60)
DRAWN = {"everything", "coding", "newest", "compress"}
SAMPLE = replace(WHOLE, pictures=[p for p in WHOLE.pictures if p.policy in DRAWN])
HALO = 6
"""Pixels of the outlines of two labels, which may touch."""
SCORES = "article:visible .sortable >> nth=0"


@pytest.fixture(scope="module")
def browser() -> Iterator:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(write_html(SAMPLE), "utf-8")
    return path.as_uri()


@contextmanager
def watching(browser) -> Iterator:
    """Opens pages as asked; at the end there was no complaint, no dialogue and no request but the first of each."""
    opened, complaints, requests = [], [], []

    def open_page(url: str, **settings):
        page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}, **settings})
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(url)
        opened.append(page)
        return page

    yield open_page
    for page in opened:
        page.close()
    assert complaints == []
    assert len(requests) == len(opened)
    assert all(url.startswith("file://") for url in requests)


@pytest.fixture(scope="module")
def seen(browser, address):
    """The page opened once, for tests that leave it as it was."""
    with watching(browser) as open_page:
        yield open_page(address)


@pytest.fixture
def visit(browser, address):
    with watching(browser) as open_page:
        yield partial(open_page, address)


def lines_shown(page) -> int:
    """By display, since a line that stands upright or is a single point has no area to be seen by."""
    shown = "lines => lines.filter((line) => getComputedStyle(line).display !== 'none').length"
    return page.locator(".curve.wide .line").evaluate_all(shown)


def key_of(name: str) -> int:
    return list(CURVES).index(name)


def test_the_charts_are_there(seen):
    assert seen.locator(".curve.wide .point").count() == len(SAMPLE.rows)
    assert lines_shown(seen) == len(CURVES)
    assert seen.locator(".panel:visible").count() == len(CURVES)
    assert seen.locator("article:visible .dotplot").count() == 2
    boxes = "marks => marks.map((mark) => mark.getBoundingClientRect().toJSON())"
    (chart,) = seen.locator(".curve.wide").evaluate_all(boxes)
    assert chart["width"] > 800
    for mark in seen.locator(".curve.wide .point .m").evaluate_all(boxes):
        assert chart["left"] <= mark["left"] < mark["right"] <= chart["right"]
        assert chart["top"] <= mark["top"] < mark["bottom"] <= chart["bottom"]


def test_the_legend_hides_and_shows_a_policy(visit):
    page = visit()
    line = page.locator(f'.curve.wide .line[data-policy="{key_of("coding")}"]')
    button = page.locator(f'[data-toggle="{key_of("coding")}"]')
    button.click()
    assert not line.is_visible()
    assert button.get_attribute("aria-pressed") == "false"
    assert page.locator(".curve.wide .point:visible").count() == len(SAMPLE.rows) - len(BUDGETS)
    page.locator("#show-all").click()
    assert line.is_visible()
    page.locator("#show-all").click()
    assert lines_shown(page) == 0


def test_a_point_tells_its_figures_to_pointer_and_keyboard(seen):
    point = seen.locator(f'.curve.wide .policy[data-policy="{key_of("coding")}"] .point').first
    point.hover()
    assert seen.locator("#tip").inner_text().splitlines()[:2] == ["coding at 16k", "recall 0.64 (0.60–0.68)"]
    seen.mouse.move(1, 1)
    assert not seen.locator("#tip").is_visible()
    point.focus()
    assert "dollars 0.30" in seen.locator("#tip").inner_text()
    seen.keyboard.press("Escape")
    assert not seen.locator("#tip").is_visible()


def test_a_table_sorts_by_its_headers(visit):
    table = visit().locator(SCORES)
    for column, place, best in (("dollars", 6, "0.22"), ("hard", 2, "1.00"), ("worst ms", 14, "47")):
        head = table.get_by_role("button", name=column, exact=True)
        head.click()
        top = table.locator(f"tbody tr:first-child > *:nth-child({place})").inner_text()
        assert top.split()[0] == best
        once = values(table, place)
        rising = once == sorted(once)
        assert rising or once == sorted(once, reverse=True)
        head.click()
        assert values(table, place) == sorted(once, reverse=rising)
    for _ in range(2):
        table.get_by_role("button", name="growth", exact=True).click()
        missing = table.locator("tbody tr:last-child > *:nth-child(15)").inner_text()
        assert missing == "–", "what is missing stays last whichever way"


def values(table, place: int) -> list[float]:
    cells = table.locator(f"tbody tr > *:nth-child({place})")
    return cells.evaluate_all("cells => cells.map((cell) => Number(cell.dataset.v))")


def test_a_budget_is_shown_at_a_time_or_all(visit):
    page = visit()
    assert page.locator("article:visible h3").all_inner_texts()[0].startswith("At 16k")
    page.locator('[data-tab="64000"]').click()
    assert page.locator("article:visible").count() == 1
    assert page.locator("article:visible h3").inner_text().startswith("At 64k")
    page.locator('[data-tab="all"]').click()
    assert page.locator("article:visible").count() == len(BUDGETS)


PIXELS = """() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => {
  const canvas = document.querySelector("#canvas"), style = getComputedStyle(canvas), counts = {}, found = {};
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  for (let at = 0; at < data.length; at += 4) {
    const key = data[at] << 16 | data[at + 1] << 8 | data[at + 2];
    counts[key] = (counts[key] || 0) + 1;
  }
  for (const name of [...style].filter((one) => one.startsWith("--")))
    found[name] = counts[parseInt(style.getPropertyValue(name).trim().slice(1), 16)] || 0;
  resolve(found);
})))"""
"""How many pixels of the timeline have each colour of the style, after the next frame."""


def test_another_policy_or_budget_changes_the_picture(visit):
    page = visit()
    assert page.locator(".picture:visible .told b").inner_text() == "coding at 16k"
    before = page.evaluate(PIXELS)
    page.locator("#choose-policy").select_option(label="newest")
    page.locator("#choose-budget").select_option(label="32k")
    assert page.locator(".picture:visible").count() == 1
    assert page.locator(".picture:visible .told b").inner_text() == "newest at 32k"
    assert page.evaluate(PIXELS) != before


def test_the_picture_marks_folds_misses_faults_and_cache(visit):
    page = visit()
    page.locator("#choose-policy").select_option(label="compress")
    picture = next(p for p in SAMPLE.pictures if p.policy == "compress" and p.budget == BUDGETS[0])
    at = int(page.locator(".picture:visible").get_attribute("data-at"))
    data = json.loads(page.locator("#pictures").text_content())[at]
    folds = folds_in(picture.moments)
    assert len(folds) > 2
    faults = [number for number, m in enumerate(picture.moments, 1) if m.fault]
    assert len(faults) == 1
    assert data["marks"] == sorted([[f + 1, "fold"] for f in folds] + [[f, "fault"] for f in faults])
    assert data["bars"] == [m.hard - m.held for m in picture.moments]
    assert any(data["bars"])
    assert data["cached"] == [m.cached for m in picture.moments]
    found = page.evaluate(PIXELS)
    assert len(data["colours"]) == 3
    for name in (*data["colours"], "folded", "wrong", "soft"):
        assert found[f"--{name}"], name


def test_a_request_is_read_out_under_the_pointer_and_by_arrow_keys(visit):
    page = visit()
    chart = page.locator("#timeline")
    chart.focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    moment = next(p for p in SAMPLE.pictures if p.policy == "coding").moments[3]
    said = page.locator("#readout").inner_text()
    assert said.startswith(
        f"request 4 of 60 (message {moment.index}): {moment.tokens:,} tokens, {moment.cached:,} from"
    )
    assert f"stable {moment.layers['stable']}" in said
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 16, box["y"] + box["height"] / 2)
    assert page.locator("#readout").inner_text().startswith("request 60 of 60")


def test_names_are_shown_and_not_run(seen):
    assert seen.locator(f'[data-toggle="{key_of(HOSTILE)}"]').inner_text() == HOSTILE
    assert seen.locator("script").count() == 2


def test_text_stands_out_from_the_paper_in_both_schemes(seen):
    for scheme in ("dark", "light"):
        seen.emulate_media(color_scheme=scheme)
        colours = seen.evaluate("""() => {
            const style = getComputedStyle(document.documentElement);
            const names = ["paper", "card", "ink", "soft", "wrong", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
            return Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
        }""")
        assert (luminance(colours["paper"]) > 0.5) == (scheme == "light")
        for name, least in {"ink": 7, "soft": 4.5, "wrong": 4.5, **{f"c{i}": 3 for i in range(8)}}.items():
            assert contrast(colours[name], colours["card"]) >= least, (scheme, name)


def luminance(colour: str) -> float:
    digits = colour.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(d * 2 for d in digits)
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_page_is_never_wider_than_the_screen(visit):
    page = visit()
    for width in (1280, 800, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator(".curve:visible").count() == 1


def test_labels_in_the_curve_are_inside_it_and_apart(seen):
    box = seen.locator(".curve.wide").bounding_box()
    names = [label.bounding_box() for label in seen.locator(".curve.wide .label .name").all()]
    assert len(names) >= len(CURVES) - 2
    for at, name in enumerate(names):
        assert name["x"] >= box["x"]
        assert name["x"] + name["width"] <= box["x"] + box["width"] + 1
        for other in names[:at]:
            aside = max(name["x"] - other["x"] - other["width"], other["x"] - name["x"] - name["width"])
            above = max(name["y"] - other["y"], other["y"] - name["y"]) - name["height"]
            assert max(aside, above) > -HALO, (name, other)


def test_without_scripts_everything_is_still_there_and_windows_are_tables(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator("article.budget:visible").count() == len(BUDGETS)
    assert page.locator(".curve.wide .point").count() == len(SAMPLE.rows)
    assert page.locator(".picture > summary:visible").count() == len(SAMPLE.pictures)
    assert "tokens read from the cache" in page.locator(".picture .told:visible").inner_text()
    assert not page.locator("#timeline").is_visible()
    picture = SAMPLE.pictures[int(page.locator(".picture[open]").get_attribute("data-at"))]
    rows = page.locator(".picture[open] tbody tr:visible")
    assert 1 < rows.count() <= MOST_ROWS
    shown = {int(row.replace(",", "")) for row in rows.locator("td:first-of-type").all_inner_texts()}
    assert max(shown) == max(moment.tokens for moment in picture.moments)
    missed = rows.locator("td:nth-last-of-type(2)").all_inner_texts()
    assert sum(map(int, missed)) == sum(moment.hard - moment.held for moment in picture.moments)
    folds = rows.locator("td:last-of-type").all_inner_texts()
    assert sum(map(int, folds)) == len(folds_in(picture.moments))
    known = rows.count()
    page.locator(".picture:not([open]) > summary").first.click()
    assert page.locator(".picture[open] tbody tr:visible").count() > known
    context.close()


def test_with_scripts_there_is_no_table_beside_a_window(visit):
    assert visit().locator(".picture table").count() == 0


def test_print_shows_all_budgets_on_white_paper(visit):
    page = visit(color_scheme="dark", viewport={"width": 1030, "height": 700})
    page.emulate_media(media="print")
    assert page.locator("article:visible").count() == len(BUDGETS)
    assert not page.locator(".tabs").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    soft = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--soft').trim()")
    assert contrast(soft, "#fff") >= 4.5
    assert page.evaluate("document.documentElement.scrollWidth") <= 1030, "an A4 page on its side"


@pytest.mark.slow
def test_a_report_without_rows_and_pictures_opens(browser, tmp_path):
    path = tmp_path / "empty.html"
    empty = replace(SAMPLE, rows=[], comparisons=[], at_recall=[], pictures=[], partial="interrupted at once")
    path.write_text(write_html(empty), "utf-8")
    with watching(browser) as open_page:
        assert open_page(path.as_uri()).locator(".partial").is_visible()
