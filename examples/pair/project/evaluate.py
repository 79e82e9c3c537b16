"""Evaluates one iteration: runs the component over all cases and says of each failure which layer it belongs to.

A decision that the rules demand and the staff did not take is a fault of the rules (layer 1); one that the rules do
not demand is a fault of the component (layer 2). To run it again gives the same files.
"""

import json
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).parent


def by_rules(rules, order):
    for rule in rules:
        when = rule["when"]
        if "max_days" in when and order["days"] > when["max_days"]:
            continue
        if "min_days" in when and order["days"] < when["min_days"]:
            continue
        if any(order[key] != when[key] for key in ("damaged", "opened") if key in when):
            continue
        return rule["decision"], rule["id"]
    return "none", "-"


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(value, indent=1) + "\n")
    draft.replace(path)


def main(iteration):
    outputs = ROOT / "execution_outputs" / f"iteration_{iteration}"
    rules = json.loads((ROOT / "design" / "rules.json").read_text())
    decide = runpy.run_path(str(ROOT / "components" / "refund.py"))["decide"]
    passed = 0
    cases = json.loads((ROOT / "cases.json").read_text())
    for case in cases:
        name, order, expected = case["sample"], case["order"], case["expected"]
        demanded, rule = by_rules(rules, order)
        try:
            decided, failure = decide(dict(order)), ""
        except Exception as error:
            decided, failure = "crash", f"{type(error).__name__}: {error}"
        passed += decided == expected
        trace = {"sample": name, "order": order, "decided": decided, "by_rules": demanded, "rule": rule}
        write(outputs / "samples" / f"{name}.json", {"sample": name, "order": order, "expected": expected})
        write(outputs / "execution_traces" / f"{name}.json", trace | {"error": failure})
        write(
            outputs / "evaluation_results" / f"{name}.json", {"sample": name, "passed": decided == expected}
        )
        print(f"{'ok    ' if decided == expected else 'FAILED'} {json.dumps(trace)} expected {expected}")
        if decided != expected:
            layer = 1 if decided == demanded else 2
            problem = (
                f"rule {rule} decides {demanded}, the staff {expected}"
                if layer == 1
                else (f"the component decides {decided}, rule {rule} demands {demanded}")
            )
            severity = "critical" if decided == "crash" else "high"
            cause = {"sample": name, "layer": layer, "severity": severity, "problem": problem}
            write(outputs / "attribution_analysis" / f"{name}.json", cause)
    line = f"iteration {iteration}: {passed}/{len(cases)}"
    print(line)
    with (ROOT / "journal.txt").open("a") as journal:
        journal.write(line + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
