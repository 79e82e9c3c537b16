"""Round 1: the test suite fails after a merge. Three faults in one module, found one after the other."""

from recorder.script import Round, bash, edit, grep, ls, progress, read, step

SAID = """\
The test suite fails since yesterday's merge of quantity breaks and promotions. Find out why and fix it.

Two rules for everything we do today:
- Never touch the public API of money.py: finance scripts outside this repository import it.
- Always run the whole test suite before you say you are done.

Don't commit yet, I want to look at it first."""

PLAN = (
    "Quantity breaks: apply from the minimum on",
    "Quantity breaks: in any order",
    "Promotions: last day counts",
    "Run the whole test suite",
)


STEPS = (
    step(
        "I'll look at the project and its recent history first.",
        ls(),
        bash("git log --stat --format='%h %ad %s' --date=short", "Recent history"),
        bash("git status --short", "Uncommitted changes"),
    ),
    step(
        "Now the test suite.",
        bash("python -m pytest -q", "Whole test suite").failing("17 failed, 258 passed"),
    ),
    step(
        "17 of 275 tests fail, all of them in `tests/test_pricing.py`. I'll read the module, the business "
        "rules and the tests.",
        read("README.md"),
        read("src/inventory/pricing.py"),
        read("tests/test_pricing.py"),
        reasoning="All failures are in test_pricing. There are at least three groups: breaks at exactly "
        "the minimum (10, 50, 200), breaks listed in a different order, and promotions on their last day. "
        "The README should say which behaviour is right, so that I do not bend the code to a wrong test.",
    ),
    step(
        "The README settles it: rules 1 and 2 are what the tests expect, so the code is wrong, not the "
        "tests. I see three separate faults.",
        progress(PLAN, ">   "),
        reasoning="1. `_break_for` uses `quantity > step.minimum`, rule 1 says from the minimum on. 2. It "
        "keeps the last step that matches instead of the best; the standard list has 200, 10, 50 in that "
        "order, so 200 pieces get the 50 break. 3. `applies` has `on < self.last_day`, rule 2 says the "
        "last day counts.",
    ),
    step(
        "Who else uses these classes, before I change them?",
        grep(r"PriceList|QuantityBreak|Promotion|standard_prices", glob="*.py"),
    ),
    step(
        "",
        edit(
            "src/inventory/pricing.py",
            "            if quantity > step.minimum:",
            "            if quantity >= step.minimum:",
        ),
    ),
    step(
        "", bash("python -m pytest -q tests/test_pricing.py", "Pricing tests").failing("11 failed, 60 passed")
    ),
    step(
        "From 17 down to 11. The minimum is right now, the order is not.",
        progress(PLAN, "x>  "),
        edit(
            "src/inventory/pricing.py",
            "            if quantity >= step.minimum:\n"
            "                best = max(best, step)\n"
            "        return best",
            "            if quantity >= step.minimum:\n"
            "                best = max(best, step.percent_off)\n"
            "        return best",
        ).failing("occurs 0 times"),
    ),
    step(
        "I wrote that from memory, and it is not what stands there. Reading the place again.",
        read("src/inventory/pricing.py", 59, 12),
    ),
    step(
        "",
        edit(
            "src/inventory/pricing.py",
            "                best = step.percent_off\n        return best",
            "                best = max(best, step.percent_off)\n        return best",
        ),
    ),
    step(
        "",
        bash("python -m pytest -q tests/test_pricing.py --tb=short", "Pricing tests").failing(
            "2 failed, 69 passed"
        ),
    ),
    step(
        "The two that are left are the last day of a promotion.",
        edit(
            "src/inventory/pricing.py",
            "        in_time = self.first_day <= on < self.last_day\n",
            "        in_time = self.first_day <= on <= self.last_day\n",
        ),
        progress(PLAN, "xx> "),
    ),
    step(
        "Prices feed into invoices, so I check by hand what an order of exactly ten "
        "hammers costs, and read the docstrings that describe the breaks once more.",
        bash(
            "PYTHONPATH=src python - <<'EOF'\n"
            "from datetime import date\n"
            "from pathlib import Path\n"
            "from inventory.catalog import Catalog\n"
            "from inventory.pricing import standard_prices\n"
            "catalog = Catalog.from_csv(Path('fixtures/catalog.csv'))\n"
            "prices = standard_prices()\n"
            "for quantity in (9, 10, 49, 50, 199, 200):\n"
            "    for on in (date(2026, 2, 16), date(2026, 3, 31), date(2026, 4, 1)):\n"
            "        product = catalog.get('TL-0401')\n"
            "        off = prices.percent_off(product, quantity, on)\n"
            "        print(quantity, on, f'{off} % off', prices.line_net(product, quantity, on))\n"
            "EOF",
            "Prices around each break",
        ).showing("10 2026-02-16 5 % off 170.90 EUR"),
        read("src/inventory/pricing.py", 1, 40),
    ),
    step(
        "One docstring is vague about the very point that was wrong; I make it say what rule 1 says.",
        edit(
            "src/inventory/pricing.py",
            '    """`percent_off` for orders of `minimum` pieces of one product."""',
            '    """`percent_off` for orders of `minimum` pieces of one product or more."""',
        ),
    ),
    step(
        "Now the whole suite, verbose, and the diff.",
        bash("python -m pytest -v", "Whole test suite").showing("275 passed"),
        bash("git diff", "What changed").showing("on <= self.last_day"),
    ),
    step("", progress(PLAN, "xxxx")),
    step(
        "Done. 275 tests pass, none fail; before it was 17 failures. All three faults were in "
        "`src/inventory/pricing.py`:\n\n"
        "1. `_break_for` compared with `>`, so ten pieces did not get the price for ten (rule 1).\n"
        "2. `_break_for` kept the last matching break instead of the best, so the list's order mattered: "
        "200 hammers got 8 % instead of 12.5 %.\n"
        "3. `Promotion.applies` left out the last day (rule 2).\n\n"
        "I also made the docstring of `QuantityBreak` precise. `money.py` is untouched and nothing is "
        "committed."
    ),
)

ROUND = Round(SAID, STEPS)
