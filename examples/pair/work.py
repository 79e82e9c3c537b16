"""The work of the example: what Init designs, what Execute builds, and what each hands over."""

import json

from script import Say, evaluates, hands_over, reads, writes

RULES_JSON, RULES_MD, COMPONENT = "design/rules.json", "design/rules.md", "components/refund.py"
DESIGN = [RULES_JSON, RULES_MD]
DESIGN_FILES = [
    {"path": RULES_JSON, "about": "the rules in the order in which they are tried"},
    {
        "path": RULES_MD,
        "about": "why each is as it is, with an example that keeps it and one that breaks it",
    },
    {"path": "cases.json", "about": "fifteen orders with what the staff decided"},
]

EVALUATION = {
    "command": "python3 evaluate.py {iteration}",
    "inputs": ["evaluate.py", "cases.json"],
    "result": '`{"sample": "s01", "passed": true}` in `evaluation_results`, and what was decided in the trace',
}
"""How the work is measured; a person approves it with the design."""

UNOPENED = {"id": "R1", "when": {"max_days": 30, "opened": False}, "decision": "refund"}
OPENED = {"id": "R2", "when": {"max_days": 30, "opened": True}, "decision": "half"}
LATE = {"id": "R3", "when": {"min_days": 31}, "decision": "none"}
DAMAGED = {"id": "R4", "when": {"damaged": True}, "decision": "refund"}

FIRST_REASONS = """\
# Rules for refunds

- R1: what comes back unopened within 30 days is refunded. Keeps it: day 3, unopened. Breaks it: a half on day 3.
- R2: what was opened is refunded by half within 30 days. Keeps it: day 12, opened. Breaks it: a refund on day 12.
- R3: after 30 days there is nothing. Keeps it: day 31, nothing. Breaks it: a refund on day 200.
"""
SECOND_REASONS = (
    FIRST_REASONS
    + """\
- R4: what arrived damaged is refunded, opened or not, also after the 30 days of R3. It is tried first: Ana's
  notes put it above the time limit. Keeps it: day 90, damaged, refund. Breaks it: day 44, damaged, nothing.
"""
)

COMPONENT_TEXT = '''\
"""Decides on refunds by the rules of design/rules.json."""


def decide(order):
{body}
    return "none"  # R3, iteration {iteration}
'''
FIRST_BODY = """\
    if order["days"] < 30 and not order["opened"]:
        return "refund"
    if order["days"] < 30 and order["opened"]:
        return "half\""""
SECOND_BODY = (
    """\
    if order["damaged"]:
        return "refund"
"""
    + FIRST_BODY
)
THIRD_BODY = SECOND_BODY.replace("< 30", "<= 30")


def rules(*given: dict) -> str:
    return "[\n" + ",\n".join(f" {json.dumps(rule)}" for rule in given) + "\n]\n"


def outputs(iteration: int, *traces: str) -> list[dict]:
    folder = f"execution_outputs/iteration_{iteration}"
    return [
        {"path": f"{folder}/evaluation_results", "about": "one file for each of the fifteen samples"},
        {"path": f"{folder}/attribution_analysis", "about": "layer, severity and cause of each failure"},
        *(
            {"path": f"{folder}/execution_traces/{name}.json", "about": "shows the problem"}
            for name in traces
        ),
        {"path": COMPONENT, "about": "the component as it was evaluated"},
    ]


def designed(words: str, reasons: str, *given: dict) -> tuple[Say, Say]:
    return (
        writes(words, RULES_JSON, rules(*given)),
        writes("Why they are as they are.", RULES_MD, reasons),
    )


def built(words: str, body: str, iteration: int) -> Say:
    return writes(words, COMPONENT, COMPONENT_TEXT.format(body=body, iteration=iteration))


