"""Configuration: where it is found, what it may say, and who wins."""

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from holdfast.config import (
    OTHER_VARIABLES,
    SETTINGS,
    Config,
    Setting,
    find_config,
    load_config,
    parse_config,
    read_env,
    resolve_profile,
    setting_text,
)
from holdfast.errors import ConfigError, NotFound
from holdfast.packing.profile import BUILT_IN, CODE, EXECUTE, INIT, MOCK_PROMPT, REVIEW, Profile
from support.settings_table import TABLE, settings_table

DOC = Path(__file__).parents[1] / "docs" / "profiles.md"


def refused(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "holdfast.toml")
    return caught.value


def load_profile(name: str = "", *, cwd: Path, env: dict[str, str], model_window: int = 0) -> Profile:
    return resolve_profile(load_config(cwd=cwd, env=env), env, name, model_window=model_window).profile


def test_without_a_file_the_built_in_profiles_stand(tmp_path: Path) -> None:
    for name, profile in BUILT_IN.items():
        assert load_profile(name, cwd=tmp_path, env={}) == profile
    assert load_profile(cwd=tmp_path, env={}) == CODE


def test_environment_beats_file_and_file_beats_built_in(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text('[profile.house]\nextends = "code"\nkeep = 6\ngrep_matches = 8\n')
    house = load_profile("house", cwd=tmp_path, env={"HOLDFAST_KEEP": "4"})
    assert house == replace(CODE, name="house", keep=4, grep_matches=8)


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "holdfast.toml").write_text("")
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert find_config(inner) == tmp_path / "holdfast.toml"
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.holdfast.profile.code]\nkeep = 7\n")
    assert find_config(inner) == tmp_path / "a" / "pyproject.toml"
    assert load_profile("code", cwd=inner, env={}).keep == 7
    (tmp_path / "a" / "holdfast.toml").write_text("[profile.code]\nkeep = 8\n")
    assert load_profile("code", cwd=inner, env={}).keep == 8


