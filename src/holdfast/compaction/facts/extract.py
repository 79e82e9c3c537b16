"""The rule half: all facts of a range of a transcript, without a model.

Rule: pure, and linear in the text. What holds at the end (files, open errors, the state of the tests, todos) is
drawn from the whole transcript up to there; what happened, from the range. An error is open until the same work
goes well: the same command, the same tests, the same call on the same file. What fails while looking around is no
error. Every failure that somebody tried again is an attempt.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from holdfast.compaction.facts.calls import (
    CallRecord,
    KnownCalls,
    command_facts,
    command_key,
    is_test,
    shorten_command,
    test_state,
)
from holdfast.compaction.facts.fact import Fact, LogFacts, clip_line, quote_text
from holdfast.compaction.facts.paths import file_facts, key_facts
from holdfast.compaction.facts.requests import (
    decision_facts,
    directive_facts,
    first_and_latest,
    read_handover,
    utterances_of,
)
from holdfast.events import RecapSet
from holdfast.tool_use import CHANGING
from holdfast.tool_use.shell_commands import SimpleCommand, simple_commands
from holdfast.views.todos import Todos, todos_after
from holdfast.views.transcript import FrozenTranscript, Item, Step


def extract_facts(
    transcript: FrozenTranscript, first: int = 0, end: int | None = None, known: KnownCalls | None = None
) -> LogFacts:
    """The facts of the items from position `first` up to `end`; of the whole transcript by default. With `known`
    calls those that were read before need not be read again."""
    upto = transcript.items[:end]
    items = upto[first:]
    calls = (known or KnownCalls()).of(upto)
    recent = [call for call in calls if call.step.position >= first]
    said = utterances_of(items, [call for call in recent if call.outcome.is_refused])
    goal, latest = first_and_latest(said)
    directives, withdrawn = directive_facts(said, utterances_of(transcript.items[len(upto) :], ()))
    errors, attempts = _errors_and_attempts(calls, _first_step(items))
    approvals = [pair for pair in transcript.approvals if first <= pair[0] < first + len(items)]
    return LogFacts(
        goal=goal,
        latest=latest,
        directives=directives,
        withdrawn=withdrawn,
        files=file_facts(calls),
        commands=command_facts(recent),
        tests=test_state(calls),
        errors=errors,
        attempts=attempts,
        decisions=decision_facts(said, recent, approvals),
        todos=_todos(calls),
        recap=recap_facts(transcript, len(upto)),
        keys=key_facts(said, recent),
        handover=read_handover(upto),
        last_said=_last_said(items),
    )


_NO_TODOS = ("bash", "read", "grep", "ls", "glob")


def _first_step(items: Sequence[Item]) -> int:
    return next((item.number for item in items if isinstance(item, Step)), 0)


def _todos(calls: Sequence[CallRecord]) -> tuple[Fact, ...]:
    """The todos that were open at the end, and where the list was last changed."""
    todos, changed = Todos(), ("", -1)
    for call in calls:
        if call.use.kind in _NO_TODOS or call.use.kind in CHANGING:
            continue
        if call.outcome.is_run and not call.outcome.is_failed:
            after = todos_after(todos, call.call, call.text)
            if after is not todos:
                todos, changed = after, (call.step.entry, call.step.number)
    entry, step = changed
    return tuple(
        Fact(f"{'in progress' if todo.status == 'active' else 'pending'}: {todo.text}", (entry,), step)
        for todo in todos.items
        if todo.status != "done"
    )


def recap_facts(transcript: FrozenTranscript, end: int) -> tuple[Fact, ...]:
    """The recap as it was when there were `end` items."""
    newest: dict[str, tuple[Fact, ...]] = {}
    for position, entry in transcript.recap_entries:
        event = entry.event
        if position < end and isinstance(event, RecapSet):
            newest[event.key] = tuple(Fact(line, (entry.id,)) for line in event.lines)
    return tuple(fact for facts in newest.values() for fact in facts)


def _last_said(items: Sequence[Item]) -> Fact | None:
    for item in reversed(items):
        if isinstance(item, Step) and item.message.text.strip():
            return Fact(quote_text(item.message.text), (item.entry,), item.number)
    return None


MOST_OPEN = 60
"""Errors that are followed at the same time; of more, the oldest are dropped."""
MOST_NAMES = 5
"""Failing tests that are named in one line."""
LONGEST_WHAT = 160

_NO_FAULT = ("read", "grep", "ls", "glob", "todo", "recall")
_ASIDE = frozenset(
    {"cd", "echo", "true", "sleep", "export", "source", "set", "mkdir", "pwd", "printf", "test", "["}
)
_RUNS = frozenset({"run", "exec", "-m", "x", "dlx", "compose"})
_SUBCOMMAND = re.compile(r"[a-z][\w:-]*$")
_MISSPELLED = re.compile(
    r"(?i)command not found|no such file or directory|is not a git command|unrecognized|unexpected argument|^usage:"
    r"|unknown (?:flag|option|command|subcommand|linter|skill|shorthand)|invalid (?:option|usage|flag)"
    r"|illegal option|no rule to make target|missing script|bad (?:substitution|revision)|ambiguous arg|pathspec"
)
"""How a command fails that could not even start."""
_FILTER = re.compile(
    r"(?:^| )(?:-run|-k|-t|-m|--filter|--grep|--testNamePattern|-Dtest)[ =]\S|::|\btest_?\w*\.\w+\b"
)
_SUITE = re.compile(r"\b(?:integration|e2e|unit|smoke|acceptance|race)\b")
_ALL = re.compile(r"\b(?:all|ci|full)\b")
_THROWN_AWAY = re.compile(
    r"\bgit (?:checkout (?:\S+ )?-- |restore (?!--staged)|reset --hard|revert\b)[^\n;&|]{0,200}"
)
_MERGES = frozenset({"git merge", "git rebase", "git cherry-pick", "git pull", "git stash"})
_MERGED = frozenset(
    {"git commit", "git merge", "git rebase", "git cherry-pick", "git reset", "git pull", "git push"}
)


class _Failure(Struct, frozen=True, gc=False):
    call: CallRecord
    key: str
    work: str
    """The program that ran last, with what it was told to do; empty where it was no command."""
    times: int = 1


def _errors_and_attempts(
    calls: Sequence[CallRecord], first: int
) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """What is open after all the calls, and what was tried and failed from step `first` on."""
    walk = _Walk(first)
    for call in calls:
        walk.take(call)
    errors = tuple(_failure_fact(failure) for failure in walk.open.values() if not _is_misspelled(failure))
    return errors, tuple(walk.attempts.values())


class _Walk:
    def __init__(self, first: int) -> None:
        self.open: dict[str, _Failure] = {}
        self.attempts: dict[str, Fact] = {}
        self._first = first

    def take(self, call: CallRecord) -> None:
        if not call.outcome.is_run or not _is_work(call):
            return
        if found := _THROWN_AWAY.search(call.command):
            text = f"changes were thrown away: {clip_line(found[0])}"
            self._note(Fact(text, (call.entry,), call.step.number))
        works = _works(call.command)
        key = _key(call)
        ended = [f for f in self.open.values() if f.key == key or _is_done_again(call, works, f)]
        for failure in ended:
            del self.open[failure.key]
        if call.outcome.is_failed:
            times = 1 + sum(failure.times for failure in ended)
            self.open[key] = _Failure(call, key, works[-1] if works else "", times)
            if len(self.open) > MOST_OPEN:
                del self.open[next(iter(self.open))]
        for failure in ended if not call.outcome.is_failed else []:
            self._note(_failure_fact(failure))

    def _note(self, fact: Fact) -> None:
        if fact.step >= self._first:
            self.attempts.pop(fact.text, None)
            self.attempts[fact.text] = fact


def _is_work(call: CallRecord) -> bool:
    """Whether a failure of the call matters to the work; looking for something that is not there does not."""
    return (
        call.use.kind not in _NO_FAULT
        and not call.is_looking
        and bool(call.command or call.use.kind != "bash")
    )


def _is_misspelled(failure: _Failure) -> bool:
    """Whether it failed because of how it was called, so that only the call is at fault."""
    return not is_test(failure.call) and bool(_MISSPELLED.search(failure.call.outcome.line))


def _key(call: CallRecord) -> str:
    if call.command:
        return command_key(call.command)
    if call.use.path:
        return f"{'change' if call.use.kind in CHANGING else call.use.name} {call.use.path}"
    value = next((v for v in call.call.arguments.values() if isinstance(v, str)), "")
    return f"{call.use.name} {value[:200]}"


def _works(command: str) -> list[str]:
    """What a command does, program by program, each with what it is told to do."""
    simple = simple_commands(command_key(command)) if command else []
    return [work for work in map(_work, simple) if work]


def _work(simple: SimpleCommand) -> str:
    words = [word for word in simple.words[1:] if word in _RUNS or not word.startswith("-")]
    if simple.program in _ASIDE:
        return ""
    count = 2 if words and words[0] in _RUNS else int(bool(words) and bool(_SUBCOMMAND.match(words[0])))
    return " ".join([simple.program, *words[:count]])


def _is_done_again(call: CallRecord, works: Sequence[str], failure: _Failure) -> bool:
    """Whether a call did once more what had failed, however it ended now."""
    if not failure.work:
        return False
    if is_test(failure.call):
        return is_test(call) and _runs_again(call, works, failure)
    return failure.work in works or (failure.work in _MERGES and not _MERGED.isdisjoint(works))


def _runs_again(call: CallRecord, works: Sequence[str], failure: _Failure) -> bool:
    """Whether a run of tests ran those that had failed: it names them, or it leaves none out."""
    if call.tests is None and not call.outcome.is_failed:
        return False
    names = failure.call.tests.failing if failure.call.tests else ()
    command, before = command_key(call.command), command_key(failure.call.command)
    told = f"{command}\n{call.text[:20_000]}"
    if names and all(name.rsplit("::", 1)[-1].split("[")[0].split("/")[0] in told for name in names):
        return True
    if not names and failure.work in works:
        return True
    places = _places(command)
    if _FILTER.search(command) or (places and not (_places(before) and _places(before) <= places)):
        return False
    suites = set(_SUITE.findall(before)) - set(_SUITE.findall(command))
    return not call.outcome.is_failed and (not suites or bool(_ALL.search(command)))


def _places(command: str) -> frozenset[str]:
    """Where a command looks for tests, if it does not look everywhere."""
    words = frozenset(word for word in command.split() if "/" in word and not word.startswith("-"))
    return words - {"./..."} if "./..." in words else words


def _failure_fact(failure: _Failure) -> Fact:
    """What failed and how, in a line."""
    call = failure.call
    what = clip_line(shorten_command(call.command) if call.command else call.use.label, LONGEST_WHAT)
    names = call.tests.failing if call.tests else ()
    how = call.outcome.line
    if names:
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        how = f"{', '.join(names[:MOST_NAMES])}{more} failed"
    code = f" (exit code {call.outcome.exit_code})" if call.outcome.exit_code else ""
    text = f"`{what}`{code}: {how}" if how else f"`{what}`{code} failed"
    times = f" ({failure.times} times)" if failure.times > 1 else ""
    return Fact(f"{text}{times}", (call.entry,), call.step.number)
