"""Round 5: the user changes their mind about the table, and reports one more bug."""

from recorder.rounds.texts import save_texts
from recorder.script import Round, bash, edit, grep, ls, multiedit, progress, read, step, write, written

SAID = """\
You are right about the circle, and I changed my mind: invoices must not import reports. Make a new module \
tables.py with plain functions, no class at all, and drop TextTable, Column and the TYPE_CHECKING import. \
Output byte for byte as it is now.

Then one more bug, from the warehouse: an order was cancelled after a part of it had left the house, and \
somebody clicked twice. Now the stock report shows more pieces available than on hand. Cancelling twice must \
be refused, and a release must never take reserved below zero.

When both are done: show me the commits of today, and prove that money.py has not changed.

And put a sales report by region on your list for tomorrow. Don't start it today."""

PLAN = (
    "tables.py with plain functions",
    "reports.py and invoices.py use it, no class, no TYPE_CHECKING",
    "Output the same to the byte, commit",
    "Reproduce the cancelled order, failing tests",
    "Fix cancel and release, whole suite, commit",
    "Commits of today, money.py unchanged",
    "Tomorrow, not today: sales report by region",
)

OLD_RENDER = """\
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

NEW_RENDER = """\
    lines = [f"Invoice {invoice.number}", f"Customer: {invoice.customer}", ""]
    lines += [header(COLUMNS), rule(COLUMNS)]
    for line in invoice.lines:
        net, tax, gross = str(line.net.amount), str(line.tax), str(line.gross)
        lines.append(row(COLUMNS, line.name, str(line.quantity), net, tax, gross))
    lines.append(rule(COLUMNS))
    for rate, amount in invoice.tax_by_rate.items():
        lines.append(row(COLUMNS, f"tax {rate * 100:.1f} %", "", "", str(amount), ""))
    sums = str(invoice.net.amount), str(invoice.tax), str(invoice.gross)
    lines.append(row(COLUMNS, "total", "", *sums))
    return "\\n".join(lines) + "\\n"
"""

IMPORTS = """\
from inventory.tables import header, row, rule
from inventory.tax import rate_for, tax_on

COLUMNS = (
    ("article", 28, "<"),
    ("qty", 5, ">"),
    ("net", 12, ">"),
    ("tax", 10, ">"),
    ("gross", 12, ">"),
)
"""

SAME = f"""\
{save_texts("functions")}
cd .. && diff -r after functions && echo "same: $(ls functions | wc -l) files\""""

REPRODUCE = """\
PYTHONPATH=src python - <<'EOF'
from datetime import date
from inventory.money import Money
from inventory.orders import Order
from inventory.stock import Ledger
ledger = Ledger()
ledger.receive('HAMMER', 50, Money.of('8.88'))
order = Order('ORD-0001', 'customer 7', 'DE', date(2026, 2, 16))
order.add('HAMMER', 20)
def show(what):
    print(f"{what:<20} on hand {ledger.on_hand('HAMMER'):>3}  reserved {ledger.reserved('HAMMER'):>3}  "
          f"available {ledger.available('HAMMER'):>3}")
order.confirm(ledger); show('confirmed 20')
order.ship(ledger, 'HAMMER', 5); show('shipped 5')
order.cancel(ledger); show('cancelled')
order.cancel(ledger); show('cancelled again')
EOF"""

AGAIN = REPRODUCE.replace("<<'EOF'", "2>&1 <<'EOF' | grep -v -e '^ ' -e Traceback")

ORDER_TESTS = """

@pytest.mark.parametrize("shipped", [1, 5, 19, 20])
def test_cancelling_gives_back_what_is_still_open(order, ledger, shipped):
    order.confirm(ledger)
    order.ship(ledger, "HAMMER", shipped)
    order.cancel(ledger)
    assert (ledger.on_hand("HAMMER"), ledger.reserved("HAMMER")) == (50 - shipped, 0)
    assert (ledger.on_hand("GUIDE"), ledger.reserved("GUIDE")) == (6, 0)


def test_cancelling_twice_is_refused(order, ledger):
    order.confirm(ledger)
    order.cancel(ledger)
    with pytest.raises(WrongState, match="ORD-0001 is cancelled"):
        order.cancel(ledger)
    assert ledger.available("HAMMER") == 50


def test_confirming_twice_is_refused(order, ledger):
    order.confirm(ledger)
    with pytest.raises(WrongState):
        order.confirm(ledger)
    assert ledger.reserved("HAMMER") == 20
"""
LAST_ORDER_TEST = """\
    order.ship(ledger, "GUIDE", 4)
    with pytest.raises(WrongState):
        order.cancel(ledger)
"""

