"""`holdfast gateway stats`: what the gateway's changes saved, and what they cost.

Rule: an estimate is called one, and what has no price is named, not taken for nothing.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
from msgspec.structs import asdict

from holdfast.cli.inputs import readable_store
from holdfast.cli.streams import note, show_activity, write_json
from holdfast.cli.tables import Cell, Column, identifier, name, number, print_table, wrapped
from holdfast.config import load_config
from holdfast.errors import InputError
from holdfast.gateway.accounting import (
    FEWEST_SESSIONS,
    Arm,
    ComparedArms,
    RequestAccount,
    SessionAccount,
    TrafficSums,
    add_up,
    compare_arms,
    measure_session,
)
from holdfast.gateway.conversations import GATEWAY
from holdfast.log import Log
from holdfast.messages import Json
from holdfast.models.catalogue import load_catalogue, model_lookup
from holdfast.numbers import counted

UNKNOWN = "unknown"
ESTIMATE = "the dollars before are an estimate: what the same requests would have cost unchanged"


def show_stats(ctx: click.Context, logs: Sequence[str], *, by_request: bool, as_json: bool) -> None:
    sessions = _sessions(ctx, logs)
    total, arms = add_up(session.sums for session in sessions), compare_arms(sessions)
    if as_json:
        write_json(
            {
                "sessions": [_session_json(session, by_request=by_request) for session in sessions],
                "total": _sums_json(total),
                "arms": _arms_json(arms),
            }
        )
    elif sessions:
        _show_sessions(sessions, total)
        for session in sessions if by_request else ():
            _show_requests(session)
        if arms:
            _show_arms(arms)
    if not total.requests:
        note("the gateway has recorded no request in this store yet")
        return
    for remark in _remarks(sessions, total, arms):
        note(remark)


def _sessions(ctx: click.Context, logs: Sequence[str]) -> list[SessionAccount]:
    """The sessions of the named logs, or of all that are the gateway's."""
    store = readable_store(ctx)
    lookup = model_lookup(load_catalogue(load_config(cwd=Path.cwd(), env=os.environ)))
    chosen = [Log.open(store, id_) for id_ in dict.fromkeys(logs)]
    if not logs:
        found = [info.head.id for info in store.logs() if info.head.source == GATEWAY]
        chosen = [Log.open(store, id_) for id_ in found]
    sessions: list[SessionAccount] = []
    with show_activity("adding up"):
        for log in chosen:
            session = measure_session(log.entries(), lookup)
            if session is None:
                raise InputError(
                    f"the log `{log.id}` is not one of the gateway's",
                    hint="`holdfast gateway stats` without a log takes all that are",
                )
            sessions.append(session)
    return sessions


def _show_sessions(sessions: Sequence[SessionAccount], total: TrafficSums) -> None:
    print_table(
        [identifier("session"), name("client"), name("model"), name("mode"), number("requests")],
        [(s.log, s.client, ", ".join(s.models), _mode(s), s.sums.requests) for s in sessions],
        title="sessions",
    )
    for title, columns, row in _TABLES:
        # A total below a single session would say the same again.
        rows = [(s.log, *row(s.sums)) for s in sessions]
        more = [("total", *row(total))] if len(sessions) > 1 else []
        print_table([identifier("session"), *columns], [*rows, *more], title=title, totals=len(more))
    if off := [(s.log, s.switched_off) for s in sessions if s.switched_off]:
        print_table([identifier("session"), wrapped("why")], off, title="switched off")


def _show_requests(session: SessionAccount) -> None:
    """The requests of a session, each with what the provider's cache did, and would have done for it unchanged."""
    rows: list[tuple[Cell, ...]] = []
    for place, (request, sums) in enumerate(session.requests, 1):
        now, before = sums.usage, sums.usage_before
        cached = (now.cache_read, before.cache_read, now.cache_write, before.cache_write)
        dollars = [_dollars(d) if sums.priced else UNKNOWN for d in (sums.dollars, sums.dollars_before)]
        rows.append((place, sums.removed, sums.not_sent, *cached, *dollars, _what_happened(request)))
    titles = ("#", "removed", "not sent", "read", "before", "written", "before", "paid", "before")
    columns = [*map(number, titles), wrapped("besides")]
    print_table(columns, rows, title=f"requests of {session.log}")


def _what_happened(request: RequestAccount) -> str:
    said = [
        "" if request.status == 200 else f"HTTP {request.status}" if request.status else "no answer",
        "folded" if request.is_folded else "",
        f"sent once more, {request.retry}" if request.retry else "",
        counted(request.retrievals, "retrieval") if request.retrievals else "",
        "an extra turn" if request.extra_turn else "",
        f"fault: {request.fault}" if request.fault else "",
    ]
    return "; ".join(filter(None, said))


def _mode(session: SessionAccount) -> str:
    if session.is_control:
        return "watch (control)"
    return f"{session.mode} (off)" if session.switched_off else session.mode


