"""Where the store is: as a person says it, by default, and as it is shown."""

import pickle
from pathlib import Path

import pytest

from holdfast.config import load_config
from holdfast.errors import ConfigError, InputError
from holdfast.store_places import PostgresPlace, default_place, files_beside, parse_place
from holdfast.tools.shell.processes import clean_environment

HOME = Path.home()
URL = "postgresql://ann:s3cret@db.example:5433/work"


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"HOLDFAST_STORE": "/srv/hf.db", "XDG_DATA_HOME": "/data"}, "linux", Path("/srv/hf.db")),
        ({"HOLDFAST_STORE": "~/hf.db"}, "linux", HOME / "hf.db"),
        ({"HOLDFAST_STORE": URL}, "linux", PostgresPlace(URL)),
        ({"XDG_DATA_HOME": "/data"}, "linux", Path("/data/holdfast/store.db")),
        ({"XDG_DATA_HOME": "relative"}, "linux", HOME / ".local/share/holdfast/store.db"),
        ({"HOLDFAST_STORE": ""}, "linux", HOME / ".local/share/holdfast/store.db"),
        ({}, "darwin", HOME / "Library/Application Support/holdfast/store.db"),
        ({"LOCALAPPDATA": "/appdata"}, "win32", Path("/appdata/holdfast/store.db")),
        ({}, "win32", HOME / "AppData/Local/holdfast/store.db"),
    ],
)
def test_default_place(environ: dict[str, str], platform: str, expected: Path) -> None:
    assert default_place(environ, platform) == expected


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (URL, "postgresql://ann@db.example:5433/work"),
        ("postgres:///work", "postgresql:///work"),
        ("postgresql://", "postgresql:///"),
        ("postgresql://ann:s3%40cret@[::1]:5433/work", "postgresql://ann@[::1]:5433/work"),
        ("postgresql://one:1,two:2/work?sslmode=verify-full", "postgresql://one:1,two:2/work"),
        (
            "postgresql:///work?host=/run/pg&password=s3cret&user=ann&sslpassword=s3cret",
            "postgresql:///work?host=/run/pg&user=ann",
        ),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    place = parse_place(url)
    assert isinstance(place, PostgresPlace)
    assert place.url == url
    assert str(place) == shown
    assert repr(place) == f"PostgresPlace('{shown}')"
    assert pickle.loads(pickle.dumps(place)) == place


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3@cret@host/work",
        "postgresql://ann:s3/cret@host/work",
        "postgresql://ann:s3?cret@host/work",
        "postgresql://ann:s3#cret@host/work",
        "postgresql://ann:s3cret/work",
        "postgresql://ann:s3%cret@host/work",
    ],
)
def test_a_url_that_is_not_certain_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InputError, match="cannot be read") as caught:
        parse_place(url)
    assert "s3" not in str(caught.value)
    assert "%40 for @" in caught.value.hint


def test_a_url_that_was_made_a_path_is_refused() -> None:
    with pytest.raises(InputError, match="is no path") as caught:
        parse_place(Path(URL))
    assert "s3cret" not in str(caught.value)


def test_files_of_a_database_are_in_the_data_folder_and_do_not_depend_on_the_password(tmp_path: Path) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path)}
    one, two = (files_beside(parse_place(url), env) for url in (URL, URL.replace("s3cret", "other")))
    assert one == two
    assert one.parent == tmp_path / "holdfast"
    assert files_beside(parse_place(URL.replace("/work", "/home")), env) != one
    assert files_beside(tmp_path / "store.db", env) == tmp_path / "store.db"


def test_only_a_persons_own_configuration_may_name_a_server(tmp_path: Path) -> None:
    project, own = tmp_path / "project", tmp_path / "config/holdfast"
    project.mkdir()
    own.mkdir(parents=True)
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    (own / "holdfast.toml").write_text(f'store = "{URL}"\n')
    assert load_config(cwd=project, env=env).store == URL
    other = "postgresql:///other"
    assert load_config(cwd=project, env={**env, "HOLDFAST_STORE": other}).store == other
    (project / "holdfast.toml").write_text(f'store = "{URL}"\n')
    with pytest.raises(ConfigError, match="a project cannot set `store` to a URL") as caught:
        load_config(cwd=project, env=env)
    assert "s3cret" not in str(caught.value)


def test_commands_of_an_agent_do_not_get_the_url() -> None:
    assert "HOLDFAST_STORE" not in clean_environment({"HOLDFAST_STORE": URL})
    assert clean_environment({"HOLDFAST_STORE": "/srv/hf.db"})["HOLDFAST_STORE"] == "/srv/hf.db"
