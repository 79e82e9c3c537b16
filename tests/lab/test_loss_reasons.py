"""Why needs were missed: each reason has a small log that has it and no other, and every miss has one."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.lab import loss_reasons
from holdfast.lab.aggregate import group_needs
from holdfast.lab.policies.profile_policy import profile_policy
from holdfast.lab.policies.registry import find_policies
from holdfast.lab.policy import NamedPolicy
from holdfast.lab.results import OLDER, Score
from holdfast.lab.run import PolicyRun, ScoringSetup
from holdfast.lab.scored_message import MessageCounter
from holdfast.packing.lines import scoring
from holdfast.packing.profile import CLASSIC
from holdfast.prices import BUILT_IN as PRICES
from holdfast.tokenizers import load_tokenizer
from support.evidence import called, result, study_of, user
from support.fit_recordings import BUDGET, PROFILE

SETUP = ScoringSetup(
    load_tokenizer(), MessageCounter(load_tokenizer()), (PRICES["standard"],), BUDGET, why=True
)
LINES = profile_policy(PROFILE)
GOAL = user("Go on until all is done.")
DULL = "and then the quiet sentence was over"
PATH = "src/deep/place_seven.py"
WORDS = (
    "amber birch cedar daisy elder ferns grape hazel irons jumps kiwis lemon mango night ocean pearl".split()
)


def ran(id_: str, text: str, command: str = "go") -> list[dict]:
    return [called(id_, "Bash", command=command), result(id_, text)]


def filler(steps: int, rows: int = 10, first: int = 0, row: str = "{} {} {} {}") -> list[dict]:
    """Steps with lines that nobody uses again; without a name, unless `row` makes names of its words."""
    found: list[dict] = []
    for n in range(first, first + steps):
        picked = [(n % 16, at % 16, (n * 7 + at) % 16, n // 16) for at in range(rows)]
        found += ran(f"f{n}", "\n".join(row.format(*(WORDS[word] for word in words)) for words in picked))
    return found


NAMES = "the loader of the kind is lib/{}_{}/{}_{}.py by now"


def says(id_: str, text: str) -> list[dict]:
    return [{**called(id_, "Bash", command="go"), "content": text}, result(id_, "done")]


def edit(text: str) -> dict:
    return called("last", "Edit", old_string=text)


def opened(path: str = PATH) -> dict:
    return called("last", "Open", target=path)


def score_of(*messages: dict, policy: NamedPolicy = LINES, budget: int = BUDGET) -> Score:
    [[score]] = PolicyRun(study_of(*messages), policy, budget, [budget], SETUP).run()
    return score


def lost(*messages: dict, policy: NamedPolicy = LINES, budget: int = BUDGET) -> list[tuple[str, str]]:
    """Reasons of all that was missed."""
    groups = score_of(*messages, policy=policy, budget=budget).groups
    return [(g.reason, g.detail) for g in groups if g.reason for _ in range(g.needs)]


def test_outranked():
    assert lost(GOAL, *ran("a", DULL), *filler(20), edit(DULL)) == [(loss_reasons.OUTRANKED, "")]


def test_what_is_kept_has_no_reason():
    score = score_of(GOAL, *ran("a", DULL), *filler(2), edit(DULL))
    assert [(g.reason, g.needs) for g in score.groups] == [("", 1)]


def test_cut_on_first_sight():
    many = "\n".join(f"{WORDS[n % 16]} {WORDS[n // 16]} stands in the long text" for n in range(200))
    needed = "hazel hazel stands in the long text"
    assert lost(GOAL, *ran("a", many), edit(needed)) == [(loss_reasons.FIRST_SIGHT, "")]


def test_a_weak_name():
    listing = "\n".join(f"src/{one}/{two}_seven.py" for one in WORDS for two in WORDS)
    found = lost(
        GOAL,
        called("a", "Glob", pattern="*"),
        result("a", listing),
        *filler(20),
        opened("src/night/cedar_seven.py"),
    )
    assert found == [(loss_reasons.NEVER, loss_reasons.WEAK)]


def test_too_long_a_line():
    long = f"{'so much to say and no end ' * 60} {PATH} {'so it goes ' * 20}"
    assert lost(GOAL, *ran("a", long), *filler(20), opened()) == [(loss_reasons.NEVER, loss_reasons.LONG)]


def test_too_short_a_line():
    """`line_key` leaves a bracket of it."""
    found = lost(GOAL, called("a", "Grep", pattern="x"), result("a", f"{PATH}:12:}}"), *filler(20), opened())
    assert found == [(loss_reasons.NEVER, loss_reasons.SHORT)]


def test_a_document_whose_records_do_not_hold_it():
    fields = ",".join(f'"{word}_{n}":"{word}_{n}_value_{word} of {word}"' for n in range(5) for word in WORDS)
    found = lost(GOAL, *ran("a", f"{{{fields}}}"), *filler(20), opened("daisy_1_value_daisy"))
    assert found == [(loss_reasons.NEVER, loss_reasons.RECORDS)]


def test_the_agents_own_argument():
    todo = called("a", "TodoWrite", todos=[{"content": "write zeta_report_77 at once", "status": "pending"}])
    done = called("b", "TodoWrite", todos=[{"content": "rest", "status": "pending"}])
    work = [todo, result("a", "noted"), done, result("b", "noted"), *filler(20)]
    assert lost(GOAL, *work, opened("zeta_report_77")) == [(loss_reasons.NEVER, loss_reasons.OWN)]


def test_superseded_by_a_newer_read():
    first = [called("a", "Read", file_path="f"), result("a", f"one\n{DULL}")]
    again = [called("b", "Read", file_path="f"), result("b", "one\ntwo")]
    assert lost(GOAL, *first, *again, *filler(20), edit(DULL)) == [
        (loss_reasons.NEVER, loss_reasons.SUPERSEDED)
    ]


def test_a_line_like_it_stands_elsewhere():
    """Of two matches with the same text only the newer is a candidate, and it names another file."""
    matches = [called("a", "Grep", pattern="x"), result("a", f"{PATH}:3:return the total of all")]
    newer = [called("b", "Grep", pattern="x"), result("b", "lib/other_place.py:9:return the total of all")]
    found = lost(GOAL, *matches, *newer, *filler(20), opened())
    assert found == [(loss_reasons.NEVER, loss_reasons.REPEATED)]


def test_forgotten(monkeypatch):
    monkeypatch.setattr(scoring, "FEWEST", 10)
    assert lost(GOAL, *ran("a", DULL), *filler(40), edit(DULL)) == [(loss_reasons.FORGOTTEN, "")]


def test_left_behind_by_a_fold_that_only_added():
    """Until a fold chooses all lines again."""
    work = [GOAL, *filler(20), *ran("a", DULL)]
    assert lost(*work, *filler(8, first=20), edit(DULL)) == [(loss_reasons.LEFT_BEHIND, "")]
    assert lost(*work, *filler(14, first=20), edit(DULL)) == [(loss_reasons.OUTRANKED, "")]


def test_present_in_another_form():
    """What the agent makes of a line does not bring it back."""
    work = [*ran("a", DULL), *filler(20), *says("b", f"It said: {DULL}, I think")]
    assert lost(GOAL, *work, edit(DULL)) == [(loss_reasons.PRESENT, loss_reasons.OUTRANKED)]


def test_a_user_message_that_was_shortened():
    paste = "\n".join(f"{WORDS[n % 16]} {WORDS[n // 16 % 16]} {n}" for n in range(600))
    [found] = {*lost(user(f"{paste}\n{DULL}\n{paste}"), *filler(1), edit(DULL))}
    assert found == (loss_reasons.SHORTENED, "")


@pytest.mark.parametrize(
    ("level", "reason"), [("digest", loss_reasons.LOWERED), ("skeleton", loss_reasons.GONE)]
)
def test_profiles_that_fold_by_levels(level, reason):
    many = "\n".join(f"{WORDS[n % 16]} {WORDS[n // 16]} stands in the long text" for n in range(60))
    rounds = [m for n in range(3) for m in (user(f"Round {n}."), *filler(6, 20, 6 * n))]
    policy = profile_policy(replace(CLASSIC, keep=1, keep_floor=1, result_old=level))
    needed = edit("hazel cedar stands in the long text")
    work = (GOAL, *ran("a", many), *ran("b", "then"), *rounds)
    assert [found for found, _ in lost(*work, needed, policy=policy, budget=3_000)] == [reason]


class Fails:
    def __init__(self, task): ...

    def pack(self, *_):
        raise ValueError("no")


def test_reasons_of_other_policies():
    work = (GOAL, *ran("a", f"{DULL}\nthe loader of the kind is {PATH} by now"), *filler(20))
    everything, newest = find_policies(["everything", "newest"])
    assert lost(*work, edit(DULL), policy=everything) == []
    assert lost(*work, edit(DULL), policy=newest) == [(loss_reasons.ABSENT, "")]
    assert lost(*work, *says("b", f"Off to {PATH}"), opened(), policy=newest) == [(loss_reasons.PRESENT, "")]
    assert lost(*work, edit(DULL), policy=NamedPolicy("x", Fails)) == [(loss_reasons.FAILED, "")]
    assert lost(*work, edit(DULL), policy=replace(everything, budgeted=True)) == [(loss_reasons.OVER, "")]


def test_groups_say_tool_kind_and_age():
    [group] = score_of(GOAL, *ran("a", DULL), *filler(20), edit(DULL)).groups
    assert (group.tool, group.kind, group.age, group.needs, group.hard) == ("Bash", "line", "21-50", 1, 1)
    assert group.age in OLDER
    assert group.older == 1
    [group] = score_of(user(f"Never forget: {PATH} is ours."), *filler(20), opened()).groups
    assert (group.tool, group.kind) == ("(user)", "name")


@pytest.mark.parametrize(
    "policy",
    find_policies(["newest", "code", "classic", "lean", "cheat-dump"]),
    ids=lambda policy: policy.name,
)
def test_reasons_are_as_many_as_misses(policy):
    work = [GOAL]
    for n in range(30):
        work += filler(1, 14, n, NAMES)
        work += ran(f"n{n}", f"{DULL} in part {n}\nthe loader {n} is src/deep/place_{n}.py", f"go {n}")
        if n > 8:
            work += [
                called(
                    f"e{n}",
                    "Edit",
                    file_path=f"src/deep/place_{n - 8}.py",
                    old_string=f"{DULL} in part {n - 7}",
                )
            ]
            work += [result(f"e{n}", "done")]
    score = score_of(*work, policy=policy)
    groups = group_needs([score])
    assert sum(g.needs for g in groups) == score.needs
    assert sum(g.hard for g in groups) == score.hard_needs
    missed = sum(g.needs for g in groups if g.reason)
    assert missed == sum(share.of - share.held for share in score.ages.values())
    assert missed > 0
    broken = replace(score, groups=[replace(g, reason="") for g in score.groups])
    with pytest.raises(AssertionError, match="without a reason"):
        group_needs([broken])


def test_every_reason_is_explained():
    page = (Path(__file__).parents[2] / "docs" / "evidence.md").read_text()
    told = {value for name, value in vars(loss_reasons).items() if name.isupper() and isinstance(value, str)}
    part_names = {loss_reasons.RESULT, loss_reasons.SAID, loss_reasons.USER}
    assert {reason for reason in told - part_names if f"`{reason}`" not in page} == set()
    assert len(told - part_names) == 20
