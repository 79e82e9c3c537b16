"""Configuration: what can be set, and profiles, models, permissions and defaults from files.

Rule: the environment beats the project's file, that beats the person's own, and that beats what is built in. Given
the texts of the files and the environment the answer is a pure function of both; only `files` touches the disk.
"""

from holdfast.config.files import find_config, is_in_folder, load_config, user_config_path
from holdfast.config.profiles import ResolvedProfile, resolve_profile
from holdfast.config.settings import (
    OTHER_VARIABLES,
    SETTINGS,
    VARIABLE_ALIASES,
    Setting,
    read_env,
    setting_text,
)
from holdfast.config.values import Config, merge_configs, parse_config

__all__ = [
    "OTHER_VARIABLES",
    "SETTINGS",
    "VARIABLE_ALIASES",
    "Config",
    "ResolvedProfile",
    "Setting",
    "find_config",
    "is_in_folder",
    "load_config",
    "merge_configs",
    "parse_config",
    "read_env",
    "resolve_profile",
    "setting_text",
    "user_config_path",
]
