"""Round 4: a refactoring as it was asked for, and the circular import that comes with it."""

from recorder.rounds.texts import save_texts
from recorder.script import Round, bash, edit, glob, grep, multiedit, progress, read, step, write, written

SAID = """\
Right, the invoice has the same problem, and the column code is there twice. Please put a class TextTable into \
reports.py (columns with title, width and alignment; header, rule, rows) and use it for the stock report, the \
reorder report and the invoice text.

The text of all three must stay as it is, except that invoices with Chinese names now line up."""

PLAN = (
    "Keep today's output to compare with",
    "TextTable in reports.py, used by both reports",
    "Invoice text with TextTable",
    "Test for an invoice with wide names",
    "Whole suite, compare output, commit",
)

SNAPSHOT = save_texts("before") + "\nwc -l *.txt && cat invoice-0029.txt"
COMPARE = save_texts("after") + "\ncd .. && diff -r before after"
ONLY_WIDE = (
    "cd \"$TMPDIR\" && diff -r before after | grep '^[<>]' | grep -v '[^ -~]' || echo 'only lines with "
    "Chinese names differ'"
)

OLD_RENDER = """\
    out = [f"Invoice {invoice.number}", f"Customer: {invoice.customer}", ""]
    out.append(_row("article", "qty", "net", "tax", "gross"))
    out.append(_row("-" * 28, "-" * 5, "-" * 12, "-" * 10, "-" * 12))
    for line in invoice.lines:
        name = line.name if len(line.name) <= 28 else line.name[:25] + "..."
        out.append(
            _row(name, str(line.quantity), str(line.net.amount), str(line.tax), str(line.gross))
        )
    out.append(_row("-" * 28, "-" * 5, "-" * 12, "-" * 10, "-" * 12))
    for rate, amount in invoice.tax_by_rate.items():
        out.append(_row(f"tax {rate * 100:.1f} %", "", "", str(amount), ""))
    out.append(_row("total", "", str(invoice.net.amount), str(invoice.tax), str(invoice.gross)))
    return "\\n".join(out) + "\\n"


def _row(name: str, quantity: str, net: str, tax: str, gross: str) -> str:
    return f"{name:<28}  {quantity:>5}  {net:>12}  {tax:>10}  {gross:>12}".rstrip()
"""

NEW_RENDER = """\
    table = TextTable(
        Column("article", 28),
        Column("qty", 5, right=True),
        Column("net", 12, right=True),
        Column("tax", 10, right=True),
        Column("gross", 12, right=True),
    )
    table.header()
    table.rule()
    for line in invoice.lines:
        net, tax, gross = str(line.net.amount), str(line.tax), str(line.gross)
        table.row(line.name, str(line.quantity), net, tax, gross)
    table.rule()
    for rate, amount in invoice.tax_by_rate.items():
        table.row(f"tax {rate * 100:.1f} %", "", "", str(amount), "")
    table.row("total", "", str(invoice.net.amount), str(invoice.tax), str(invoice.gross))
    return f"Invoice {invoice.number}\\nCustomer: {invoice.customer}\\n\\n{table.text()}"
"""

WIDE_TEST = """

def test_wide_names_line_up(make_invoice):
    rows = render(make_invoice("DE", ("TAPE", 2), ("HAMMER", 1))).splitlines()[5:7]
    assert rows == [
        "不锈钢卷尺                        2         12.66    2.41 EUR     15.07 EUR",
        "Claw hammer                       1         17.99    3.42 EUR     21.41 EUR",
    ]
"""
LAST_WIDE_LINE = """\
        "Claw hammer                       1         17.99    3.42 EUR     21.41 EUR",
    ]
"""

AMOUNT_TEST = """

def test_amounts_are_never_cut(make_invoice):
    text = render(make_invoice("DE", ("HAMMER", 1000)))
    assert "17990.00  3418.10 EUR  21408.10 EUR" in text
"""

LAST_INVOICE_TEST = '    assert [line.sku for line in invoice.lines] == ["TEA", "HAMMER", "GUIDE", "TAPE"]\n'


