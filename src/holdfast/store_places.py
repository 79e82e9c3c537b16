"""Where a store is: a file, or a schema of a PostgreSQL database, named by a URL.

Rule: the password in a URL is for libpq alone. What is shown of a place, in output, errors and logs, has none; a
URL that cannot be taken apart for certain is refused without repeating it.
"""

import hashlib
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

from msgspec import Struct

from holdfast.errors import InputError
from holdfast.user_folders import data_folder

STORE_VARIABLE = "HOLDFAST_STORE"

_URL = re.compile(r"(?i:postgres(?:ql)?)://")
_PARTS = re.compile(
    r"[a-z]+://(?:(?P<user>[^:@/?#]*)(?::[^@/?#]*)?@)?(?P<hosts>[^@/?#]*)(?:/(?P<database>[^@?#/]*))?"
    r"(?:\?(?P<query>[^@#]*))?",
    re.IGNORECASE,
)
_BAD_PERCENT = re.compile(r"%(?!(?!00)[0-9a-fA-F]{2})")
_HOST = re.compile(r"(?:\[[^\]]*\]|[^:\[\],]*)(?::\d*)?")
_SHOWN = ("host", "hostaddr", "port", "user", "dbname", "service")
"""Parameters of a URL that say where a store is; others may be secrets."""


class PostgresPlace(Struct, frozen=True):
    """The database that a URL of libpq names. `str` gives it without password."""

    url: str

    def __str__(self) -> str:
        found = _PARTS.fullmatch(self.url)
        assert found is not None, "a place is made by `parse_place`"
        user = f"{found['user']}@" if found["user"] else ""
        query = [(k, v) for k, v in parse_qsl(found["query"] or "") if k in _SHOWN]
        shown = f"?{urlencode(query, quote_via=quote, safe='/,')}" if query else ""
        return f"postgresql://{user}{found['hosts']}/{found['database'] or ''}{shown}"

    def __repr__(self) -> str:
        return f"PostgresPlace({str(self)!r})"


Place = Path | PostgresPlace


def is_url(text: str) -> bool:
    return bool(_URL.match(text))


def parse_place(given: str | os.PathLike[str]) -> Place:
    """The place of this name: a URL of PostgreSQL, or else a file."""
    if not isinstance(given, str) and re.match("postgres(ql)?:", str(given)):
        raise InputError("the URL of a store is no path", hint="pass it as a `str`")
    if not isinstance(given, str) or not is_url(given):
        return Path(given).expanduser()
    found = _PARTS.fullmatch(given)
    if (
        _BAD_PERCENT.search(given)
        or found is None
        or not all(_HOST.fullmatch(host) for host in found["hosts"].split(","))
    ):
        raise InputError(
            "the URL of the store cannot be read",
            hint="write `postgresql://user@host:port/database`, and in a password %40 for @ and %2F for /",
        )
    return PostgresPlace(given)


def default_place(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Place:
    """Where the store is unless a person says otherwise: `HOLDFAST_STORE`, else the user's data folder."""
    if named := environ.get(STORE_VARIABLE, ""):
        return parse_place(named)
    return data_folder(environ, platform) / "store.db"


def files_beside(place: Place, environ: Mapping[str, str] = os.environ) -> Path:
    """The path beside which a machine keeps files that belong to a store: the store's own, if it is a file."""
    if isinstance(place, Path):
        return place
    known = hashlib.sha256(str(place).encode()).hexdigest()[:12]
    return data_folder(environ) / f"postgresql-{known}.db"


def may_exist(place: Place) -> bool:
    """Whether there may be a store; only a file can be looked for without opening it."""
    return not isinstance(place, Path) or place.exists()
