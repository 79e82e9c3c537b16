"""The change that docs/review.md shows."""

from pathlib import Path

from support.review_repos import Repo

PAY = """\
import httpx

URL = "https://pay.example.org/charge"


def charge(client, order):
    if order.total <= 0:
        raise ValueError("nothing to pay")
    answer = client.post(URL, json=order.lines)
    return answer.json()["receipt"]


def receipt(order):
    return f"{order.id}: {order.total}"
"""
PAY_AFTER = PAY.replace(
    "client.post(URL, json=order.lines)", "httpx.post(URL, json=order.lines, verify=False)"
).replace("    return answer.json()", "    breakpoint()\n    return answer.json()")
TESTS = """\
from shop.pay import charge, receipt


def test_nothing_is_charged_for_nothing(client, empty_order):
    with pytest.raises(ValueError):
        charge(client, empty_order)


def test_a_receipt_has_the_total(order):
    assert receipt(order) == "17: 23"
"""
TESTS_AFTER = "from shop.pay import receipt\n\n\n" + TESTS[TESTS.index("def test_a_receipt") :]
PROJECT = '[project]\nname = "shop"\ndependencies = [\n    "httpx>=0.28",\n]\n'
PROJECT_AFTER = PROJECT.replace(",\n", ',\n    "rich>=15",\n')


def example(folder: Path) -> Repo:
    """A repository with a change in its working tree that rules have much to say about."""
    repo = Repo(folder)
    lock = 'version = 1\n\n[[package]]\nname = "httpx"\nversion = "0.28.1"\n'
    repo.commit({"shop/pay.py": PAY, "tests/test_pay.py": TESTS, "pyproject.toml": PROJECT, "uv.lock": lock})
    repo.write("shop/pay.py", PAY_AFTER)
    repo.write("tests/test_pay.py", TESTS_AFTER)
    repo.write("pyproject.toml", PROJECT_AFTER)
    return repo