HANDED_DESIGN = {
    "summary": "Three rules decide on refunds: R1 for what was not opened, R2 for what was, R3 for what "
    "comes late. "
    "They follow the notes of Ben and Cleo, which agree on thirty days and on half for opened goods. The "
    "notes of Ana "
    "are about damaged goods and are not covered by a rule of their own yet.",
    "asks": "Build `components/refund.py` with `decide(order)` from the rules, evaluate iteration 1 over "
    "all fifteen "
    "cases, and say of every failure which layer it belongs to. Look closely at orders on the thirtieth day.",
    "verdict": "return",
    "design": DESIGN,
    "evaluation": EVALUATION,
    "turn_budget": {"steps": 40},
    "counts": {"rules": 3, "cases": 15},
}

INIT = (
    (
        reads("I read the cases first.", "cases.json"),
        reads("Then what Ben says.", "notes/ben.md"),
        reads("And Cleo.", "notes/cleo.md"),
        *designed("The rules.", FIRST_REASONS, UNOPENED, OPENED, LATE),
        # Refused, because there is no such file: the agent reads why, and corrects itself.
        hands_over("I hand over.", **HANDED_DESIGN, files=[*DESIGN_FILES, {"path": "design/formats.md"}]),
        hands_over("Without the file that I did not write.", **HANDED_DESIGN, files=DESIGN_FILES),
    ),
    (
        reads("The report on layer 1.", "execution_outputs/iteration_1/layer1_problems_report.json"),
        reads("One trace of it.", "execution_outputs/iteration_1/execution_traces/s05.json"),
        reads("What Ana says about damage.", "notes/ana.md"),
        reads("The rules as they are.", RULES_JSON),
        reads("And their reasons.", RULES_MD),
        *designed("Damage comes first.", SECOND_REASONS, DAMAGED, UNOPENED, OPENED, LATE),
        hands_over(
            "The design is changed.",
            summary="The report is right: no rule covered damaged goods, so that R3 denied refunds after "
            "thirty days "
            "which the staff always gave. R4 is new and is tried first: what arrived damaged is refunded, "
            "opened or "
            "not, however late. R1, R2 and R3 did not change. Samples s05, s06, s11 and s14 show it, and "
            "s10 for "
            "goods that were opened.",
            asks="Build the component again with R4 first, and evaluate iteration 2 over all cases; run "
            "s05, s06, s10, "
            "s11 and s14 first. The failures on the thirtieth day are of layer 2, and yours: R1 and R2 "
            "say 30 days, "
            "and 30 is within them.",
            verdict="return",
            files=DESIGN_FILES,
            design=DESIGN,
            evaluation=EVALUATION,
            turn_budget={"steps": 40},
            counts={"rules": 4, "changed": 1},
        ),
    ),
)

