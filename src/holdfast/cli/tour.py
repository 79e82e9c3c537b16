"""`holdfast tour`: the agent at work in a minute, with a script in place of a model.

Rule: it needs no key and no network, works in a scratch folder, and leaves nothing behind.
"""

import click

from holdfast.agents.coding.wish import Wish
from holdfast.agents.headless import Errand
from holdfast.agents.notices import Notice, Replied, StepBegan
from holdfast.agents.tour.model import PACED, PLAIN
from holdfast.agents.tour.scratch import scratch_folder
from holdfast.cli.happenings import Words
from holdfast.cli.options import common_options
from holdfast.cli.output import grouped, say
from holdfast.cli.run import carry_out
from holdfast.cli.screen import has_screen, open_screen

PROMPT = "The total of a cart is wrong by a cent. Find out why, and mend it."

INVITATION = "A tour: type anything and press Enter to begin · Ctrl+D leaves"

EXAMPLES = """\b
Examples:
  holdfast tour
  holdfast tour --plain

\b
On the screen, type anything and press Enter to begin."""


@click.command(epilog=EXAMPLES)
@click.option("--plain", is_flag=True, help="Print what happens, also on a terminal.")
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
            wish = Wish(root=root, store=place, model=PACED)
            ctx.exit(open_screen(wish, is_scratch=True, banner=INVITATION))
        say(f"› {PROMPT}")
        wish = Wish(
            root=root,
            store=place,
            model=PLAIN,
            mode="edit",
            allow=("Bash(python3 -m unittest)",),
            title=PROMPT,
        )
        ctx.exit(carry_out(wish, Errand(PROMPT), Guide()))


class Guide(Words):
    """As in any run, and also what the model says between its calls, and how full the window is."""

    def watch(self, notice: Notice) -> None:
        match notice:
            case StepBegan(tokens=tokens, trigger=trigger, window=window):
                room = f"{grouped(tokens)} tokens, folds at {grouped(trigger)} of {grouped(window)}"
                say(f"[{room}]")
            case Replied(reply=reply) if reply.calls:
                say(reply.text)
        super().watch(notice)
