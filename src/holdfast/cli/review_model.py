"""The model half of `holdfast review`: a model reviews, and its progress goes to stderr.

Rule: this module is loaded only where a model is asked; a hook that needs only the rules does without it.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

from holdfast.agents.model_choice import NoModel
from holdfast.agents.notices import Notice
from holdfast.agents.options import AgentOptions
from holdfast.agents.outcomes import Ask, Stop
from holdfast.agents.reviewer.review_session import (
    OpenedReview,
    ReviewedChange,
    ReviewInterrupted,
    ReviewOutcome,
    run_review,
)
from holdfast.cli.event_output import TextOutput, format_spending, say_no_model
from holdfast.cli.exits import EXIT_CODES
from holdfast.cli.streams import hint, read_piped, say, say_error, warn, write
from holdfast.errors import InputError


def review_change(
    options: AgentOptions,
    change: tuple[str, str | None, str] | None,
    request: str,
    tell: Callable[[str], None],
    *,
    is_quiet: bool = False,
    linters: str = "",
) -> tuple[ReviewOutcome | None, int]:
    """Let a model review a change, or answer about the stored review if there is no change; and the exit code."""

    def began(opened: OpenedReview) -> None:
        tell("")
        for one in opened.notes if not is_quiet else ():
            warn(one)

    def watch(notice: Notice) -> None:
        if not is_quiet:
            output.watch(notice)

    output = TextOutput()
    which = ReviewedChange(change[0], change[1], about=change[2]) if change else None
    try:
        running = run_review(options, which, request, watch=watch, tell=tell, began=began, linters=linters)
        done = asyncio.run(running)
    except NoModel as error:
        tell("")
        say_no_model(error.message, error.found, error.hint)
        return None, error.exit_code
    except ReviewInterrupted as error:
        return None, 128 + error.signal
    return done, _say_end(done, is_quiet=is_quiet)


def ask_review(options: AgentOptions, question: str) -> int:
    """Answer one question about a review, or one after the other where a person types them."""
    code = 0
    for asked in _questions(question):
        done, code = review_change(options, None, asked, lambda _: None)
        if done is None or code:
            return code
        write(done.answer.rstrip("\n") + "\n")
    return code


def _questions(given: str) -> Iterator[str]:
    if given.strip() or not sys.stdin.isatty():
        asked = given.strip() or read_piped().strip()
        if not asked:
            raise InputError(
                "there is no question", hint='ask like `holdfast review --continue "what about the tests?"`'
            )
        yield asked
        return
    say("ask about the review; an empty line ends it")
    with suppress(EOFError, KeyboardInterrupt):
        while asked := input("> ").strip():
            yield asked


def _say_end(done: ReviewOutcome, *, is_quiet: bool) -> int:
    """Say how the run ended; its exit code, 0 where the reviewer finished."""
    code = 0
    match done.end:
        case Stop(reason=reason, sentence=sentence, hint=tip):
            say_error(f"the reviewer was stopped: {sentence}; the report has what was found before")
            hint(tip)
            code = 128 + done.signal if done.signal else EXIT_CODES[reason]
        case Ask(question=question):
            say_error(question)
            code = EXIT_CODES["ask"]
    if code or not is_quiet:
        say(format_spending(done.spent, done.log, is_priced=done.is_priced))
    return code