def test_a_broken_pyproject_of_others_is_no_concern(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[[[ nonsense")
    assert load_profile("code", cwd=tmp_path, env={}) == CODE


def test_the_file_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('default_profile = "review"\n')
    env = {"HOLDFAST_CONFIG": "mine.toml"}
    assert load_profile(cwd=tmp_path, env=env).name == "review"
    with pytest.raises(NotFound, match="HOLDFAST_CONFIG"):
        load_config(cwd=tmp_path, env={"HOLDFAST_CONFIG": "other.toml"})


def test_profiles_extend_each_other() -> None:
    config = parse_config(
        '[profile.a]\nextends = "init"\nkeep = 9\nrecap_lines = 50\n'
        '[profile.b]\nextends = "a"\nkeep = 8\n[profile.c]\n',
        "holdfast.toml",
    )
    assert resolve_profile(config, {}, "b").profile == replace(INIT, name="b", keep=8, recap_lines=50)
    assert resolve_profile(config, {}, "c").profile == replace(CODE, name="c")


def test_a_built_in_profile_can_be_changed_in_place() -> None:
    config = parse_config(
        '[profile.code]\nextends = "code"\nkeep = 7\n[profile.init]\nrecap_lines = 9\n', "f"
    )
    assert resolve_profile(config, {}, "code").profile == replace(CODE, keep=7)
    assert resolve_profile(config, {}, "init").profile == replace(INIT, recap_lines=9)


def test_a_circle_of_profiles_is_named() -> None:
    config = parse_config('[profile.a]\nextends = "b"\n[profile.b]\nextends = "a"\n', "holdfast.toml")
    with pytest.raises(ConfigError, match="`a` → `b` → `a`"):
        resolve_profile(config, {}, "a")


def test_an_unknown_profile_names_the_nearest() -> None:
    config = parse_config("[profile.house]\n", "holdfast.toml")
    with pytest.raises(ConfigError, match="there is no profile `hosue`") as caught:
        resolve_profile(config, {}, "hosue")
    assert "`house`" in caught.value.hint
    assert "draft16k" in caught.value.hint


def test_the_default_profile_and_the_store(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text('[settings]\ndefault_profile = "init"\nstore = "logs"\n')
    config = load_config(cwd=tmp_path, env={})
    assert (config.default_profile, config.store) == ("init", str(tmp_path / "logs"))
    assert load_profile(cwd=tmp_path, env={}).name == "init"
    assert load_profile(cwd=tmp_path, env={"HOLDFAST_PROFILE": "review"}).name == "review"
    assert load_config(cwd=tmp_path, env={"HOLDFAST_STORE": "/elsewhere"}).store == "/elsewhere"
    assert load_config(cwd=tmp_path / "..", env={}).store == ""


def test_permissions_are_kept_as_they_stand() -> None:
    config = parse_config('[permissions]\nallow = ["Read"]\nmode = "edit"\n', "holdfast.toml")
    assert config.permissions == {"allow": ["Read"], "mode": "edit"}
    assert parse_config("", "holdfast.toml").permissions == {}
    assert refused('permissions = "all"\n').message == "holdfast.toml: `permissions` should be a table"


@pytest.mark.parametrize(
    ("text", "key", "like"),
    [
        ("[profile.house]\nkeeep = 3\n", "profile.house.keeep", "keep"),
        ("[profile.house]\nmin_retain_rounds = 3\n", "profile.house.min_retain_rounds", "keep"),
        ("[profile.house]\nextend = 'code'\n", "profile.house.extend", "extends"),
        ("defaultprofile = 'x'\n", "defaultprofile", "default_profile"),
        ("[settings]\nstroe = 'x'\n", "settings.stroe", "store"),
        ("[profiles.x]\n", "profiles", "profile"),
    ],
)
def test_an_unknown_key_names_the_nearest_known_one(text: str, key: str, like: str) -> None:
    error = refused(text)
    assert error.message == f"holdfast.toml: unknown key `{key}`"
    assert error.hint == f"did you mean `{like}`?"


def test_a_key_that_is_like_no_other_gets_no_far_suggestion() -> None:
    assert refused("[profile.house]\nname = 'x'\n").hint.startswith("there are: window, ")
    assert refused("[mcp]\nqqq = 1\n").hint == "there are: servers"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('keep = "many"', "`profile.x.keep` should be a whole number of at least 0, found the text `many`"),
        ("keep = -1", "`profile.x.keep` should be a whole number of at least 0, found the number -1"),
        ("keep = true", "`profile.x.keep` should be a whole number of at least 0, found true"),
        (
            'window = "big"',
            "`profile.x.window` should be a number of tokens such as `32k`, found the text `big`",
        ),
        ("window = [1]", "`profile.x.window` should be a number of tokens such as `32k`, found a list"),
        (
            "trigger_ratio = 80",
            "`profile.x.trigger_ratio` should be a share from 0 to 1, found the number 80",
        ),
        ("redact = 'no'", "`profile.x.redact` should be true or false, found the text `no`"),
        (
            "keep_unit = 'turns'",
            "`profile.x.keep_unit` should be one of `rounds`, `steps`, found the text `turns`",
        ),
        ("summary_timeout = 0", "`profile.x.summary_timeout` should be a number above 0, found the number 0"),
        ("mock_prompt = 5", "`profile.x.mock_prompt` should be text, found the number 5"),
        (
            "summary_failure = {}",
            "`profile.x.summary_failure` should be a list of `ask`, `retry`, `rule`, `truncate`, found a table",
        ),
        ("keep = {a = 1}", "`profile.x.keep` should be a whole number of at least 0, found a table"),
    ],
)
def test_a_wrong_type_says_expected_and_found(line: str, sentence: str) -> None:
    error = refused(f"[profile.x]\n{line}\n")
    assert error.message == f"holdfast.toml: {sentence}"
    assert error.hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("profile = 5\n", "`profile` should be a table"),
        ("profile.x = 5\n", "`profile.x` should be a table"),
        ("settings = []\n", "`settings` should be a table"),
        ("store = 5\n", "`store` should be text"),
        ("store = 'a'\n[settings]\nstore = 'b'\n", "is given twice"),
        ("[profile.x]\nextends = 5\n", "`profile.x.extends` should be the name of a profile"),
        ("[profile", "holdfast.toml is not valid TOML"),
    ],
)
def test_a_wrong_shape_is_named(text: str, words: str) -> None:
    assert words in refused(text).message


def test_a_pyproject_names_the_whole_key() -> None:
    with pytest.raises(
        ConfigError, match=re.escape("pyproject.toml: unknown key `tool.holdfast.profile.x.kep`")
    ):
        parse_config("[tool.holdfast.profile.x]\nkep = 1\n", "pyproject.toml", section=("tool", "holdfast"))


def test_a_contradiction_names_its_source() -> None:
    config = parse_config("[profile.init]\ntrigger_tokens = 300_000\n", "holdfast.toml")
    with pytest.raises(ConfigError) as caught:
        resolve_profile(config, {}, "init")
    assert caught.value.message.startswith("holdfast.toml: profile `init`: the trigger (300,000 tokens)")
    with pytest.raises(ConfigError, match=r"^the environment: profile `init`"):
        resolve_profile(Config(), {"HOLDFAST_API_HARD_LIMIT": "100k"}, "init")


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=lambda setting: setting.name)
def test_every_setting_is_reached_by_its_variable_and_by_the_file(setting: Setting) -> None:
    """Init's values, given to the profile `code` one by one, arrive as they are."""
    value = getattr(INIT, setting.name)
    text = ",".join(value) if isinstance(value, tuple) else setting_text(value)
    variable, *_ = setting.variables
    values, warnings = read_env({variable: text}, keep_unit="rounds")
    assert (values, warnings) == ({setting.name: value}, ())
    written = list(value) if isinstance(value, tuple) else value
    assert setting.read(written, "here") == value


