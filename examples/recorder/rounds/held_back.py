"""Round 2: a pasted log. The first fix breaks a rule of the business and is taken back."""

from recorder.script import Round, bash, edit, grep, ls, multiedit, progress, read, step

SAID = """\
Looks good. Commit it.

Next one. I ran the billing job with your fix and some invoices are still held back. From its log:

```
{paste}
```

The orders are in data/orders (not in git). Rule 4 in the README must hold for every invoice: the lines add up \
to the total. But the totals themselves must not change by a cent: customers have been told those amounts. From \
now on commit when a task is finished and the whole suite is green."""

PASTE = (
    "python scripts/make_orders.py data/orders > /dev/null;"
    " PYTHONPATH=src python -m inventory.cli bill data/orders | sed -n '1,36p'"
)

PLAN = (
    "Reproduce with one order",
    "Regression test that fails",
    "Spread the rounding difference over the lines",
    "No total changed for the orders in data/orders",
    "Whole suite, commit",
)

SUM_OF_LINES = """\
    taxes: dict[Decimal, Money] = {}
    for each in sorted(lines, key=lambda line: line.rate):
        taxes[each.rate] = taxes.get(each.rate, Money(0)) + each.tax
"""

NEW_TESTS = """

@pytest.mark.parametrize("region", ["DE", "FR", "NL", "AT", "BE", "CH", "GB"])
@pytest.mark.parametrize(
    "lines",
    [
        [("LABELS", 1)] * 3,
        [("TAPE", 1), ("TAPE", 2), ("HAMMER", 5)],
        [("LABELS", 1), ("GUIDE", 1), ("TEA", 3), ("LABELS", 7), ("TEA", 1), ("HAMMER", 9)],
    ],
)
def test_lines_add_up_to_the_total(make_invoice, region, lines):
    invoice = make_invoice(region, *lines)
    invoice.check()
    for rate, tax in invoice.tax_by_rate.items():
        assert total(line.tax for line in invoice.lines if line.rate == rate) == tax


def test_lines_keep_their_order(make_invoice):
    invoice = make_invoice("DE", ("TEA", 1), ("HAMMER", 1), ("GUIDE", 1), ("TAPE", 1))
    assert [line.sku for line in invoice.lines] == ["TEA", "HAMMER", "GUIDE", "TAPE"]
"""

LAST_TEST_LINE = (
    '        "total                                       67.48    9.05 EUR     76.53 EUR\\n"\n    )\n'
)

OLD_LOOP = """\
    lines = []
    net_by_rate: dict[Decimal, Money] = defaultdict(lambda: Money(0))
"""
NEW_LOOP = """\
    lines: list[InvoiceLine] = []
"""
OLD_LINE = """\
        net_by_rate[rate] += net
        lines.append(
            InvoiceLine(line.sku, product.name, line.quantity, net, rate, tax_on(net, rate))
        )
    taxes = {rate: tax_on(net, rate) for rate, net in sorted(net_by_rate.items())}
    return Invoice(order.id.replace("ORD", "INV"), order.customer, tuple(lines), taxes)
"""
NEW_LINE = '''\
        lines.append(InvoiceLine(line.sku, product.name, line.quantity, net, rate, tax=Money(0)))
    taxes = {rate: _spread_tax(lines, rate) for rate in sorted({line.rate for line in lines})}
    return Invoice(order.id.replace("ORD", "INV"), order.customer, tuple(lines), taxes)


def _spread_tax(lines: list[InvoiceLine], rate: Decimal) -> Money:
    """The tax at one rate, rounded once; each line gets its share, and the shares add up."""
    same = [index for index, line in enumerate(lines) if line.rate == rate]
    tax = tax_on(total(lines[index].net for index in same), rate)
    shares = tax.allocate([lines[index].net.minor for index in same])
    for index, share in zip(same, shares, strict=True):
        lines[index] = replace(lines[index], tax=share)
    return tax
'''

COMPARE = """\
git show HEAD:src/inventory/invoices.py > "$TMPDIR/old_invoices.py"
PYTHONPATH="src:$TMPDIR" python - <<'EOF'
from pathlib import Path
import old_invoices
from inventory import invoices
from inventory.catalog import Catalog
from inventory.pricing import standard_prices
from inventory.storage import load_orders
catalog, prices = Catalog.from_csv(Path('fixtures/catalog.csv')), standard_prices()
orders = load_orders(Path('data/orders'))
changed, moved = [], 0
for order in orders:
    old, new = (module.bill(order, catalog, prices) for module in (old_invoices, invoices))
    new.check()
    if (old.net, old.tax, old.gross) != (new.net, new.tax, new.gross):
        changed.append(order.id)
    for before, after in zip(old.lines, new.lines, strict=True):
        moved += before.tax != after.tax
        assert abs(before.tax.minor - after.tax.minor) <= 1, (order.id, before, after)
print(f'{len(orders)} orders, {len(changed)} totals changed, {moved} lines moved by one cent')
EOF"""


