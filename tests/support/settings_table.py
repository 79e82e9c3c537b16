"""The table of settings in docs/profiles.md; run as a program, this writes it there."""

import re
from pathlib import Path

from msgspec.structs import asdict

from holdfast.config import SETTINGS, setting_text
from holdfast.packing.profile import BUILT_IN, Profile
from holdfast.packing.unused_settings import unused_settings

PAGE = Path(__file__).parents[2] / "docs/profiles.md"
TABLE = re.compile(r"(?<=<!-- settings: begin -->\n).*?(?=\n<!-- settings: end -->)", re.DOTALL)


def settings_table() -> str:
    """All settings with their defaults per built-in profile and their variables. A dash stands where a profile does
    not use a setting."""
    head = ["setting", "what it is", *(f"`{name}`" for name in BUILT_IN), "environment"]
    rows = [head, ["---"] * len(head)]
    for setting in SETTINGS.values():
        cells = [_cell(profile, setting.name) for profile in BUILT_IN.values()]
        variables = ", ".join(f"`{variable}`" for variable in setting.variables)
        rows.append([f"`{setting.name}`", setting.about, *cells, variables])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cell(profile: Profile, setting: str) -> str:
    if setting in unused_settings(asdict(profile)):
        return "–"
    return setting_text(getattr(profile, setting)) if setting != "mock_prompt" else "see below"


if __name__ == "__main__":
    table = settings_table()
    PAGE.write_text(TABLE.sub(lambda _: table, PAGE.read_text("utf-8")), "utf-8")