@pytest.mark.parametrize(
    ("profile", "variable", "text", "changes"),
    [
        ("code", "CONTEXT_WINDOW", "128k", {"window": 128_000}),
        ("code", "COMPRESSION_THRESHOLD", "0.6", {"trigger_ratio": 0.6}),
        ("rich", "COMPRESSION_THRESHOLD", "0.6", {"trigger_ratio": 0.6, "fold_to_ratio": 0.4737}),
        ("code", "FOLD_TO_RATIO", "0.5", {"fold_to_ratio": 0.5, "fold_to_cap": 0}),
        ("code", "FOLD_TO_TOKENS", "0", {}),
        ("code", "WINDOW", "1M", {"window": 1_000_000, "fold_to_cap": 280_000}),
        ("code", "MIN_RETAIN_ROUNDS", "4", {"keep": 4}),
        ("code", "SUMMARY_TIMEOUT", "30", {"summary_timeout": 30.0}),
        ("init", "KEEP_RECENT_STEPS", "2", {"keep": 2, "keep_floor": 2}),
        ("init", "COMPACT_TRIGGER_THRESHOLD", "120_000", {"trigger_tokens": 120_000}),
        ("init", "API_HARD_LIMIT", "190000", {"window": 190_000}),
        ("review", "MAX_TURNS", "3", {"keep": 3}),
        ("review", "MAX_MESSAGES", "20", {"max_messages": 20}),
        ("review", "MAX_TOOL_CHARS_PER_MESSAGE", "900", {"max_tool_chars": 900}),
    ],
)
def test_the_names_of_the_design_work(
    profile: str, variable: str, text: str, changes: dict[str, object]
) -> None:
    loaded = resolve_profile(Config(), {f"HOLDFAST_{variable}": text}, profile)
    before, after = asdict(BUILT_IN[profile]), asdict(loaded.profile)
    assert {name: value for name, value in after.items() if value != before[name]} == changes
    assert loaded.warnings == ()


def test_a_lower_trigger_lowers_the_mark_below_it_also_without_its_cap() -> None:
    lowered = {"HOLDFAST_TRIGGER_RATIO": "0.5", "HOLDFAST_FOLD_TO_CAP": "0"}
    profile = resolve_profile(Config(), lowered, "lean").profile
    assert (profile.trigger, profile.low_water, profile.fold_to_cap) == (100_000, 54_740, 0)


def test_a_name_of_the_design_for_another_unit_is_ignored_with_a_warning() -> None:
    loaded = resolve_profile(Config(), {"HOLDFAST_KEEP_RECENT_STEPS": "2"}, "code")
    assert loaded.profile == CODE
    assert loaded.warnings == (
        "`HOLDFAST_KEEP_RECENT_STEPS` counts steps and is ignored: the profile keeps rounds",
    )


def test_the_own_name_wins_over_the_seeds() -> None:
    env = {"HOLDFAST_CONTEXT_WINDOW": "64k", "HOLDFAST_WINDOW": "128k"}
    loaded = resolve_profile(Config(), env, "code")
    assert loaded.profile.window == 128_000
    assert loaded.warnings == (
        "`HOLDFAST_CONTEXT_WINDOW` is ignored: `HOLDFAST_WINDOW` sets `window` already",
    )


def test_an_unknown_variable_is_a_warning_and_known_ones_are_not() -> None:
    env = {"HOLDFAST_KEPE": "3", "PATH": "/bin", "HOLDFAST_KEEP": "", **dict.fromkeys(OTHER_VARIABLES, "")}
    loaded = resolve_profile(Config(), env, "code")
    assert loaded.profile == CODE
    assert loaded.warnings == (
        "`HOLDFAST_KEPE` is not a variable of Holdfast; did you mean `HOLDFAST_KEEP`?",
    )


def test_a_variable_of_the_wrong_type_says_expected_and_found() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_profile(Config(), {"HOLDFAST_KEEP": "many"}, "code")
    assert caught.value.message == (
        "environment variable `HOLDFAST_KEEP` should be a whole number of at least 0, found the text `many`"
    )
    assert resolve_profile(Config(), {"HOLDFAST_REDACT": "False"}, "code").profile.redact is False
    with pytest.raises(ConfigError, match="should be true or false"):
        resolve_profile(Config(), {"HOLDFAST_REDACT": "perhaps"}, "code")