STEPS = (
    step(
        "Before I move anything I keep today's output, so that I can compare afterwards.",
        progress(PLAN, ">    "),
        bash(SNAPSHOT, "Keep today's output").showing("total"),
        glob("src/inventory/*.py"),
    ),
    step(
        "Both modules as they are now, and everything that imports them.",
        read("src/inventory/reports.py"),
        read("src/inventory/invoices.py"),
        grep(r"inventory\.(reports|invoices)", glob="*.py"),
    ),
    step(
        "Writing `reports.py` with the table in it.",
        write("src/inventory/reports.py", written("reports_with_class.py")),
        progress(PLAN, "xx>  "),
    ),
    step(
        "Now the invoice text.",
        multiedit(
            "src/inventory/invoices.py",
            (OLD_RENDER, NEW_RENDER),
            (
                "from inventory.pricing import PriceList\n",
                "from inventory.pricing import PriceList\nfrom inventory.reports import Column, TextTable\n",
            ),
        ),
        bash(
            "PYTHONPATH=src python -m inventory.cli report stock 2>&1 | tail -1", "Does it still start?"
        ).showing("circular import"),
    ),
    step(
        "`reports` imports `Invoice` from `invoices`, and now `invoices` imports `TextTable` from "
        "`reports`: a circle. `reports` needs `Invoice` for an annotation only.",
        grep("Invoice", "src/inventory/reports.py"),
        reasoning="Options: move TextTable to a module of its own, which would be cleaner but is not what "
        "was asked; or import Invoice in reports only for type checking, since annotations are strings "
        "there thanks to the __future__ import. The user named reports.py, so I do the second and say what "
        "I think of it.",
    ),
    step(
        "An import for type checkers only breaks the circle without moving the class somewhere you did not "
        "ask for.",
        multiedit(
            "src/inventory/reports.py",
            ("from datetime import date\n", "from datetime import date\nfrom typing import TYPE_CHECKING\n"),
            ("from inventory.invoices import Invoice\n", ""),
            (
                "from inventory.stock import Ledger\n",
                (
                    "from inventory.stock import Ledger\n\n"
                    "if TYPE_CHECKING:\n"
                    "    from inventory.invoices import Invoice\n"
                ),
            ),
        ),
        bash("python -m pytest -q tests/test_invoices.py tests/test_reports.py", "Tests of both").showing(
            "43 passed"
        ),
        progress(PLAN, "xxx> "),
    ),
    step(
        "",
        edit("tests/test_invoices.py", LAST_INVOICE_TEST, LAST_INVOICE_TEST + WIDE_TEST),
        bash("python -m pytest -q tests/test_invoices.py", "Invoice tests").failing("2.40 EUR     15.06 EUR"),
    ),
    step(
        "The columns are right; the cent I expected was not. 30.65 at 19 % is 5.82 in all, so the shares "
        "are 2.40 and 3.42. That is the rounding we agreed on in the second task: the test is wrong.",
        edit(
            "tests/test_invoices.py",
            "12.66    2.41 EUR     15.07 EUR",
            "12.66    2.40 EUR     15.06 EUR",
        ),
    ),
    step("Now against the output I kept.", bash(COMPARE, "Compare with before").failing("1546.62...")),
    step(
        "Good that I compared: lines with Chinese names differ as they should, but in invoice 0017 an "
        "amount is cut to `1546.62...`. The old code cut names only; my table cuts every cell. No test "
        "noticed, so I add one.",
        edit(
            "src/inventory/reports.py",
            "    fitted = _fit(text, column.width)\n",
            "    fitted = text if column.right else _fit(text, column.width)\n",
        ),
        edit("tests/test_invoices.py", LAST_WIDE_LINE, LAST_WIDE_LINE + AMOUNT_TEST),
        bash("python -m pytest -q tests/test_invoices.py tests/test_reports.py", "Tests of both").showing(
            "45 passed"
        ),
        reasoning="An amount must never be cut, even if it breaks the column: a wrong figure on an invoice "
        "is worse than a crooked one. Right-aligned columns are the figures, so only left-aligned cells "
        "may be cut.",
    ),
    step(
        "",
        bash(COMPARE, "Compare with before").failing("invoice-0029.txt"),
        bash(ONLY_WIDE, "Does any other line differ?").showing("only lines with Chinese names differ"),
    ),
    step(
        "Now the differences are only in lines with Chinese names, as you wanted; everything else is the "
        "same to the byte. Whole suite, and commit.",
        bash("python -m pytest -q", "Whole test suite").showing("308 passed"),
        bash("git diff --stat", "What changed"),
    ),
    step(
        "",
        bash("git add -A && git commit -m 'One text table for reports and invoices'", "Commit").showing(
            "3 files changed"
        ),
        progress(PLAN, "xxxxx"),
    ),
    step(
        "Done and committed; 308 tests pass.\n\n"
        "`TextTable` and `Column` are in `src/inventory/reports.py`; both reports and `render` in "
        "`invoices.py` use them. Compared with the output from before: the two reports are identical, and "
        "of three invoices only lines with Chinese names changed, which line up now. That comparison also "
        "caught a mistake of mine: the table first cut long amounts like names. Figures are never cut now, "
        "and `test_amounts_are_never_cut` keeps it so.\n\n"
        "One thing I do not like: `invoices` now imports `reports`, and `reports` needs `Invoice` for an "
        "annotation. That is a circle; I broke it with a `TYPE_CHECKING` import. A module of its own for "
        "the table would not need that. `money.py` is untouched."
    ),
)

ROUND = Round(SAID, STEPS)
