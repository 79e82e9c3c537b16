"""All peers under one replay, beside our own policies and the simple ones.

    python benchmarks/peers/run.py recordings/*.jsonl.gz --budget 16k,32k

Sets up the peers' environments where they are missing or their pins have changed, prints versions and settings,
and calls `holdfast replay` with everything it does not know itself.

Rule: a peer that cannot be set up or started is named with its reason and left out; the others run.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[1]
if str(BENCHMARKS) not in sys.path:
    # Called as a script, Python sees this folder but not the package it is.
    sys.path.insert(0, str(BENCHMARKS))

from holdfast.cli.streams import hint, say, say_error, warn, write  # noqa: E402
from holdfast.errors import HoldfastError, InputError  # noqa: E402
from holdfast.lab.policy import NamedPolicy, Task  # noqa: E402
from holdfast.packing.amounts import parse_tokens  # noqa: E402
from peers.environments import CannotSetUp, install, is_standing  # noqa: E402
from peers.policies import ALL, Fitted, peer_of  # noqa: E402
from peers.process import ProcessPolicy  # noqa: E402

OURS = "everything,newest,mask,clear,cap,draft16k,code"


def main(arguments: Sequence[str]) -> int:
    options, replay = _parser().parse_known_args(arguments)
    try:
        plans = chosen(options.only)
        if options.list:
            write("".join(f"{plan.name}\n    {plan.about}\n" for plan in plans))
            return 0
        if not options.set_up_only and not any(Path(word).exists() for word in replay):
            raise InputError("no recordings are named", hint="python benchmarks/peers/run.py --help")
        budget = parse_tokens(options.budget.split(",")[0])
        ready = [plan for plan in set_up(plans) if is_running(plan, budget)]
    except InputError as error:
        say_error(error.message)
        hint(error.hint)
        return error.exit_code
    if options.set_up_only:
        return 0 if ready == plans else 1
    policies = [*filter(None, options.ours.split(",")), *(f"peers.policies:{plan.name}" for plan in ready)]
    return replayed([*replay, "--budget", options.budget, "--policy", ",".join(policies)])


def chosen(names: str) -> list[NamedPolicy]:
    """The plans named, in the order named; all of them without names."""
    by_name = {plan.name: plan for plan in ALL}
    wanted = [name.strip() for name in names.split(",") if name.strip()] or list(by_name)
    unknown = [name for name in wanted if name not in by_name]
    if unknown:
        raise InputError(f"there is no peer policy `{unknown[0]}`", hint=f"there are {', '.join(by_name)}")
    return [by_name[name] for name in wanted]


def set_up(plans: Iterable[NamedPolicy]) -> list[NamedPolicy]:
    """The plans whose environments stand, made or renewed where their pins ask for it."""
    plans = list(plans)
    standing = {
        peer for peer in dict.fromkeys(map(peer_of, plans)) if is_standing(peer) or install_or_warn(peer)
    }
    return [plan for plan in plans if peer_of(plan) in standing]


def install_or_warn(peer: str) -> bool:
    """Whether an environment could be made; where not, the reason is said."""
    say(f"setting up {peer}")
    try:
        install(peer)
    except CannotSetUp as error:
        warn(f"{peer} is left out, it cannot be set up: {error}")
        return False
    return True


def is_running(plan: NamedPolicy, budget: int) -> bool:
    """Starts the plan once and says its versions and settings at that budget, or why it does not start."""
    policy = plan.start(Task(budget, lambda _: 0))
    assert isinstance(policy, ProcessPolicy | Fitted), "plans of peers are made in policies.py"
    try:
        policy.start()
        say(f"{plan.name}: {policy.about}")
        return True
    except HoldfastError as error:
        warn(f"{plan.name} is left out: {error.message}")
        return False
    finally:
        policy.close()


def replayed(arguments: Sequence[str]) -> int:
    paths = [str(BENCHMARKS), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "holdfast", "replay", *arguments]
    return subprocess.run(command, env=environment, check=False).returncode


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run.py",
        usage="%(prog)s [options] FILES... [options of holdfast replay]",
        description=__doc__.split("Rule:")[0],
        epilog="Everything else goes to `holdfast replay`: --jobs 2, --json, --html out.html, --prices NAME.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--budget", default="16k,32k", help="tokens, such as 16k,32k,64k (default: %(default)s)"
    )
    parser.add_argument(
        "--only", default="", metavar="NAMES", help="these peer policies, separated by commas"
    )
    parser.add_argument(
        "--ours",
        default=OURS,
        metavar="NAMES",
        help="policies of the project beside them (default: %(default)s)",
    )
    parser.add_argument(
        "--list", action="store_true", help="name the peer policies with their settings, and end"
    )
    parser.add_argument("--set-up-only", action="store_true", help="set up and start each peer once, and end")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
