"""Work of the two agents of a pair, of a size that can be chosen, and summaries of it as a model writes them."""

import json
import re

from holdfast.events import AssistantReplied, ToolReturned, UserSaid
from holdfast.messages import Text, ToolCall
from holdfast.models.anthropic_api import AnthropicAdapter
from holdfast.models.model import ModelRequest
from holdfast.models.scripted import ScriptedModel
from holdfast.packing.validator import check
from holdfast.pair.handover import Handover, HandoverProblem, SuccessRate, handover_text
from holdfast.pair.roles import built_in_pair
from holdfast.session import Session

INIT, EXECUTE = built_in_pair().roles
LINE = "the sample was evaluated and its trace says what was compared with what, step by step"
SUMMARIES = {
    "init": {
        "current_design_summary": {
            "unified_scenario_design": "refunds of a shop",
            "business_rules_key_points": ["R4 comes first"],
            "format_specifications": "JSON lists",
        },
        "execute_feedback_summary": {
            "execution_output_dir": "execution_outputs/iteration_12",
            "total_failure_samples": 15,
            "layer1_problems_summary": ["R4 contradicts R7"],
        },
        "analysis_conclusions": ["s05 shows it"],
        "pending_actions": ["change R7"],
        "key_paths": {
            "execution_output_dir": "execution_outputs/iteration_12",
            "layer1_problems_report": "execution_outputs/iteration_12/layer1_problems_report.json",
        },
    },
    "execute": {
        "generated_components": {"tools": ["tool1.py: refunds"], "checkers": [], "samples": "15, of 3 kinds"},
        "evaluation_progress": {
            "current_iteration": 12,
            "success_rate": "12/15 (80%)",
            "layer_status": "layer 3 is done, layer 4 in work",
        },
        "identified_issues": {"layer2_problems": [], "layer3_problems": ["too strict"], "fix_attempts": []},
        "pending_work": ["go on below 85 %"],
        "key_paths": {"execution_output_dir": "execution_outputs/iteration_12"},
    },
}
KEPT = "execution_outputs/iteration_12"
REPORT = f"{KEPT}/layer1_problems_report.json"


def opened(role):
    return Session(profile=role.profile, system=role.prompt, model="anthropic/claude-opus-5-5")


def feedback(role, n):
    problem = HandoverProblem(f"R4 contradicts R7 in round {n}", 1, "high", ("s05", "s11"))
    handover = Handover(
        summary=f"Round {n} was evaluated.",
        asks="Look at tool1.py and s05.",
        problems=(problem,),
        success=SuccessRate(12, 15) if role is INIT else None,
    )
    about = {"execution_output_dir": KEPT, "layer1_problems_report": REPORT}
    name = "execute_to_init_context" if role is INIT else "init_to_execute_context"
    return UserSaid((Text(handover_text(name, handover, about)),), "agent")


def work(role, n, results, lines):
    """A round: what the other said, one step that reads some files, each of so many lines."""
    calls = [
        ToolCall(f"c{n}_{i}", "Read", {"path": f"{KEPT}/execution_traces/s{n}_{i}.json"})
        for i in range(results)
    ]
    yield feedback(role, n)
    yield AssistantReplied((Text(f"I look at the traces of round {n}."), *calls))
    for i, call in enumerate(calls):
        text = "\n".join(f"{k} s{n}_{i} {LINE}" for k in range(lines))
        yield ToolReturned(call.id, "Read", (Text(text),))


def filled(role, rounds, old, newest):
    """A session of so many rounds; the newest ones, which stay, are read at more length: results and lines each."""
    session = opened(role)
    for n in range(rounds):
        session.record(*work(role, n, *(newest if n >= rounds - session.profile.keep else old)))
    return session


def answer(summary, words="I have done this so far."):
    return f"{words}\n<compact_summary>{json.dumps(summary)}</compact_summary>"


def told(role):
    return ScriptedModel(answer(SUMMARIES[role.name]))


def summary_in(packed):
    question, answer = packed.layer("summary").messages
    written = re.fullmatch(r"(?s).*<compact_summary>\s*(\{.*\})\s*</compact_summary>\s*", answer.text)
    assert written, answer.text[:200]
    return question, json.loads(written[1])


def keys_of(value, above=""):
    if not isinstance(value, dict):
        return {above}
    return {key for name, below in value.items() for key in keys_of(below, f"{above}.{name}".strip("."))}


def assert_valid(packed):
    sent = AnthropicAdapter().body("claude", ModelRequest(messages=packed.messages, tools=packed.tools))
    assert check(sent["messages"], "anthropic", system=sent.get("system"), tools=sent.get("tools")) == ()
