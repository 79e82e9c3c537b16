"""Pair files that cannot be right: each is a sentence with a hint before anything begins, and never a crash."""

from pathlib import Path

import pytest

from holdfast.errors import ConfigError, InputError
from holdfast.pair.roles import load_pair, parse_pair
from holdfast.pair.stop_rules import LayerLimits
from support.pair_runs import BOTH, PLANNER_WORKER

PLANS = 'prompt = "You plan."'


def written(folder, text):
    path = folder / "pair.toml"
    path.write_text(text)
    return path


def refused(folder, text):
    with pytest.raises(ConfigError) as error:
        load_pair(written(folder, text))
    assert "pair.toml" in error.value.message
    assert error.value.hint
    return error.value.message


@pytest.mark.parametrize(
    "line",
    [
        "target = 85",
        "target = -1",
        "target = 0",
        "target = nan",
        "target = inf",
        "gain = 2",
        "gain_iterations = -5",
        "swings = -2",
        "swing = nan",
        "most_critical = -1",
        "critical_iterations = -1",
        "layer_soft = -1",
        "layer_hard = 99999999999999999999",
        "max_iterations = -1",
        "turn_steps = -1",
        "max_cost = -1",
        "max_cost = nan",
        "max_cost = inf",
        "layers.1.soft = -1",
    ],
)
def test_values_of_stop_rules_have_bounds(tmp_path, line):
    name = line.partition(" ")[0].split(".")[0]
    message = refused(tmp_path, f"{BOTH}\n[stop]\n{line}\n")
    assert f"stop.{name}" in message or f"`{name}`" in message


@pytest.mark.parametrize(
    ("stop", "named"),
    [
        ("[stop]\nlayer_soft = 9\nlayer_hard = 2", "`layer_soft` is 9, above `layer_hard`"),
        ("[stop.layers.1]\nsoft = 5\nhard = 4", "`soft` of layer 1 is 5, above `hard`, which is 4"),
        ("[stop.layers.design]\nsoft = 1", "there is no layer `design`"),
        ("[stop.layers.1]\nsofter = 1", "unknown field `softer`"),
    ],
    ids=["soft_above_hard", "of_one_layer", "no_layer", "no_limit"],
)
def test_limits_of_layers_that_contradict_each_other(tmp_path, stop, named):
    assert named in refused(tmp_path, f"{BOTH}\n{stop}\n")


def test_limits_of_single_layers(tmp_path):
    text = f"{BOTH}\n[stop]\nlayer_soft = 4\n\n[stop.layers.1]\nsoft = 2\nhard = 4\n\n[stop.layers.3]\nhard = 0\n"
    rules = load_pair(written(tmp_path, text)).stop
    assert [(rules.soft(layer), rules.hard(layer)) for layer in (1, 2, 3)] == [(2, 4), (4, 6), (4, 0)]


def test_the_pair_of_the_document_has_limits_of_a_layer():
    text = (Path(__file__).parents[2] / "docs" / "pair.md").read_text("utf-8")
    block = text.partition("```toml\n")[2].partition("```")[0]
    rules = parse_pair(block, "docs/pair.md", lambda _: "You test.").stop
    assert rules.layers
    for field in LayerLimits.__struct_fields__:
        assert f"`{field}`" in text


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (PLANS, 'prompt_file = "a\\u0000b"', "cannot be read"),
        (PLANS, 'prompt_file = "."', "the prompt `.` cannot be read: Is a directory"),
        (PLANS, "prompt_file = 3", "`prompt_file` is the name of a file"),
        (PLANS, f'{PLANS}\nprompt_file = "plan.md"', "both `prompt` and `prompt_file`"),
        ('name = "measured"', 'name = "x"\ntask = "a\\u0000"', "`task`: "),
        ('name = "measured"', 'name = "x"\ntask = ""', "`task`: "),
        (
            'name = "measured"',
            'name = "x"\ntask = "/etc/passwd"',
            "`task`: `/etc/passwd` is not a path inside",
        ),
        ('name = "measured"', 'name = "x"\noutputs = { folder = "" }', "`outputs.folder`: "),
        ('name = "measured"', 'name = "x"\noutputs = { folder = "a\\u0000b" }', "`outputs.folder`: "),
        ('name = "measured"', 'name = "x"\noutputs = { report = "../up.json" }', "`outputs.report`: "),
        ('name = "measured"', 'name = "x"\noutputs = { report = "" }', "`outputs.report`: "),
        ('name = "measured"', 'name = "x"\noutputs = { report = "samples" }', "both called `samples`"),
        ('name = "measured"', 'name = "x"\noutputs = { parts = ["results"] }', "has no `evaluation_results`"),
        ('name = "measured"', 'name = "x"\noutputs = { parts = ["../x"] }', "`outputs.parts`: "),
        ('requires = ["design"]', 'requires = ["success"]', "`planner` requires `success`, and does not"),
        (PLANS, f"{PLANS}\nmeasures = true", "`planner` measures, and it is the first"),
        (PLANS, f"{PLANS}\nlayers = [-1]", "`roles[0].layers[0]`: expected"),
        (PLANS, f"{PLANS}\nwindow = 99999999999999999999", "`roles[0].window`: expected"),
        ("[[roles]]", f"x = {'[' * 3_000}{']' * 3_000}\n[[roles]]", "is nested too deeply"),
        ('name = "measured"', "name = ", "is not valid TOML"),
    ],
    ids=[
        "prompt_nul",
        "prompt_folder",
        "prompt_number",
        "two_prompts",
        "task_nul",
        "task_empty",
        "task_outside",
        "folder_empty",
        "folder_nul",
        "report_above",
        "report_empty",
        "report_a_folder",
        "no_results",
        "parts_above",
        "success_unmeasured",
        "first_measures",
        "layer",
        "window",
        "deep",
        "no_toml",
    ],
)
def test_what_would_fail_late_is_said_at_once(tmp_path, old, new, named):
    assert old in BOTH
    assert named in refused(tmp_path, BOTH.replace(old, new, 1))


@pytest.mark.parametrize(("roles", "found"), [(1, "is 1 role"), (3, "are 3 roles")])
def test_a_pair_has_two_roles(tmp_path, roles, found):
    head, first, second = PLANNER_WORKER.split("[[roles]]")
    text = "[[roles]]".join([head, *(first, second, second.replace("worker", "third"))[:roles]])
    assert f"there {found}, and a pair has two" in refused(tmp_path, text)


def test_no_sentence_speaks_of_a_path_in_json(tmp_path):
    message = refused(tmp_path, PLANNER_WORKER.replace('tools = ["Read", "Write"]', 'tools = "Read"'))
    assert message.endswith("pair.toml: `roles[0].tools`: expected `array`, got `str`")
    assert "$" not in message


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "pair.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot be read"):
        load_pair(path)
