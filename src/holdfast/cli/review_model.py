"""The model half of `holdfast review`: a reviewer is asked, and what happens on the way is said on stderr.

Rule: this module is loaded only where a model is asked; a hook that wants the rules alone does without.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator

from holdfast.agents.model_choice import NoModel
from holdfast.agents.options import AgentOptions
from holdfast.agents.outcomes import Ask, Stop
from holdfast.agents.reviewer.review_run import (
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

Tell = Callable[[str], None]


def review_change(
    wish: AgentOptions, change: tuple[str, str | None] | None, request: str, tell: Tell
) -> tuple[ReviewOutcome | None, int]:
    """What a reviewer made of a change, and the exit code; without a change, of the review that is there."""

    def began(opened: OpenedReview) -> None:
        tell("")
        for one in opened.notes:
            warn(one)

    which = ReviewedChange(*change) if change else None
    try:
        done = asyncio.run(run_review(wish, which, request, watch=TextOutput().watch, tell=tell, began=began))
    except NoModel as error:
        tell("")
        say_no_model(error.message, error.found, error.hint)
        return None, error.exit_code
    except ReviewInterrupted as error:
        return None, 128 + error.signal
    return done, _told(done)


def ask_review(wish: AgentOptions, question: str) -> int:
    """Answer what is asked of a review: one question, or one after the other where a person types them."""
    code = 0
    for asked in _questions(question):
        done, code = review_change(wish, None, asked, lambda _: None)
        if done is None or code:
            return code
        write(done.answer.rstrip("\n") + "\n")
    return code


def _questions(given: str) -> Iterator[str]:
    if given.strip() or not sys.stdin.isatty():
        asked = given.strip() or read_piped().strip()
        if not asked:
            raise InputError("nothing is asked", hint='`holdfast review --continue "what about the tests?"`')
        yield asked
        return
    say("ask what you want to know of the review; an empty line ends it")
    while asked := _typed():
        yield asked


def _typed() -> str:
    try:
        return input("> ").strip()
    except (EOFError, KeyboardInterrupt):
        return ""


def _told(done: ReviewOutcome) -> int:
    """Say what the run came to; its exit code, 0 where the reviewer came to an end."""
    code = 0
    match done.end:
        case Stop(reason=reason, sentence=sentence, hint=what_else):
            say_error(f"the reviewer was stopped: {sentence}; the report has what was found until then")
            hint(what_else)
            code = 128 + done.signal if done.signal else EXIT_CODES[reason]
        case Ask(question=question):
            say_error(question)
            code = EXIT_CODES["ask"]
    say(format_spending(done.spent, done.log, is_priced=done.is_priced))
    return code
