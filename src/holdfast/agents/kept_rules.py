"""Where a person's rules are kept: for one folder, for all folders, or in the project's configuration.

Rule: no rule is kept where an agent could write it, everywhere only what means the same everywhere, and in a
project's file only where that file is trusted, so that a rule never makes a stranger's settings count.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.agents.approved_rules import FILE, approve_rule, forget_rule, is_out_of_reach
from holdfast.agents.trust import FILE as TRUST_FILE
from holdfast.agents.trust import is_trusted, trust, widening
from holdfast.config import Config, find_config, is_in_folder, load_config, parse_config, user_config_path
from holdfast.config.edit import add_rule, edit_file, remove_rule
from holdfast.config.files import FILE as CONFIG_FILE
from holdfast.config.files import section_of
from holdfast.errors import ConfigError, HoldfastError
from holdfast.tools.permissions.gate import PlaceName, RulePlace
from holdfast.user_folders import config_folder

_EVERYWHERE = re.compile(r"mcp__.*|Bash\([^/\s]+(?:\s.*)?:\*\)(?: with network)?", re.DOTALL)
"""Rules that mean the same in every folder: no path, no whole command, no program of a project."""


class KeptRules(Struct, frozen=True):
    """A `RuleKeeper` for a folder. `env` says where the person's own files are."""

    root: Path
    env: Mapping[str, str]

    @property
    def folder(self) -> Path:
        return config_folder(self.env)

    @property
    def own_file(self) -> Path:
        return user_config_path(self.env)

    @property
    def project_file(self) -> Path:
        """The project's configuration, or where it would be."""
        if named := self.env.get("HOLDFAST_CONFIG", ""):
            return self.root / Path(named).expanduser()
        return find_config(self.root) or self.root.resolve() / CONFIG_FILE

    def places(self, rules: Sequence[str]) -> tuple[RulePlace, ...]:
        found: list[RulePlace] = []
        if is_out_of_reach(self.folder, self.root):
            found.append(RulePlace("folder", home_path(self.folder / FILE)))
            if all(map(_EVERYWHERE.fullmatch, rules)) and _can_write(self.own_file):
                found.append(RulePlace("everywhere", home_path(self.own_file)))
        file = self.project_file
        if (
            all(self._fits_project(rule) for rule in rules)
            and _can_write(file)
            and self._is_project_trusted()
        ):
            found.append(
                RulePlace("project", file.name if file.parent == self.root.resolve() else home_path(file))
            )
        return tuple(found)

    def file_of(self, place: PlaceName) -> str:
        """The file of a place, as people write it."""
        files = {"folder": self.folder / FILE, "everywhere": self.own_file, "project": self.project_file}
        return home_path(files[place])

    def keep(self, rules: Sequence[str], place: PlaceName) -> None:
        for rule in rules:
            self.add("allow", rule, place)

    def add(self, kind: str, rule: str, place: PlaceName) -> None:
        """Add a rule to a list, `allow`, `ask` or `deny`. OSError or ConfigError if it cannot be kept there."""
        if place == "folder":
            if kind != "allow":
                raise ConfigError(
                    f"only rules that allow are kept for one folder, and this is one of `{kind}`"
                )
            approve_rule(self.folder, self.root, rule)
        elif place == "everywhere":
            self._require_own()
            edit_file(self.own_file, lambda text: add_rule(text, kind, rule))
        else:
            self._edit_project(
                lambda text, section: add_rule(text, kind, rule, section=section), needs_trust=kind == "allow"
            )

    def remove(self, kind: str, rule: str, place: PlaceName) -> None:
        """Remove a rule from where it is kept."""
        if place == "folder":
            forget_rule(self.folder, self.root, rule)
        elif place == "everywhere":
            edit_file(self.own_file, lambda text: remove_rule(text, kind, rule))
        else:
            self._edit_project(lambda text, section: remove_rule(text, kind, rule, section=section))

    def _edit_project(self, change: Callable[..., str], *, needs_trust: bool = False) -> None:
        """Change the project's file. What it sets is trusted then if it was before: the person wrote the change."""
        file = self.project_file
        section = section_of(file)
        was_trusted = False

        def edit(text: str) -> str:
            nonlocal was_trusted
            was_trusted = self._is_trusted(parse_config(text, str(file), section=section))
            if needs_trust and not was_trusted:
                raise ConfigError(
                    f"a rule that allows would not count in {home_path(file)}, which you have not trusted",
                    hint="look at it, then `--trust` it",
                )
            return change(text, section)

        written = parse_config(edit_file(file, edit), str(file), section=section)
        wide = widening(self._project_layer(written), self._own_permissions())
        if wide and was_trusted:
            trust(str(file), wide, self.folder)

    def _is_project_trusted(self) -> bool:
        try:
            text = self.project_file.read_text("utf-8-sig") if self.project_file.exists() else ""
            layer = parse_config(text, str(self.project_file), section=section_of(self.project_file))
            return self._is_trusted(layer)
        except (OSError, UnicodeDecodeError, HoldfastError):
            return False

    def _is_trusted(self, config: Config) -> bool:
        """Whether all that a file sets counts, and would with one rule more."""
        layer = self._project_layer(config)
        if layer.is_own:
            return True
        wide = widening(layer, self._own_permissions())
        can_be = not is_in_folder(self.folder / TRUST_FILE, self.project_file.parent)
        return can_be and (not wide or is_trusted(layer, wide, self.folder))

    def _project_layer(self, config: Config) -> Config:
        return Config(
            where=config.where,
            is_own=bool(self.env.get("HOLDFAST_CONFIG")),
            permissions=config.permissions,
            servers=config.servers,
            checks=config.checks,
            hooks=config.hooks,
        )

    def _own_permissions(self) -> Mapping[str, object]:
        layers = load_config(cwd=self.root, env=self.env).layers
        return layers[0].permissions if layers[0].where == str(self.own_file) else {}

    def _fits_project(self, rule: str) -> bool:
        is_path = not rule.startswith(("Bash", "mcp__"))
        is_here = self.project_file.parent == self.root.resolve()
        return not rule.endswith(" with full") and (is_here or not is_path)

    def _require_own(self) -> None:
        if is_in_folder(self.own_file, self.root):
            raise ConfigError(
                f"`{self.own_file}` lies in the workspace, where commands could write rules of their own"
            )


def home_path(path: Path) -> str:
    """A path as people write it."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _can_write(path: Path) -> bool:
    place = path.resolve()
    if place.exists() and not os.access(place, os.W_OK):
        return False
    folder = next(parent for parent in place.parents if parent.exists())
    return os.access(folder, os.W_OK)
