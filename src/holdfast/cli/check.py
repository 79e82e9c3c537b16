"""`holdfast check`: the validator on its own.

Rule: it judges what is in the file and repairs nothing; it says what `pack` would repair.
"""

from collections.abc import Iterable

import click
from msgspec import Struct

from holdfast.cli.options import common_options, json_option, recording_options
from holdfast.cli.output import counted, note, printable, write, write_json
from holdfast.cli.progress import tracked
from holdfast.cli.requests import Requested, requests_in
from holdfast.cli.sources import Choice, open_log, path_of
from holdfast.packing.validator import Provider, Violation, explain
from holdfast.views import Repair

BROKEN = 1

EXAMPLES = """\b
Examples:
  holdfast check messages.json
  holdfast check recording.jsonl --provider anthropic
  holdfast check sessions.jsonl.gz --id 2689c0e37d92 --json

\b
Exit code 0 if no rule is broken, 1 if one is."""


class Verdict(Struct, frozen=True):
    """What one provider would say to one recording, and what `pack` would change before it is asked."""

    recording: str
    provider: Provider
    violations: tuple[Violation, ...]
    repairs: list[Repair]
    refusal: str = ""


@click.command(epilog=EXAMPLES)
@recording_options
@click.option(
    "--provider",
    type=click.Choice(["openai", "anthropic", "both"]),
    help="Whose rules; else the file's own provider, else both.",
)
@json_option
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    recording: str,
    id_: str | None,
    format_: str | None,
    chain: str,
    provider: str | None,
    as_json: bool,
) -> None:
    """Check messages against the rules of providers.

    RECORDING is a file, or the id of a log in the store. OpenAI and Anthropic messages are judged as they stand,
    other formats as messages one to one; all recordings of a file unless --id names one.
    """
    requests = _requests(ctx, Choice(recording, id_, format_, chain))
    verdicts: list[Verdict] = []
    notes: dict[str, None] = {}
    with tracked(requests, "checking") as found:
        for request in found:
            verdicts += _verdicts(request, provider)
            notes.update(dict.fromkeys(request.notes))
    if as_json:
        write_json([_as_json(verdict) for verdict in verdicts])
    else:
        _show(verdicts)
    for sentence in notes:
        note(f"import: {sentence}")
    if _tell(verdicts):
        ctx.exit(BROKEN)


def _requests(ctx: click.Context, choice: Choice) -> Iterable[Requested]:
    if choice.file is not None:
        return requests_in(choice.file, choice.id, choice.format, choice.chain)
    log = open_log(ctx, choice)
    return [Requested(log.id, path_of(log.entries(), choice.chain))]


def _verdicts(request: Requested, provider: str | None) -> Iterable[Verdict]:
    repairs = request.repairs()
    for judge in request.providers(provider):
        yield Verdict(request.id, judge, request.violations(judge), repairs, request.refusal)


def _tell(verdicts: list[Verdict]) -> int:
    """Says how many rules are broken, and where; the number."""
    broken = sum(len(verdict.violations) for verdict in verdicts)
    names = " and ".join(dict.fromkeys(verdict.provider for verdict in verdicts))
    checked = counted(len({verdict.recording for verdict in verdicts}), "recording")
    note(f"{counted(broken, 'violation')} in {checked}, by the rules of {names}")
    return broken


def _as_json(verdict: Verdict) -> dict[str, object]:
    violations = [
        {
            "rule": v.rule,
            "index": v.index,
            "message": v.message,
            "id": v.id,
            "explanation": explain(v.rule),
        }
        for v in verdict.violations
    ]
    return {
        "recording": verdict.recording,
        "provider": verdict.provider,
        "violations": violations,
        "repairs": [{"rule": r.rule, "detail": r.detail} for r in verdict.repairs],
        "refusal": verdict.refusal,
    }


def _show(verdicts: list[Verdict]) -> None:
    several = len({verdict.recording for verdict in verdicts}) > 1
    mended: set[str] = set()
    for verdict in verdicts:
        lines = _violation_lines(verdict)
        if verdict.recording not in mended:
            mended.add(verdict.recording)
            lines += _repair_lines(verdict)
        if lines and several:
            write(f"\nrecording {printable(verdict.recording)}\n")
        write("".join(f"{printable(line)}\n" for line in lines))


def _violation_lines(verdict: Verdict) -> list[str]:
    """By rule, each with what it demands."""
    by_rule: dict[str, list[Violation]] = {}
    for violation in verdict.violations:
        by_rule.setdefault(violation.rule, []).append(violation)
    lines: list[str] = []
    for rule, violations in by_rule.items():
        lines.append(f"{rule}: {explain(rule)}")
        for violation in violations:
            where = "request" if violation.index is None else f"message {violation.index}"
            lines.append(f"  {where}: {violation.message}")
    return lines


def _repair_lines(verdict: Verdict) -> list[str]:
    if verdict.refusal:
        return [f"`holdfast pack` cannot read it: {verdict.refusal}"]
    if not verdict.repairs:
        return []
    return ["`holdfast pack` would repair:", *(f"  {r.rule}: {r.detail}" for r in verdict.repairs)]