def _tokens(sums: TrafficSums) -> tuple[Cell, ...]:
    now, before = sums.usage, sums.usage_before
    cached = (now.cache_read, before.cache_read, now.cache_write, before.cache_write)
    return (sums.removed, sums.not_sent, now.prompt, *cached, now.completion)


def _cost(sums: TrafficSums) -> tuple[Cell, ...]:
    is_known = sums.has_known_cost
    saved = sums.dollars_before - sums.dollars
    share = f"{saved / sums.dollars_before:.1%}" if sums.dollars_before else ""
    known = (sums.dollars, sums.dollars_before, saved)
    dollars = [_dollars(amount) if is_known else UNKNOWN for amount in known]
    return (*dollars, share if is_known else "", sums.unpriced, sums.unreported)


def _price_of_it(sums: TrafficSums) -> tuple[Cell, ...]:
    return sums.folds, sums.retrievals, sums.extra_turns, sums.retries, sums.faults


_TABLES: tuple[tuple[str, list[Column], Callable[[TrafficSums], tuple[Cell, ...]]], ...] = (
    (
        "tokens",
        [*map(number, ("removed", "not sent", "prompt", "read", "before", "written", "before", "output"))],
        _tokens,
    ),
    (
        "dollars",
        [number(title) for title in ("paid", "before, est.", "saved, est.", "", "unpriced", "unreported")],
        _cost,
    ),
    (
        "what it took",
        [number(title) for title in ("folds", "retrievals", "extra turns", "retries", "faults")],
        _price_of_it,
    ),
)


def _show_arms(arms: ComparedArms) -> None:
    rows: list[tuple[str, Callable[[Arm], Cell]]] = [
        ("sessions", lambda arm: arm.sessions),
        ("requests", lambda arm: arm.sums.requests),
        ("requests per session", lambda arm: f"{arm.requests_per_session:.1f}"),
        ("dollars per session", lambda arm: _arm_dollars(arm, arm.dollars_per_session)),
        ("dollars per request", lambda arm: _arm_dollars(arm, arm.dollars_per_request)),
        ("cache-read share", lambda arm: f"{arm.cache_read_share:.1%}"),
        ("extra turns", lambda arm: arm.sums.extra_turns),
        ("requests without a known cost", lambda arm: arm.sums.unpriced + arm.sums.unreported),
    ]
    print_table(
        [name(""), number("control"), number("changed")],
        [(title, of(arms.control), of(arms.changed)) for title, of in rows],
        title="arms",
    )


def _remarks(
    sessions: Sequence[SessionAccount], total: TrafficSums, arms: ComparedArms | None
) -> Iterator[str]:
    if total.failed:
        failed = counted(total.failed, "request")
        yield f"{failed} failed: refused by the provider, or without an answer; they cost nothing"
    if total.priced > total.failed:
        yield ESTIMATE
    if total.unpriced:
        unpriced = counted(total.unpriced, "request")
        yield f"{unpriced} asked a model without a known price, and are in no dollars"
    if total.unreported:
        yield f"of {counted(total.unreported, 'request')} the provider reported no usage; they are in no dollars"
    if arms is None and any(session.mode != "watch" for session in sessions):
        yield "there is no control arm; `--control 10%` leaves some sessions as they are, to compare with"
    elif arms is not None and not arms.are_enough:
        yield (
            f"the arms have {counted(arms.control.sessions, 'session')} and {arms.changed.sessions}: "
            f"too few to compare, which takes {FEWEST_SESSIONS} in each"
        )


def _arm_dollars(arm: Arm, amount: float) -> str:
    return _dollars(amount) if arm.sums.has_known_cost else UNKNOWN


def _dollars(amount: float) -> str:
    return f"{'-' if amount < 0 else ''}${abs(amount):.4f}"


def _session_json(session: SessionAccount, *, by_request: bool) -> dict[str, Json]:
    about = asdict(session)
    requests = about.pop("requests")
    listed = [{**asdict(request), **_sums_json(sums)} for request, sums in requests]
    return {**about, "sums": _sums_json(session.sums), **({"requests": listed} if by_request else {})}


def _sums_json(sums: TrafficSums) -> dict[str, Json]:
    """Dollars are null where the cost of no request is known."""
    unknown = {} if sums.has_known_cost else {"dollars": None, "dollars_before": None}
    used = {"usage": asdict(sums.usage), "usage_before": asdict(sums.usage_before)}
    return {**asdict(sums), **used, **unknown}


def _arms_json(arms: ComparedArms | None) -> Json:
    if arms is None:
        return None
    return {
        "control": _arm_json(arms.control),
        "changed": _arm_json(arms.changed),
        "enough_to_compare": arms.are_enough,
    }


def _arm_json(arm: Arm) -> dict[str, Json]:
    is_known = arm.sums.has_known_cost
    return {
        "sessions": arm.sessions,
        "requests_per_session": arm.requests_per_session,
        "dollars_per_session": arm.dollars_per_session if is_known else None,
        "dollars_per_request": arm.dollars_per_request if is_known else None,
        "cache_read_share": arm.cache_read_share,
        "sums": _sums_json(arm.sums),
    }
