"""The rules that hold in a folder, each with where it is from; and one more or one less, by a person's own command.

Rule: what is listed is what counts: rules of a project's file only if that file is trusted.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from holdfast.agents.approved_rules import approved_rules
from holdfast.agents.kept_rules import KeptRules
from holdfast.agents.resolved_config import OTHER_TOOLS, load_permissions
from holdfast.errors import ConfigError, InputError, suggest
from holdfast.tools.permissions.gate import PlaceName
from holdfast.tools.permissions.tool_rules import LISTS, Permissions, RuleKind

APPROVED = "you approved it"
SESSION = "this session"


class ListedRule(Struct, frozen=True):
    """A rule, its list, and where it is from: a file, or the answer of a person."""

    rule: str
    verdict: RuleKind
    origin: str
    place: PlaceName | None = None
    """Where it is kept, if it can be taken back from there."""


def list_rules(root: Path, env: Mapping[str, str]) -> tuple[list[ListedRule], str]:
    """The rules, those that deny last, and what to tell the person of the rest."""
    config, _, distrust = load_permissions(root, env)
    own = str(KeptRules(root, env).own_file)
    found: list[ListedRule] = []
    for kind in LISTS:
        if kind == "allow":
            approved = approved_rules(KeptRules(root, env).folder, root)
            found += [ListedRule(rule, kind, APPROVED, "folder") for rule in approved]
        for layer in config.layers:
            place: PlaceName = "everywhere" if layer.where == own else "project"
            texts = layer.permissions.get(kind)
            for text in texts if isinstance(texts, list) else ():
                found.append(ListedRule(str(text), kind, layer.where, place))
    return found, distrust


def session_rules(permissions: Permissions, listed: list[ListedRule]) -> Iterator[ListedRule]:
    """The rules that hold in a session only: given as options, or approved for it."""
    known = {(one.verdict, one.rule) for one in listed}
    for kind in LISTS:
        for rule in (*getattr(permissions.commands, kind), *getattr(permissions, kind)):
            if (kind, rule.text) not in known:
                yield ListedRule(rule.text, kind, SESSION)


def keep_rule(kept: KeptRules, kind: RuleKind, rule: str, place: PlaceName) -> str:
    """Keep a rule that a person gave; returns the file. Raises ConfigError if it is none or cannot be kept."""
    Permissions().adding(kind, rule, f"`{kind}`", tools=OTHER_TOOLS)
    try:
        kept.add(kind, rule, place)
    except OSError as error:
        raise ConfigError(f"the rule cannot be kept: {error}") from error
    return kept.file_of(place)


def forget_rule(root: Path, env: Mapping[str, str], rule: str) -> list[ListedRule]:
    """Take a rule back from all places that have it. Raises InputError if there is none."""
    listed, _ = list_rules(root, env)
    found = [one for one in listed if one.rule == rule and one.place]
    if not found:
        hint = suggest(rule, (one.rule for one in listed)) if listed else "there are no rules here"
        raise InputError(f"there is no rule `{rule}` here", hint=hint)
    kept = KeptRules(root, env)
    for one in found:
        assert one.place
        try:
            kept.remove(one.verdict, rule, one.place)
        except OSError as error:
            raise ConfigError(f"{one.origin} cannot be changed: {error}") from error
    return found
