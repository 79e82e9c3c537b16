"""The environment that commands get: ours, without secrets and without what would change how bash works.

Rule: a variable that changes bash itself is never passed on, and one whose name looks like a secret only if a
person listed it. Nothing may wait for a person: no pager, no editor, no prompt.
"""

import re
from collections.abc import Iterable, Mapping

RUN_MARK = "_HOLDFAST_RUN"
"""Set to a unique value for each command, by which its processes are found."""

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
    **dict.fromkeys(("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER"), "cat"),
    "TERM": "dumb",
    # An editor that changes nothing: a merge keeps its proposed message, an empty commit message is refused.
    **dict.fromkeys(("EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"), "true"),
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}
_GIT_SETTING = ("safe.bareRepository", "explicit")
"""A Git setting that overrides all configuration files: a repository hidden among the committed files of another is
not used, since its settings could name programs that Git runs."""
_GIVEN = re.compile(r"GIT_CONFIG_(?:COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)")
"""Git settings in the environment: often one of them is a login header, and Git reads only all of them together."""


def is_secret_name(name: str) -> bool:
    """Whether the name of a variable says that its value is a secret, such as an API key."""
    return bool(_SECRET.search(name) or _GIVEN.fullmatch(name))


def clean_environment(given: Mapping[str, str], passes: Iterable[str] = ()) -> dict[str, str]:
    """The part of an environment that commands get. `passes` are variables to pass on although they look like
    secrets."""
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
    # Our setting comes after those in the environment.
    count = kept.get("GIT_CONFIG_COUNT", "")
    number = int(count) if count.isascii() and count.isdigit() else 0
    name, value = _GIT_SETTING
    git = {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return {**kept, **_UNATTENDED, "GIT_CONFIG_COUNT": str(number + 1), **git}
