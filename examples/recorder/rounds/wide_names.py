"""Round 3, in Chinese: columns that do not line up where names have wide characters."""

from recorder.script import Round, bash, grep, multiedit, progress, read, step

SAID = """\
谢谢。下一个问题：`report stock` 里中文商品名那几行，后面的列都对不齐，`report reorder` 也一样。请修一下。

要求：
1. 只用标准库，不要加任何依赖。
2. 名字太长被截断时，也要按显示宽度来算，不能按字符数。
3. 提交信息一律用英文。

发票的文本先不要动。"""

PLAN = "复现问题", "写会失败的测试", "按显示宽度补齐和截断", "跑全部测试并提交"

NEW_TESTS = """

def display_width(text):
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


@pytest.mark.parametrize("name", ["Saw", "折叠手锯", "折叠手锯（替换锯片两片）", "木" * 13, "a" + "木" * 30])
def test_columns_line_up_whatever_the_name(ledger, catalog, name):
    catalog.add(Product("SAW", name, "tools", Money.of("13.13"), reorder_at=9))
    ledger.receive("SAW", 8, Money.of("5.60"))
    stock = stock_report(ledger, catalog).splitlines()
    assert {display_width(line) for line in stock} == {display_width(stock[0])}
    reorder = reorder_report(ledger, catalog).splitlines()
    assert {display_width(line) for line in reorder} == {display_width(reorder[0])}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("木" * 12, "木" * 12),
        ("木" * 13, "木" * 10 + "..."),
        ("a" + "木" * 12, "a" + "木" * 10 + "..."),
        ("Cordless drill with two batteries", "Cordless drill with t..."),
    ],
)
def test_long_names_are_cut_by_what_they_take_up(ledger, catalog, name, shown):
    catalog.add(Product("SAW", name, "tools", Money.of("13.13")))
    ledger.receive("SAW", 8, Money.of("5.60"))
    row = next(line for line in stock_report(ledger, catalog).splitlines() if line.startswith("SAW"))
    assert row[12:].split("  ")[0].rstrip() == shown
"""

LAST_TEST_LINE = (
    '    assert sales_by_month(sold) == {"2026-02": Money.of("35.98"), "2026-03": Money.of("71.96")}\n'
)

WIDTH = '''

def _width(text: str) -> int:
    """Columns a text takes up in a terminal: wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
'''

FIT = '''

def _fit(text: str, width: int) -> str:
    """The text, or as much of it as leaves room for three dots."""
    if _width(text) <= width:
        return text
    kept = ""
    for char in text:
        if _width(kept + char) > width - 3:
            break
        kept += char
    return kept + "..."
'''


