"""The environment that commands get: ours, without what would change how bash reads them and without secrets.

Rule: a variable that bash itself obeys is never passed on, and one whose name says that it is a secret only where a
person named it. Nothing may wait for a person: no pager, no editor, no prompt.
"""

import re
from collections.abc import Iterable, Mapping

RUN_MARK = "_HOLDFAST_RUN"
"""Set in each command to a name of its own, by which its processes are found again."""

_OBEYED = frozenset(
    """
    BASH_ENV ENV CDPATH SHELLOPTS BASHOPTS BASH_COMPAT BASH_LOADABLES_PATH BASH_XTRACEFD EXECIGNORE FIGNORE FUNCNEST
    GLOBIGNORE HISTFILE IFS INPUTRC MAILCHECK MAILPATH OLDPWD POSIXLY_CORRECT PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 PWD
    SHLVL TIMEFORMAT TMOUT _
    """.split()
)
_SECRET = re.compile(
    r"(?i)(?:^(?:PG|SSH)|^|_)(?:API_?KEYS?|KEY|TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?|COOKIE"
    r"|DSN|PAT|AUTH|JWT|BEARER"
    r"|(?:ACCESS|SECRET|PRIVATE|ACCOUNT|SIGNING|ENCRYPTION|MASTER)_?KEY\w*)(?:_(?:ID|FILE|BASE64|B64|JSON|V?\d+))*$"
)
_UNATTENDED = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "TERM": "dumb",
    # An editor that leaves the text as it is: a merge takes its proposed message, an empty commit is refused.
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}


_SETTINGS = {"safe.bareRepository": "explicit"}
"""Of Git, above all files of settings: a repository that hides among the files of another one, as data that was
committed, is not found, since its own settings name programs that Git runs."""


_GIVEN = re.compile(r"GIT_CONFIG_(?:COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)")
"""Settings of Git by environment: one of them is often a header that logs in, and only all together are read."""


def is_secret_name(name: str) -> bool:
    """Whether a variable's name says that its value is a secret, such as a provider's API key."""
    return bool(_SECRET.search(name) or _GIVEN.fullmatch(name))


def clean_environment(given: Mapping[str, str], passes: Iterable[str] = ()) -> dict[str, str]:
    """What commands get of an environment. `passes` are variables to hand on although they look like secrets."""
    named = set(passes)
    kept = {
        name: value
        for name, value in given.items()
        if name not in _OBEYED
        and not name.startswith("BASH_FUNC_")
        and (name in named or not is_secret_name(name))
    }
    if not {"LC_ALL", "LC_CTYPE", "LANG"} & kept.keys():
        kept["LC_CTYPE"] = "C.UTF-8"
    return {**kept, **_UNATTENDED, **_git_settings(kept)}


def _git_settings(kept: Mapping[str, str]) -> dict[str, str]:
    """Settings of ours behind those that the environment has."""
    count = kept.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isascii() and count.isdigit() else 0
    ours = {"GIT_CONFIG_COUNT": str(first + len(_SETTINGS))}
    for number, (name, value) in enumerate(_SETTINGS.items(), start=first):
        ours |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return ours