EXECUTE = (
    (
        reads("The rules.", RULES_JSON),
        reads("Their reasons.", RULES_MD),
        reads("The cases.", "cases.json"),
        reads("What Ben says, for samples at the edge.", "notes/ben.md"),
        reads("And Cleo.", "notes/cleo.md"),
        built("The component.", FIRST_BODY, 1),
        evaluates(1, "7/15"),
        reads("Why does s05 fail?", "execution_outputs/iteration_1/attribution_analysis/s05.json"),
        hands_over(
            "There is a problem of layer 1.",
            summary="The component follows R1 to R3. Seven of fifteen samples pass. Five fail because no "
            "rule covers "
            "damaged goods: the staff refunded them, also late. Three fail because the component ends one "
            "day too "
            "early, on the thirtieth.",
            asks="Say in the design what holds for damaged goods, and whether it holds after thirty days "
            "too. The "
            "thirtieth day I repair myself.",
            verdict="return",
            files=outputs(1, "s05", "s11"),
            success={"passed": 7, "total": 15},
            counts={"samples": 15, "layer_1": 5, "layer_2": 3},
            problems=[
                {
                    "summary": "no rule covers damaged goods: R2 and R3 decide where the staff refund",
                    "layer": 1,
                    "severity": "high",
                    "samples": ["s05", "s06", "s10", "s11", "s14"],
                },
                {
                    "summary": "the component ends a day too early",
                    "layer": 2,
                    "severity": "high",
                    "samples": ["s03", "s08", "s12"],
                },
            ],
        ),
    ),
    (
        reads("The changed rules.", RULES_JSON),
        reads("What Ana says about damage.", "notes/ana.md"),
        reads("The component as it is.", COMPONENT),
        built("R4 first.", SECOND_BODY, 2),
        evaluates(2, "12/15"),
        reads("What is left?", "execution_outputs/iteration_2/attribution_analysis/s03.json"),
        hands_over(
            "Nothing of layer 1 is left.",
            summary="With R4 twelve of fifteen samples pass, and all five that the design was about. What "
            "is left are "
            "the three orders on the thirtieth day: the component compares with less than 30 where R1 and "
            "R2 say up "
            "to 30. It is of layer 2 and mine.",
            asks="Nothing of Init. I repair the comparison in the next iteration and evaluate all samples "
            "again, so "
            "that nothing that passes now is lost by it.",
            verdict="continue",
            files=outputs(2, "s03"),
            success={"passed": 12, "total": 15},
            counts={"samples": 15, "layer_2": 3},
            problems=[
                {
                    "summary": "the component ends a day too early",
                    "layer": 2,
                    "severity": "high",
                    "samples": ["s03", "s08", "s12"],
                }
            ],
        ),
    ),
    (
        reads("The component as it is.", COMPONENT),
        built("Up to and with the thirtieth day.", THIRD_BODY, 3),
        evaluates(3, "15/15"),
        hands_over(
            "All pass.",
            summary="With the thirtieth day included all fifteen samples pass, those of the iterations "
            "before among "
            "them. The component follows R4, R1, R2 and R3 in this order, as the design has it, and falls "
            "back to "
            "none. The design was not touched by me in any of the three iterations.",
            asks="Nothing. The target was 85%, and every case comes out as the staff decided it. The "
            "results of all "
            "three iterations stay where they are, for whoever wants to compare them.",
            verdict="stop",
            files=outputs(3),
            success={"passed": 15, "total": 15},
            counts={"samples": 15},
        ),
    ),
)

INIT_SUMMARY = {
    "current_design_summary": {
        "unified_scenario_design": "rules for refunds in design/rules.json, reasons in design/rules.md",
        "business_rules_key_points": [
            "R1 unopened within 30 days: refund",
            "R2 opened: half",
            "R3 late: none",
        ],
        "format_specifications": "a list of id, when, decision",
    },
    "execute_feedback_summary": {
        "execution_output_dir": "execution_outputs/iteration_1",
        "total_failure_samples": 8,
        "layer1_problems_summary": ["no rule covers damaged goods"],
    },
    "analysis_conclusions": ["the notes of Ben and Cleo agree on thirty days"],
    "pending_actions": ["see what Ana says about damaged goods"],
    "key_paths": {
        "execution_output_dir": "execution_outputs/iteration_1",
        "layer1_problems_report": "execution_outputs/iteration_1/layer1_problems_report.json",
    },
}
EXECUTE_SUMMARY = {
    "generated_components": {
        "tools": ["components/refund.py: decides on refunds"],
        "checkers": [],
        "samples": "fifteen, from cases.json",
    },
    "evaluation_progress": {
        "current_iteration": 2,
        "success_rate": "7/15 (47%)",
        "layer_status": "layer 1 is reported, layer 2 in work",
    },
    "identified_issues": {
        "layer2_problems": ["the component ends a day too early"],
        "layer3_problems": [],
        "fix_attempts": [],
    },
    "pending_work": ["repair the thirtieth day", "below 85% go on; return only for problems of layer 1"],
    "key_paths": {"execution_output_dir": "execution_outputs/iteration_1"},
}

STAFF = {
    "ana": "damaged goods are refunded, whatever the date says",
    "ben": "thirty days, and the thirtieth counts",
    "cleo": "half for what was opened, nothing when it is late",
}


def notes_of(name: str, lines: int = 34) -> str:
    """What one of the staff says, at length: enough of it to fill a small window."""
    told = [f"# What {name.title()} says", ""]
    for day in range(1, lines + 1):
        amount = 300 + 37 * day % 900
        told.append(
            f"- day {day}, order {1000 + 7 * day}: a customer asked for {amount} cents back; we talked "
            "about it, "
            f"looked at the parcel, and I decided as always: {STAFF[name]}."
        )
    return "\n".join(told) + "\n"