def test_review_takes_the_models_window_unless_one_is_set(tmp_path: Path) -> None:
    assert load_profile("review", cwd=tmp_path, env={}, model_window=400_000).window == 400_000
    assert load_profile("review", cwd=tmp_path, env={}) == REVIEW
    chosen = load_profile("review", cwd=tmp_path, env={"HOLDFAST_WINDOW": "100k"}, model_window=400_000)
    assert chosen.window == 100_000
    assert load_profile("execute", cwd=tmp_path, env={}, model_window=500_000) == EXECUTE.scaled_to(500_000)


NAMES = st.sampled_from(["code", "init", "a", "b", "review"])
VALUES = st.dictionaries(st.sampled_from(["keep", "recap_lines", "max_messages"]), st.integers(5, 40))


@given(profiles=st.dictionaries(NAMES, VALUES), env=VALUES, name=NAMES)
def test_precedence_holds_for_any_mixture(
    profiles: dict[str, dict[str, int]], env: dict[str, int], name: str
) -> None:
    text = "\n".join(
        f"[profile.{n}]\n" + "\n".join(f"{k} = {v}" for k, v in values.items())
        for n, values in profiles.items()
    )
    config = parse_config(text, "holdfast.toml")
    variables = {f"HOLDFAST_{key.upper()}": str(value) for key, value in env.items()}
    if name not in BUILT_IN and name not in profiles:
        with pytest.raises(ConfigError):
            resolve_profile(config, variables, name)
        return
    got = resolve_profile(config, variables, name).profile
    base = BUILT_IN.get(name, BUILT_IN["code"])
    beneath = profiles.get("code", {}) if name not in BUILT_IN else {}
    assert got == replace(base, **{**beneath, **profiles.get(name, {}), **env, "name": name})


def test_the_documents_table_is_what_the_code_has() -> None:
    document = DOC.read_text("utf-8")
    (table,) = TABLE.findall(document)
    assert table == settings_table(), "write it with `uv run python tests/support/settings_table.py`"
    assert f"```text\n{MOCK_PROMPT}\n```" in document


def test_the_documents_example_loads(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", DOC.read_text("utf-8"), re.DOTALL)
    (tmp_path / "holdfast.toml").write_text(example)
    assert load_profile(cwd=tmp_path, env={}).name == "house"
    small = load_profile("small", cwd=tmp_path, env={})
    assert (small.window, small.keep, small.grep_matches) == (32_000, 6, 8)
    assert set(tomllib.loads(example)["profile"]) == {"house", "small", "init"}
    assert load_profile("init", cwd=tmp_path, env={}).trigger == 140_000


def test_no_variable_stands_for_two_settings() -> None:
    variables = [variable for setting in SETTINGS.values() for variable in setting.variables]
    assert len(set(variables)) == len(variables)
    assert not set(variables) & set(OTHER_VARIABLES)


def test_what_a_profile_does_not_use_is_refused_in_its_own_table_only() -> None:
    own = parse_config('[profile.house]\nextends = "classic"\nworth = "hand"\n', "holdfast.toml")
    with pytest.raises(ConfigError) as caught:
        resolve_profile(own, {}, "house")
    assert "profile `house`: `worth` would change nothing, because no lines are kept" in caught.value.message
    inherited = parse_config(
        '[profile.house]\nworth = "hand"\n[profile.child]\nextends = "house"\nexcerpt_ratio = 0.0\n', "f"
    )
    assert resolve_profile(inherited, {}, "child").profile.excerpt_ratio == 0.0
    made_so = {"HOLDFAST_EXCERPT_RATIO": "0"}
    assert resolve_profile(inherited, made_so, "house").profile.excerpt_ratio == 0.0
    priced = parse_config("[profile.classic]\ncache_read = 0.1\n", "f")
    assert resolve_profile(priced, {}, "classic", defaults={"cache_read": 0.05}).profile.name == "classic"


def test_a_variable_that_a_profile_does_not_use_is_ignored_and_said() -> None:
    found = resolve_profile(Config(), {"HOLDFAST_WORTH": "hand"}, "classic")
    assert found.profile == BUILT_IN["classic"]
    assert found.warnings == (
        "`HOLDFAST_WORTH` is ignored by `classic`: no lines are kept (`excerpt_ratio` is 0)",
    )
    assert resolve_profile(Config(), {"HOLDFAST_WORTH": "hand"}, "code").profile.worth == "hand"
