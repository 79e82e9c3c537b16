"""`holdfast tour`: the agent at work in a minute, with a script in place of a model.

Rule: it needs no key and no network, works in a scratch folder, and leaves nothing behind.
"""

import click

from holdfast.agents.coding.headless import HeadlessRequest, RunResult
from holdfast.agents.notices import Notice, Replied, StepBegan
from holdfast.agents.options import AgentOptions
from holdfast.cli.event_output import TextOutput, format_spending
from holdfast.cli.options import common_options
from holdfast.cli.resume import has_screen, open_screen
from holdfast.cli.run import run_agent
from holdfast.cli.streams import say
from holdfast.tour.scratch_repository import scratch_folder
from holdfast.tour.tour_model import PACED, PLAIN

PROMPT = "The total of a cart is wrong by a cent. Find out why, and fix it."

INVITATION = "A tour: type anything and press Enter to begin · Ctrl+D leaves"

EXAMPLES = """\b
Examples:
  holdfast tour
  holdfast tour --plain

\b
On the screen, type anything and press Enter to begin."""


@click.command(epilog=EXAMPLES)
@click.option("--plain", is_flag=True, help="Print lines instead of opening the screen.")
@common_options
@click.pass_context
def command(ctx: click.Context, plain: bool) -> None:
    """Show the agent at work, without a model, a key or the network.

    The loop, the tools, the log and the packing are real, the repository is a scratch one, and the model is a
    script. It takes a minute.
    """
    with scratch_folder() as root:
        place = root.parent / "store.db"
        if has_screen() and not plain:
            options = AgentOptions(root=root, store=place, model=PACED)
            ctx.exit(open_screen(options, is_scratch=True, banner=INVITATION))
        say(f"› {PROMPT}")
        allow = ("Bash(python3 -m unittest)",)
        options = AgentOptions(root=root, store=place, model=PLAIN, mode="edit", allow=allow, title=PROMPT)
        ctx.exit(run_agent(options, HeadlessRequest(PROMPT), TourOutput()))


class TourOutput(TextOutput):
    """The usual lines, and also what the model says between its calls, and how full the window is."""

    def say_spending(self, result: RunResult) -> None:
        """Without the log's id: the log goes with the scratch repository."""
        say(format_spending(result.spent, is_priced=result.is_priced))

    def watch(self, notice: Notice) -> None:
        match notice:
            case StepBegan(tokens=tokens, trigger=trigger, window=window):
                say(f"[{tokens:,} tokens; folds at {trigger:,} of {window:,}, the reply included]")
            case Replied(reply=reply) if reply.calls:
                say(reply.text)
        super().watch(notice)
