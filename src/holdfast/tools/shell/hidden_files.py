"""Files that commands may not read, because they hold secrets: keys, tokens, histories, and our own store.

Rule: below the access level `full` no command sees them, whatever it is allowed to do; with Landlock one inside the
workspace can still be read at `write`. Names are looked at when a command starts, and no file is opened.
"""

import os
from collections.abc import Iterable

DEFAULT_HIDDEN = tuple(
    """
    ~/.ssh ~/.gnupg ~/.netrc ~/_netrc ~/.git-credentials ~/.config/git/credentials ~/.pgpass ~/.my.cnf
    ~/.mylogin.cnf ~/.password-store ~/.vault-token ~/.local/share/keyrings
    ~/.aws ~/.azure ~/.config/gcloud ~/.boto ~/.kube ~/.docker/config.json ~/.config/containers/auth.json
    ~/.oci ~/.config/doctl ~/.config/hcloud ~/.fly ~/.terraform.d/credentials.tfrc.json ~/.terraformrc
    ~/.config/gh ~/.config/glab-cli ~/.config/hub ~/.s3cfg ~/.config/rclone ~/.config/sops ~/.config/op
    ~/.cloudflared ~/.config/heroku ~/.vercel ~/.config/netlify ~/.config/stripe
    ~/.npmrc ~/.yarnrc ~/.yarnrc.yml ~/.pypirc ~/.config/pip ~/.pip ~/.config/pypoetry/auth.toml
    ~/.cargo/credentials ~/.cargo/credentials.toml ~/.gem/credentials ~/.m2/settings.xml
    ~/.m2/settings-security.xml ~/.gradle/gradle.properties ~/.nuget/NuGet ~/.composer/auth.json
    ~/.config/composer/auth.json ~/.cache/huggingface/token ~/.huggingface/token
    ~/.mozilla ~/.config/google-chrome ~/.config/chromium ~/.config/BraveSoftware ~/.config/microsoft-edge
    ~/.config/vivaldi ~/.config/opera ~/snap/firefox ~/snap/chromium
    ~/.bash_history ~/.zsh_history ~/.local/share/fish/fish_history ~/.python_history ~/.node_repl_history
    ~/.psql_history ~/.mysql_history ~/.sqlite_history ~/.rediscli_history ~/.lesshst ~/.viminfo
    ~/.claude/.credentials.json ~/.codex/auth.json ~/.config/github-copilot ~/.gemini/oauth_creds.json
    ~/.local/share/opencode/auth.json
    /etc/shadow /etc/gshadow /etc/sudoers /etc/sudoers.d /etc/ssl/private /etc/krb5.keytab
    """.split()
)
"""Keys and logins, clouds, registries, browsers, histories, other agents, the system's."""


def hidden_paths(more: Iterable[str] = ()) -> tuple[str, ...]:
    """The default list with a person's own: a path to hide too, or `!` and a path of the list to show."""
    given = [path.strip() for path in more if path.strip()]
    shown = {os.path.expanduser(path[1:]).rstrip("/") for path in given if path.startswith("!")}  # noqa: PTH111
    wanted = [*DEFAULT_HIDDEN, *(path for path in given if not path.startswith("!"))]
    paths = dict.fromkeys(os.path.expanduser(path).rstrip("/") for path in wanted)  # noqa: PTH111
    return tuple(path for path in paths if path.startswith("/") and path not in shown)


def present(paths: Iterable[str]) -> list[str]:
    """The real paths of those that exist now and could be read, none of them inside another."""
    found = sorted({os.path.realpath(path) for path in paths if os.access(path, os.R_OK)})
    return [path for path in found if not any(path.startswith(f"{other}/") for other in found)]
