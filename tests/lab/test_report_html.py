"""The page as text: whole, well formed, self-contained, and deaf to whatever a name says."""

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from holdfast.lab.report import write_html
from holdfast.lab.report.charts import fitted, linear, look
from holdfast.lab.report.curve import LabelBox, LabelRoom
from holdfast.lab.report.rankings import BIAS
from holdfast.lab.report.window import colours_of, folds_in, layers_of
from holdfast.lab.results import Interval, PicturedRequest
from support.report_sample import BUDGETS, CURVES, HOSTILE, sample_report
from support.report_strategies import reports

VOID = {"meta", "br", "hr", "input", "col", "link", "img"}
RAW = {"script", "style"}


class Page(HTMLParser):
    """Elements in order, each with its attributes and its text; refuses what does not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[tuple[str, list[str]]] = []
        self.feed(text)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), f"{tag} has an attribute twice"
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self._open.append((tag, self.elements[-1][2]))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag):
        opened, _ = self._open.pop()
        assert opened == tag, f"</{tag}> closes <{opened}>"

    def handle_data(self, data):
        for _, texts in self._open:
            texts.append(data)

    def all(self, tag: str, class_: str = "") -> list[tuple[dict[str, str | None], str]]:
        found = [(a, "".join(t)) for name, a, t in self.elements if name == tag]
        return [(a, t) for a, t in found if not class_ or class_ in (a.get("class") or "").split()]


SAMPLE = sample_report(40)
TEXT = write_html(SAMPLE)
PAGE = Page(TEXT)


def check_safe(page: Page) -> None:
    """Nothing from outside, no handler, no script but ours, no name twice."""
    for tag, attributes, _ in page.elements:
        assert tag not in {"img", "iframe", "object", "embed", "link", "base", "form", "foreignobject"}
        for name, value in attributes.items():
            assert not name.startswith("on"), f"{tag} has {name}"
            assert name not in {"src", "srcset", "action", "xlink:href", "data", "poster"}
            if name == "href":
                assert re.fullmatch(r"#[a-z0-9-]+", value)
            if name == "style":
                assert re.fullmatch(r"(--font|width):[\d.]+(px|%)", value)
    assert [a.get("type") for a, _ in page.all("script")] == ["application/json", None]
    ids = [a["id"] for _, a, _ in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert "url(" not in page.all("style")[0][1]
    assert "@import" not in page.all("style")[0][1]


def test_the_page_is_well_formed_and_needs_nothing_else():
    check_safe(PAGE)
    policy = PAGE.all("meta")[1][0]["content"]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "script-src 'sha256-" in policy


def test_addresses_occur_only_in_escaped_text():
    scripts = "".join(text for tag in RAW for _, text in PAGE.all(tag))
    assert "://" not in scripts
    assert not [a for _, a, _ in PAGE.elements for v in a.values() if v and "://" in v]
    assert TEXT.count("http://example.com/a.jsonl") == 1, "the name of a file, in the list of files"


def test_names_are_text_and_nothing_else():
    assert HOSTILE not in TEXT
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;" in TEXT
    assert any(HOSTILE in text for _, text in PAGE.all("th"))
    assert "pars<er>" not in TEXT


def test_data_for_the_script_cannot_end_it():
    moment = PicturedRequest(
        1, 10, 0, {"</script><!--": 10}, fault="</script>\u2028<script>alert(1)</script>"
    )
    pictures = [replace(SAMPLE.pictures[0], moments=[moment])]
    page = Page(write_html(replace(SAMPLE, pictures=pictures)))
    check_safe(page)
    (data,) = json.loads(page.all("script")[0][1])
    assert data["faults"]["0"].startswith("</script>")
    assert (data["names"], data["layers"]) == (["</script><!--"], [[10]])


@pytest.mark.slow
@settings(max_examples=40)
@given(reports)
def test_any_report_has_a_sound_page(report):
    text = write_html(report)
    text.encode()
    assert re.findall(r' (?:x|y|cx|cy|d|x1|x2|y1|y2|points|width)="[^"]*?(?:nan|inf)', text) == []
    check_safe(Page(text))


def test_the_head_says_what_was_measured_and_the_bias():
    header = PAGE.all("header")[0][1]
    for fact in ("41", "recordings", "projects", "16k 32k 64k", "read 0.1, write 1.25", "2,000"):
        assert fact in header
    assert all(sentence in header for sentence in BIAS)


def test_only_a_partial_run_has_a_banner():
    assert PAGE.all("p", "partial") == []
    page = Page(write_html(replace(SAMPLE, partial="interrupted after 3 of 170 recordings")))
    ((attributes, text),) = page.all("p", "partial")
    assert attributes["role"] == "alert"
    assert "interrupted after 3 of 170 recordings" in text


def test_every_chart_has_a_title_and_every_table_a_caption():
    charts = len(PAGE.all("svg", "chart"))
    assert charts == 2 + len(BUDGETS) * (len(CURVES) + 2)
    for kind in ("curve", "dots", "bars"):
        for chart in re.findall(rf'<svg class="chart {kind}[^>]*>(.{{7}})', TEXT):
            assert chart == "<title>" or chart == "<title ", kind
    assert all(re.search(r"\S", text) for _, text in PAGE.all("caption"))
    assert len(PAGE.all("caption")) == len(PAGE.all("table"))


def test_each_budget_has_its_table_and_faults_stand_out_in_it():
    articles = PAGE.all("article", "budget")
    assert [a["data-budget"] for a, _ in articles] == [str(b) for b in BUDGETS]
    bad = PAGE.all("tr", "bad")
    assert len(bad) == 5 * len(BUDGETS)
    assert all("⚠" in text for _, text in bad)
    assert "over budget in 420 of 1,632 requests" in TEXT
    assert "result without its call 141" in TEXT


def test_the_curve_has_a_point_for_each_row_with_figures():
    curve = re.search(r'<svg class="chart curve wide".*?</svg>', TEXT, re.DOTALL)[0]
    assert curve.count('class="point"') == len(SAMPLE.rows)
    assert curve.count("<polyline") == len(CURVES)
    rows = [replace(row, curve=None) if row.budget == BUDGETS[0] else row for row in SAMPLE.rows]
    rows = [replace(row, dollars={}) if row.budget == BUDGETS[1] else row for row in rows]
    text = write_html(replace(SAMPLE, rows=rows))
    curve = re.search(r'<svg class="chart curve wide".*?</svg>', text, re.DOTALL)[0]
    assert curve.count('class="point"') == len(CURVES)


def test_the_scale_is_logarithmic_only_for_a_wide_spread():
    assert "log scale" in TEXT
    rows = [replace(row, dollars={SAMPLE.prices: Interval(0.5, 0.4, 0.6)}) for row in SAMPLE.rows]
    assert "log scale" not in write_html(replace(SAMPLE, rows=rows))


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0.05, 1), (0.2, 7), (0.13, 2.2), (3, 3), (0, 0), (1e-4, 1e6)]
)
def test_scales_hold_their_values_and_have_ticks(low, high):
    for scale in (fitted([low, high], 100, 500), linear(low, high, 100, 500)):
        assert 100 <= scale.at(low) <= scale.at(high) <= 500
        assert 2 <= len(scale.ticks) <= 12
        assert list(scale.ticks) == sorted(set(scale.ticks))


def test_labels_never_cover_each_other_and_give_way_when_there_is_no_room():
    room = LabelRoom(LabelBox(0, 0, 300, 60), [])
    placed = [room.place("a policy", [(150, 30)], 12) for _ in range(40)]
    boxes = [p.box for p in placed if p]
    assert 3 < len(boxes) < 40
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_no_two_of_many_policies_look_alike():
    looks = [look(key, "") for key in range(56)]
    assert len({(one["colour"], one["shape"]) for one in looks}) == 56
    assert {f"shape{one['shape']}" for one in looks} == {a["id"] for a, _ in PAGE.all("path", "shape")}


def test_a_fold_is_a_request_that_moved_much_of_the_one_before():
    sizes = [(1000, 0), (1100, 0), (1200, 60), (600, 900), (700, 61)]
    assert folds_in([PicturedRequest(at, size, 0, {}, moved) for at, (size, moved) in enumerate(sizes)]) == [
        3,
        4,
    ]


def test_layers_stand_in_the_order_sent_whenever_they_first_appear():
    sent = [
        {"system": 1, "recent": 5},
        {"system": 1, "notes": 2, "recent": 4},
        {"system": 1, "recent": 3, "todo": 1},
    ]
    moments = [PicturedRequest(at, 10, 0, layers) for at, layers in enumerate(sent)]
    picture = replace(SAMPLE.pictures[0], moments=moments)
    assert layers_of(picture) == ["system", "notes", "recent", "todo"]
    text = write_html(replace(SAMPLE, pictures=[replace(SAMPLE.pictures[0], moments=moments[1:2] + moments)]))
    key = re.search(r"the first sent on the left: (.*?)</p>", text)[1]
    assert re.findall(r"</i>(\w+)<", key) == ["system", "notes", "recent", "todo"]
    data = json.loads(Page(text).all("script")[0][1])
    assert data[0]["names"] == ["system", "notes", "recent", "todo"]


def test_the_page_opens_with_the_result_and_says_what_hard_recall_is():
    ((_, result),) = PAGE.all("p", "result")
    assert result.startswith("At 32k, `coding` keeps the most: 0.73 (95%: 0.69–0.77) of the hard needs")
    assert "`chat` comes next, with 0.66 for 0.42." in result
    lead = PAGE.all("p", "lead")[0][1]
    assert "Hard span recall" in lead
    assert "more than five steps before and outside the newest half of the budget" in lead
    assert PAGE.all("p", "result")[0][1] in PAGE.all("header")[0][1]


def test_a_second_writing_gives_the_same_page():
    assert write_html(SAMPLE) == TEXT


def test_the_page_without_its_pictures_is_small():
    assert len(write_html(replace(SAMPLE, pictures=[]))) < 9_000 * len(SAMPLE.rows)


def test_layers_of_our_packs_have_the_colours_of_the_viewer_and_others_have_none_of_these():
    sent = {"mine": 1, "stable": 1, "window": 1, "other": 1}
    found = colours_of([replace(SAMPLE.pictures[0], moments=[PicturedRequest(0, 4, 0, sent)])])
    assert (found["stable"], found["window"]) == ("system", "steps")
    assert len(set(found.values())) == len(sent)
    many = {f"layer {number}": 1 for number in range(20)}
    assert len(colours_of([replace(SAMPLE.pictures[0], moments=[PicturedRequest(0, 20, 0, many)])])) == 20