STEPS = (
    step(
        "Committing, then I look at the orders.",
        bash(
            "git add -A && git commit -m 'Apply breaks from their minimum and promotions on their last day'",
            "Commit the pricing fix",
        ).showing("1 file changed"),
        ls("data/orders"),
        bash("PYTHONPATH=src python -m inventory.cli bill data/orders | grep ERROR", "Invoices held back"),
    ),
    step(
        "About one invoice in four is held back, always by a cent or two. Now the code that bills, and its "
        "tests.",
        read("src/inventory/invoices.py"),
        read("src/inventory/tax.py"),
        read("tests/test_invoices.py"),
    ),
    step(
        "Each line rounds its own tax, and the total rounds once per rate: the two cannot agree. I'll "
        "reproduce it with one order.",
        progress(PLAN, ">    "),
        read("data/orders/ORD-0022.json"),
        bash(
            "PYTHONPATH=src python -m inventory.cli invoice data/orders/ORD-0022.json", "The invoice as text"
        ),
        reasoning="`InvoiceLine.tax` is tax_on(line net), `Invoice.tax` is the sum over rates of "
        "tax_on(net of that rate). Rule 4: tax is rounded once per rate, so the total is right and the "
        "lines are wrong; the difference must be spread over the lines.",
    ),
    step(
        "",
        bash(
            "PYTHONPATH=src python - <<'EOF'\n"
            "from collections import Counter\n"
            "from pathlib import Path\n"
            "from inventory.catalog import Catalog\n"
            "from inventory.invoices import bill\n"
            "from inventory.money import total\n"
            "from inventory.pricing import standard_prices\n"
            "from inventory.storage import load_orders\n"
            "catalog = Catalog.from_csv(Path('fixtures/catalog.csv'))\n"
            "by_cents, by_lines = Counter(), Counter()\n"
            "for order in load_orders(Path('data/orders')):\n"
            "    invoice = bill(order, catalog, standard_prices())\n"
            "    cents = (total(line.gross for line in invoice.lines) - invoice.gross).minor\n"
            "    by_cents[cents] += 1\n"
            "    by_lines[len(order.lines)] += bool(cents)\n"
            "print('cents off:', sorted(by_cents.items()))\n"
            "print('held back by number of lines:', sorted(by_lines.items()))\n"
            "EOF",
            "How far off, and which orders",
        ).showing("cents off:"),
    ),
    step(
        "Orders with a single line are never off, longer ones often: that fits. First a test that fails.",
        edit("tests/test_invoices.py", LAST_TEST_LINE, LAST_TEST_LINE + NEW_TESTS),
        bash("python -m pytest -q tests/test_invoices.py --tb=line", "New tests must fail").failing("failed"),
        progress(PLAN, "xx>  "),
    ),
    step(
        "The simplest change first: let the total be the sum of the lines.",
        edit(
            "src/inventory/invoices.py",
            "    taxes = {rate: tax_on(net, rate) for rate, net in sorted(net_by_rate.items())}\n",
            SUM_OF_LINES,
        ),
        bash("python -m pytest -q tests/test_invoices.py", "Invoice tests").failing(
            "test_tax_is_rounded_once_per_rate"
        ),
    ),
    step(
        "That makes the lines add up, but it rounds once per line, breaks rule 4 and would change totals, "
        "which you ruled out. I take it back.",
        bash("git checkout src/inventory/invoices.py && git status --short", "Undo the attempt"),
        grep(r"def |^class ", "src/inventory/money.py"),
        reasoning="The total has to stay as it is. So compute tax per rate as before, then distribute that "
        "amount over the lines of that rate. money.py may already have something for it: allocate.",
    ),
    step(
        "`Money.allocate` splits an amount so that the parts add up. I can use it as it is, without touching "
        "`money.py`.",
        read("src/inventory/money.py", 66, 22),
        read("src/inventory/invoices.py", 55, 20),
    ),
    step(
        "",
        multiedit(
            "src/inventory/invoices.py",
            (OLD_LOOP, NEW_LOOP),
            (OLD_LINE, NEW_LINE),
            ("from dataclasses import dataclass\n", "from dataclasses import dataclass, replace\n"),
        ),
        bash("python -m pytest -q tests/test_invoices.py", "Invoice tests").showing("30 passed"),
    ),
    step(
        "Green. `defaultdict` should be unused now; I check, and bill the real orders again.",
        grep("defaultdict", "src/inventory/invoices.py").showing("from collections import defaultdict"),
        bash("PYTHONPATH=src python -m inventory.cli bill data/orders | tail -5", "Bill again").showing(
            "140 billed, 0 held back"
        ),
    ),
    step(
        "",
        edit("src/inventory/invoices.py", "from collections import defaultdict\n", ""),
        progress(PLAN, "xxx> "),
    ),
    step(
        "Nothing is held back any more. Now the condition that matters to you: old code against new code "
        "on all orders.",
        bash(COMPARE, "Compare totals before and after").showing("140 orders, 0 totals changed"),
    ),
    step(
        "",
        bash("python -m pytest -q", "Whole test suite").showing("297 passed"),
        bash("git diff src", "What changed"),
        read("src/inventory/invoices.py"),
    ),
    step(
        "",
        bash(
            "git add -A && git commit -m 'Spread rounded tax over the lines of an invoice' && git log "
            "--oneline",
            "Commit",
        ).showing("2 files changed"),
        progress(PLAN, "xxxxx"),
    ),
    step(
        "Done and committed; 297 tests pass.\n\n"
        "Cause: each line rounded its own tax, while the total rounded once per rate. `bill` now computes "
        "the tax per rate as before and spreads it over the lines with `Money.allocate` (`_spread_tax` in "
        "`src/inventory/invoices.py`).\n\n"
        "Checked on the 140 orders in data/orders: none is held back, no net, tax or gross total changed, "
        "and no line's tax moved by more than a cent. New tests: `test_lines_add_up_to_the_total` (7 "
        "regions, 3 orders) and `test_lines_keep_their_order`.\n\n"
        "My first attempt, the sum of the lines as total, was wrong and is not in the history. `money.py` "
        "is untouched."
    ),
)

ROUND = Round(SAID, STEPS, PASTE)