STOCK_TESTS = """

def test_no_more_is_released_than_was_reserved(ledger):
    ledger.reserve("GUIDE", 4)
    with pytest.raises(ValueError, match="GUIDE: cannot release 5, 4 reserved"):
        ledger.release("GUIDE", 5)
    assert (ledger.reserved("GUIDE"), ledger.available("GUIDE")) == (4, 2)
"""
LAST_STOCK_TEST = '    assert ledger.value("TEA") == Money.of("15.00")\n'


STEPS = (
    step(
        "Agreed. First the table. I read both files again, as they are after the last commit.",
        progress(PLAN, ">      "),
        read("src/inventory/invoices.py"),
        read("src/inventory/reports.py"),
        grep("TextTable|Column|TYPE_CHECKING", glob="*.py"),
    ),
    step(
        "",
        write("src/inventory/tables.py", written("tables.py")),
        write("tests/test_tables.py", written("test_tables.py")),
        bash("python -m pytest -q tests/test_tables.py", "Table tests").showing("39 passed"),
        reasoning="Plain functions: header, rule, row over a sequence of columns; a column is a tuple, "
        "because the user said no class at all, and a NamedTuple or dataclass would be one.",
    ),
    step(
        "",
        write("src/inventory/reports.py", written("reports_with_functions.py")),
        multiedit(
            "src/inventory/invoices.py",
            (
                (
                    "from inventory.reports import Column, TextTable\n"
                    "from inventory.tax import rate_for, tax_on\n"
                ),
                IMPORTS,
            ),
            (OLD_RENDER, NEW_RENDER),
        ),
        progress(PLAN, "x>     "),
    ),
    step(
        "",
        bash("python -m pytest -q", "Whole test suite").showing("347 passed"),
        bash(SAME, "Compare with the output of the last commit").showing("same: 5 files"),
        grep("TextTable|TYPE_CHECKING|inventory.reports", "src").showing("src/inventory/cli.py"),
    ),
    step(
        "All five texts are the same to the byte, and only `cli.py` imports `reports` now. The README "
        "lists the modules, so the new one belongs there.",
        edit(
            "README.md",
            "| `reports` | stock, reorder and sales tables |\n",
            "| `reports` | stock, reorder and sales tables |\n| `tables` | text whose columns line up |\n",
        ),
        bash(
            "git add -A && git commit -m 'Plain functions for text tables, in a module of their own' && "
            "git show --stat HEAD",
            "Commit",
        ).showing("5 files changed"),
        progress(PLAN, "xxx>   "),
    ),
    step(
        "Now the bug. The code that cancels and releases, and its tests.",
        read("src/inventory/orders.py"),
        read("src/inventory/stock.py"),
        read("tests/test_orders.py"),
        read("tests/test_stock.py"),
    ),
    step(
        "I think I see two faults; first I reproduce what the warehouse did.",
        bash(REPRODUCE, "Confirm, ship a part, cancel twice").showing("available  70"),
        grep(r"\.(release|reserve|cancel)\(", glob="*.py"),
        reasoning="cancel releases line.quantity although ship has already released what left, so even one "
        "cancel after a partial shipment is wrong. And NEXT allows cancelled -> cancelled, and confirmed "
        "-> confirmed, which would reserve twice: the same kind of mistake, not reported yet.",
    ),
    step(
        "Reproduced, and it is worse than reported: already the first cancel is wrong (reserved is -5), "
        "the second makes it -25, so 70 pieces seem available with 45 on hand. `NEXT` also allows "
        "confirming twice, which reserves twice. Tests first.",
        edit("tests/test_orders.py", LAST_ORDER_TEST, LAST_ORDER_TEST + ORDER_TESTS),
        edit("tests/test_stock.py", LAST_STOCK_TEST, LAST_STOCK_TEST + STOCK_TESTS),
        bash(
            "python -m pytest -q tests/test_orders.py tests/test_stock.py --tb=short", "New tests must fail"
        ).failing("7 failed"),
    ),
    step(
        "",
        multiedit(
            "src/inventory/orders.py",
            (
                '    "confirmed": {"confirmed", "shipped", "cancelled"},\n',
                '    "confirmed": {"shipped", "cancelled"},\n',
            ),
            ('    "cancelled": {"cancelled"},\n', '    "cancelled": set(),\n'),
            (
                (
                    "        for line in self.lines:\n"
                    "            ledger.release(line.sku, line.quantity)\n\n"
                    "    def _line"
                ),
                (
                    "        for line in self.lines:\n"
                    "            ledger.release(line.sku, line.open)\n\n"
                    "    def _line"
                ),
            ),
        ),
        edit(
            "src/inventory/stock.py",
            "        _require_positive(quantity)\n        self._reserved[sku] -= quantity\n",
            "        _require_positive(quantity)\n"
            "        if quantity > self.reserved(sku):\n"
            '            raise ValueError(f"{sku}: cannot release {quantity}, {self.reserved(sku)} '
            'reserved")\n'
            "        self._reserved[sku] -= quantity\n",
        ),
        progress(PLAN, "xxxx>  "),
    ),
    step(
        "",
        bash("python -m pytest -q tests/test_orders.py tests/test_stock.py", "Orders and stock").failing(
            "1 failed"
        ),
    ),
    step(
        "One case is left: a line that has left completely has nothing open, and releasing zero pieces is "
        "refused. Such a line must be skipped.",
        read("src/inventory/orders.py", 72, 12),
    ),
    step(
        "",
        edit(
            "src/inventory/orders.py",
            "        for line in self.lines:\n            ledger.release(line.sku, line.open)\n",
            "        for line in self.lines:\n"
            "            if line.open:\n"
            "                ledger.release(line.sku, line.open)\n",
        ),
    ),
    step(
        "What the warehouse did, once more, and the whole suite.",
        bash(AGAIN, "Confirm, ship a part, cancel twice").showing("WrongState: ORD-0001 is cancelled"),
        bash("python -m pytest -q", "Whole test suite").showing("354 passed"),
        bash("git diff", "What changed"),
    ),
    step(
        "",
        bash(
            "git add -A && git commit -m 'Refuse to cancel twice or to release what is not reserved'",
            "Commit",
        ).showing("4 files changed"),
        progress(PLAN, "xxxxx> "),
    ),
    step(
        "Last, the commits of today and `money.py`.",
        bash("git log --since=2026-03-02T00:00:00Z --stat --format='%n%h %s'", "Commits of today"),
        bash(
            "git diff --exit-code $(git log --before=2026-03-02T00:00:00Z -1 --format=%h) HEAD -- "
            "src/inventory/money.py && echo unchanged; git log --oneline -- src/inventory/money.py",
            "money.py since yesterday",
        ).showing("unchanged"),
        ls("src"),
        bash("git status --short && git diff --stat HEAD", "Nothing left over"),
    ),
    step("", progress(PLAN, "xxxxxx ")),
    step(
        "Both are done and committed; 354 tests pass.\n\n"
        "**Tables.** `src/inventory/tables.py` has `header`, `rule`, `row`, `width` and `fit`, plain "
        "functions over tuples. `TextTable`, `Column` as a class and the `TYPE_CHECKING` import are gone, "
        "and `invoices` no longer imports `reports`. Two reports and three invoices compared with the last "
        "commit: same to the byte.\n\n"
        "**Cancelled orders.** Two faults: `cancel` gave back the whole line although a part had left, and "
        "the states allowed cancelling twice. Now it gives back what is open, a second cancel raises "
        "`WrongState`, and `Ledger.release` refuses more than is reserved. I also closed the same gap for "
        "confirming twice, which nobody had reported; tell me if you want that apart.\n\n"
        "**Today's commits**, oldest first: pricing fix; tax spread over invoice lines; report columns by "
        "display width; one text table (superseded by the next); table functions; cancel and release. `git "
        "diff` of `money.py` from the last commit before today to now is empty, and its only commit is the "
        "first one of the repository.\n\n"
        "Left on the list for tomorrow, not started: the sales report by region."
    ),
)

ROUND = Round(SAID, STEPS)
