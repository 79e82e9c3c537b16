"""Judges a script as it would run, command by command, and finds the scripts and programs nested in it.

Rule: every command, substitution and redirection is judged, whether or not it would be reached.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from holdfast.tools.commands.fields import (
    EVEN,
    FETCHED,
    QUIET,
    WILD,
    Prints,
    Values,
    cases,
    expand,
    expand_text,
    is_kept,
    is_known,
    is_name,
    is_plain,
)
from holdfast.tools.commands.flow import (
    NOTHING,
    PipeInput,
    ScriptOutcome,
    ScriptState,
    merged,
    merged_outcomes,
    name_of,
    names_behind,
    names_printed,
    same,
)
from holdfast.tools.commands.inspection import Inspection, judge_sum, judge_variable, shown
from holdfast.tools.commands.syntax import (
    Assignment,
    Branch,
    Command,
    Function,
    Loop,
    Parameter,
    Pipeline,
    Redirect,
    ShellGroup,
    ShellScript,
    ShellTest,
    ShellWord,
    Simple,
    Substitution,
    Sum,
)

_MOVES = frozenset({"cd", "pushd", "popd"})


def scripts_of(word: ShellWord) -> Iterator[ShellScript]:
    """Scripts in a word; those inside them are theirs."""
    for piece in word.pieces:
        match piece:
            case Substitution(script):
                yield script
            case Parameter() | Sum():
                for inner in piece.inner:
                    yield from scripts_of(inner)
            case _:
                pass


def sums_of(word: ShellWord) -> Iterator[tuple[str, ...]]:
    for piece in word.pieces:
        if isinstance(piece, Sum):
            yield piece.names
        elif isinstance(piece, Parameter):
            for inner in piece.inner:
                yield from sums_of(inner)


def words_of(command: Command) -> Iterator[str]:
    """All plain words of a command and of everything in it."""
    match command:
        case Simple():
            words: list[ShellWord] = [*command.words, *(redirect.target for redirect in command.redirects)]
            for assignment in command.assignments:
                words += assignment.items if assignment.value is None else (assignment.value,)
            yield from _plain(words)
        case ShellGroup(body):
            yield from _in_script(body)
        case Branch(scripts, found) | Loop(scripts, _, found):
            yield from _plain(found or ())
            for script in scripts:
                yield from _in_script(script)
        case Function(_, body):
            yield from words_of(body)
        case ShellTest(found):
            yield from _plain(found)


def _plain(words: Iterable[ShellWord]) -> Iterator[str]:
    for word in words:
        if word.literal is not None:
            yield word.literal
        for script in scripts_of(word):
            yield from _in_script(script)


def _in_script(script: ShellScript) -> Iterator[str]:
    for pipeline, _ in script.steps:
        for command in pipeline.commands:
            yield from words_of(command)


def programs_of(command: Command) -> frozenset[str]:
    return frozenset(name_of(word) for word in words_of(command))


def does_name(what: ShellScript | Command, programs: frozenset[str]) -> bool:
    """Whether anything in it is one of these programs, judged by its words."""
    words = _in_script(what) if isinstance(what, ShellScript) else words_of(what)
    return any(name_of(part) in programs for word in words for part in word.split())


def moves(scripts: Iterable[ShellScript]) -> bool:
    """Whether a script may leave its shell in another folder. What is evaluated counts by its words; where they are
    not known it is asked about already."""
    return any(part in _MOVES for script in scripts for word in _in_script(script) for part in word.split())


# Walks through a script as it would run, and judges each of its commands where it stands.
#
# Rule: every command, substitution and redirection that is in a script is judged, whether or not it would be
# reached.

MOST_ITEMS = 8
_ARITHMETIC = frozenset("-eq -ne -lt -le -gt -ge -v -R".split())


def judge_script(inspection: Inspection, script: ShellScript, state: ScriptState) -> ScriptOutcome:
    """Judges a script from a state on. Each pipeline is judged in every state that may lead to it."""
    before, chain, last = ";", state, same(state)
    for pipeline, connector in script.steps:
        match before:
            case "&&":
                outcome = _judge_pipeline(inspection, pipeline, last.ok)
                last = ScriptOutcome(outcome.ok, merged(last.failed, outcome.failed))
            case "||":
                outcome = _judge_pipeline(inspection, pipeline, last.failed)
                last = ScriptOutcome(merged(last.ok, outcome.ok), outcome.failed)
            case _:
                chain = last.either
                last = _judge_pipeline(inspection, pipeline, chain)
        if connector == "&":
            # The whole chain of `&&` and `||` runs in a shell of its own.
            last = same(chain)
        before = connector
    return last


def _judge_pipeline(inspection: Inspection, pipeline: Pipeline, state: ScriptState) -> ScriptOutcome:
    if len(pipeline.commands) == 1:
        outcome = _judge_command(inspection, pipeline.commands[0], state)
        return ScriptOutcome(outcome.failed, outcome.ok) if pipeline.is_negated else outcome
    feed, is_fetched = state.feed, bool(state.feed and state.feed.is_fetched)
    for command in pipeline.commands:
        _judge_command(inspection, command, replace(state, feed=feed))
        is_fetched = is_fetched or does_name(command, inspection.rules.fetchers)
        names = names_behind(command, feed.names if feed else None, inspection.rules)
        feed = PipeInput(_printed(command), is_fetched, None if is_fetched else names, state.folders)
    return same(state)


def _printed(command: Command) -> str | None:
    """What a command surely prints: `echo` of plain words, `cat` of a here-document."""
    if not isinstance(command, Simple) or command.assignments:
        return None
    words = [word.literal for word in command.words]
    redirects = command.redirects
    if words == ["cat"] and len(redirects) == 1 and redirects[0].operator in ("<<", "<<<"):
        return redirects[0].target.literal
    if words[:1] != ["echo"] or redirects or len(words) < 2:
        return None
    texts = expand(command.words[1:], NOTHING, QUIET)
    # Shells disagree on what `echo` makes of a backslash.
    plain = all(is_plain(text) and "\\" not in text for text in texts) and not texts[0].startswith("-")
    return " ".join(texts) if plain else None


def _judge_command(inspection: Inspection, command: Command, state: ScriptState) -> ScriptOutcome:
    match command:
        case Simple():
            return _judge_simple(inspection, command, state)
        case ShellGroup(body, is_subshell):
            outcome = judge_script(inspection, body, _redirected(inspection, command.redirects, state))
            kept = ScriptOutcome(
                replace(outcome.ok, feed=state.feed), replace(outcome.failed, feed=state.feed)
            )
            return same(state) if is_subshell else kept
        case Branch() | Loop():
            return _judge_compound(inspection, command, state)
        case Function():
            return _judge_function(inspection, command, state)
        case ShellTest():
            _redirected(inspection, command.redirects, state)
            _judge_words(inspection, command.words, state, command.raw)
            judge_sum(inspection, command.names, state, command.raw)
            texts = [word.literal for word in command.words]
            if any(text in _ARITHMETIC for text in texts) and not all(map(_is_harmless, texts)):
                inspection.add("ask", "this test evaluates what a variable holds", command.raw, "[[")
            return same(state.without(*command.names))


def _is_harmless(text: str | None) -> bool:
    return text is not None and "[" not in text and text not in ("-v", "-R")


def _judge_compound(inspection: Inspection, command: Branch | Loop, state: ScriptState) -> ScriptOutcome:
    """Any of its scripts may run, those of a loop again and again."""
    inside = _redirected(inspection, command.redirects, state)
    if isinstance(command, Loop) and moves(command.scripts):
        inside = replace(inside, folders=None, previous=None)
    if isinstance(command, Branch):
        _judge_words(inspection, command.words, state, command.words[0].raw if command.words else "if")
    else:
        _judge_words(inspection, command.items or (), state, command.name)
        inside = replace(inside, values=NOTHING)
        if command.name:
            judge_variable(inspection, command.name, f"for {command.name}", is_exported=False)
            inside = replace(inside, values=_items(inspection, command, state))
    behind = inside
    for number, script in enumerate(command.scripts):
        outcome = judge_script(inspection, script, inside)
        behind = merged(behind, outcome.either)
        inside = merged(inside, behind)
        if isinstance(command, Loop) and not command.name and not number:
            # Nothing is known of variables before a loop's condition, so what it sets holds in each round.
            inside = replace(inside, values=(outcome.failed if command.is_until else outcome.ok).values)
    # A loop can be left in its middle, so what its variables are behind it is not known.
    values = behind.values if isinstance(command, Branch) else NOTHING
    return same(replace(behind, feed=state.feed, values=values))


def _items(inspection: Inspection, loop: Loop, state: ScriptState) -> dict[str, frozenset[str]]:
    """What the variable of a loop may be, where that is known."""
    if loop.items is None:
        return NOTHING
    fields = frozenset(
        field
        for case in cases(loop.items, state.values)
        for field in expand(loop.items, case, _prints(inspection, state))
    )
    if not fields or len(fields) > MOST_ITEMS or not all(map(is_name, fields)):
        return NOTHING
    return {loop.name: frozenset(_even(inspection, field, state) for field in fields)}


def _even(inspection: Inspection, field: str, state: ScriptState) -> str:
    """A pattern whose names are words, so that they stay whole without quotes; else as it is."""
    even = field.replace(WILD, EVEN)
    return even if inspection.is_sure(even, state.folders) else field


def _judge_function(inspection: Inspection, command: Function, state: ScriptState) -> ScriptOutcome:
    """A body is judged as if called from anywhere. One that calls itself may never end."""
    part = command.raw
    if command.name in inspection.rules.specs or command.name in inspection.rules.deeper:
        inspection.add("ask", f"a function takes the place of `{command.name}`", part, command.name)
    if command.name in programs_of(command.body):
        bomb = "|" in part or "&" in part
        inspection.add(
            "deny" if bomb else "ask", f"`{command.name}` calls itself without end", part, command.name
        )
    named = replace(state, functions=state.functions | {command.name})
    _judge_command(inspection, command.body, replace(named.lost(), feed=None))
    return same(named)


def _judge_simple(inspection: Inspection, command: Simple, state: ScriptState) -> ScriptOutcome:
    part = shown(command.raw)
    state_in = _redirected(inspection, command.redirects, state, part)
    _judge_words(inspection, command.words, state, part)
    for assignment in command.assignments:
        words = assignment.items if assignment.value is None else (assignment.value,)
        _judge_words(inspection, words, state, part)
        _judge_assignment(inspection, assignment, command, part)
        state_in = state_in.without(assignment.name) if command.words else state_in
    if not command.words:
        return same(_assigned(inspection, command.assignments, state))
    outcomes = []
    for case in cases(command.words, state.values):
        fields = expand(command.words, case, _prints(inspection, state))
        # Words that vanish would leave the next one as the command.
        outcomes.append(inspection.run_fields(inspection, fields or [""], state_in, part))
    outcome = merged_outcomes(outcomes)
    return ScriptOutcome(replace(outcome.ok, feed=state.feed), replace(outcome.failed, feed=state.feed))


def _judge_assignment(inspection: Inspection, assignment: Assignment, command: Simple, part: str) -> None:
    if assignment.name == "IFS" and command.words and command.words[0].literal == "read":
        return
    judge_variable(inspection, assignment.name, part, is_exported=bool(command.words))


def _assigned(inspection: Inspection, assignments: Sequence[Assignment], state: ScriptState) -> ScriptState:
    for assignment in assignments:
        state = state.without(assignment.name)
        if assignment.value is None:
            continue
        texts = {
            expand_text(assignment.value, case, _prints(inspection, state))
            for case in _cases(assignment, state)
        }
        if all(map(is_kept, texts)):
            state = replace(state, values={**state.values, assignment.name: frozenset(texts)})
    return state


def _cases(assignment: Assignment, state: ScriptState) -> Iterator[Values]:
    assert assignment.value is not None
    return cases([assignment.value], state.values)


def _judge_words(inspection: Inspection, words: Sequence[ShellWord], state: ScriptState, part: str) -> None:
    """The scripts inside words, which run in shells of their own, and their arithmetic."""
    for word in words:
        for script in scripts_of(word):
            judge_script(inspection, script, replace(state, feed=None))
        for names in sums_of(word):
            judge_sum(inspection, names, state, part)


def _redirected(
    inspection: Inspection, redirects: Sequence[Redirect], state: ScriptState, part: str = ""
) -> ScriptState:
    """Judges redirections; the state with what comes in by them."""
    for redirect in redirects:
        target, operator = redirect.target, redirect.operator
        where = part or shown(f"{operator} {target.raw}")
        _judge_words(inspection, [target], state, where)
        if operator in ("<<", "<<<"):
            text = expand_text(target, NOTHING, _prints(inspection, state))
            state = replace(state, feed=PipeInput(text if is_known(text) else None, FETCHED in text))
            continue
        for case in cases([target], state.values):
            for path in expand([target], case, _prints(inspection, state)):
                _judge_redirect(inspection, operator, path, state, where)
        if operator == "<":
            fetched = any(FETCHED in path for path in expand([target], NOTHING, _prints(inspection, state)))
            state = replace(state, feed=PipeInput(is_fetched=fetched))
    return state


def _judge_redirect(inspection: Inspection, operator: str, path: str, state: ScriptState, part: str) -> None:
    if operator in (">&", "<&") and (path.rstrip("-").isdigit() or path == "-"):
        return
    if operator in ("<", "<&", "<>"):
        inspection.touch("read", path, state.folders, part)
    if operator not in ("<", "<&"):
        inspection.touch("write", path, state.folders, part)


def _prints(inspection: Inspection, state: ScriptState) -> Prints:
    fetchers = inspection.rules.fetchers
    return Prints(
        lambda script: does_name(script, fetchers), lambda script: _names_in(script, inspection, state)
    )


def _names_in(script: ShellScript, inspection: Inspection, state: ScriptState) -> str:
    """The field that each word of a script's output is like, where they are names of files."""
    if len(script.steps) != 1:
        return ""
    names = names_printed(script.steps[0][0], inspection.rules)
    field = names.word(is_split=True) if names and not names.is_null else ""
    return field if field and inspection.is_sure(field, state.folders) else ""