STEPS = (
    step(
        "先复现一下，再看代码和测试。",
        bash("PYTHONPATH=src python -m inventory.cli report stock", "库存报告"),
        bash("PYTHONPATH=src python -m inventory.cli report reorder", "补货报告"),
        read("src/inventory/reports.py"),
        read("tests/test_reports.py"),
    ),
    step(
        '原因很清楚：`f"{name:<24}"` 按字符数补空格，而一个汉字在终端里占两列；截断用的 `len(name)` '
        "也是同样的问题。",
        progress(PLAN, "x>  "),
        bash(
            "python - <<'EOF'\n"
            "import unicodedata\n"
            "for name in ('Oat biscuits', '木工入门手册', '乌龙茶 250 克', '折叠手锯（替换锯片两片）'):\n"
            "    wide = sum(unicodedata.east_asian_width(char) in 'WF' for char in name)\n"
            "    print(len(name), len(name) + wide, name)\n"
            "EOF",
            "字符数与显示宽度",
        ).showing("12 24 折叠手锯"),
        reasoning="标准库的 unicodedata.east_asian_width 就够了：W 和 F 算两列，其余算一列，不需要 wcwidth。",
    ),
    step(
        "先写测试。",
        multiedit(
            "tests/test_reports.py",
            (
                "from datetime import date\n\n",
                "import unicodedata\nfrom datetime import date\n\nimport pytest\n\n",
            ),
            (
                "from inventory.invoices import bill\n",
                "from inventory.catalog import Product\nfrom inventory.invoices import bill\n",
            ),
            (LAST_TEST_LINE, LAST_TEST_LINE + NEW_TESTS),
        ),
        bash("python -m pytest -q tests/test_reports.py --tb=short", "新测试应当失败").failing("failed"),
    ),
    step(
        "测试如预期失败。先改补齐。",
        multiedit(
            "src/inventory/reports.py",
            (
                "from collections import defaultdict\n",
                "import unicodedata\nfrom collections import defaultdict\n",
            ),
            ("{sku:<10}  {name:<24}  {on_hand:>8}", "{sku:<10}  {_pad(name, 24)}  {on_hand:>8}"),
            ("{product.sku:<10}  {name:<24}  {free:>9}", "{product.sku:<10}  {_pad(name, 24)}  {free:>9}"),
            ("    return dict(sorted(sums.items()))\n", "    return dict(sorted(sums.items()))\n" + WIDTH),
        ),
        progress(PLAN, "xx> "),
    ),
    step("", bash("python -m pytest -q tests/test_reports.py --tb=short", "报告的测试").failing("failed")),
    step(
        "只剩截断的情况了：十三个汉字占二十六列，但 `len` 只有十三，所以没有被截断。",
        grep(r"len\(", "src/inventory/reports.py"),
        reasoning="两处截断都要换成 _fit。注意截断后的宽度可能比 24 少一列（两列宽的字放不下时），_pad "
        "会补上。",
    ),
    step(
        "",
        multiedit(
            "src/inventory/reports.py",
            (
                '        name = name if len(name) <= 24 else name[:21] + "..."\n',
                "        name = _fit(name, 24)\n",
            ),
            (
                '        name = product.name if len(product.name) <= 24 else product.name[:21] + "..."\n',
                "        name = _fit(product.name, 24)\n",
            ),
            (
                '    return text + " " * (width - _width(text))\n',
                '    return text + " " * (width - _width(text))\n' + FIT,
            ),
        ),
    ),
    step(
        "改好了。看一眼真实的报告，并确认每一行的显示宽度都相同。",
        bash("PYTHONPATH=src python -m inventory.cli report stock", "库存报告"),
        bash("PYTHONPATH=src python -m inventory.cli report reorder", "补货报告"),
        bash(
            "PYTHONPATH=src python - <<'EOF'\n"
            "import unicodedata\n"
            "from pathlib import Path\n"
            "from inventory.catalog import Catalog\n"
            "from inventory.reports import reorder_report, stock_report\n"
            "from inventory.storage import load_stock\n"
            "ledger, catalog = load_stock(Path('fixtures/stock.csv')), "
            "Catalog.from_csv(Path('fixtures/catalog.csv'))\n"
            "for report in (stock_report, reorder_report):\n"
            "    lines = report(ledger, catalog).splitlines()\n"
            "    widths = {sum(2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in line) for line "
            "in lines}\n"
            "    print(report.__name__, len(lines), 'lines, widths', sorted(widths))\n"
            "EOF",
            "每行的显示宽度",
        ).showing("stock_report 24 lines, widths [83]"),
    ),
    step(
        "",
        bash("python -m pytest -q", "全部测试").showing("306 passed"),
        bash("git diff src", "改动"),
        progress(PLAN, "xxx>"),
    ),
    step(
        "",
        bash("git add -A && git commit -m 'Line up report columns by display width'", "提交").showing(
            "2 files changed"
        ),
        progress(PLAN, "xxxx"),
    ),
    step(
        "修好了，已提交（提交信息为英文），全部 306 个测试通过。\n\n"
        "原因：补齐和截断都按字符数算，而汉字在终端里占两列。现在 `src/inventory/reports.py` 里用标准库的 "
        "`unicodedata.east_asian_width` 计算显示宽度：`_pad` 补齐，`_fit` 截断，没有新增依赖。\n\n"
        "新测试覆盖了中英文混排、恰好放得下、以及被截断的名字。发票的文本按你的要求没有动，不过 "
        "`invoices.py` 里的 `render` 有同样的问题；`money.py` 没有改动。"
    ),
)

ROUND = Round(SAID, STEPS)
