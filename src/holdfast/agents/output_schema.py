"""An answer that a program reads: JSON that is valid against a schema.

Rule: what is handed on was validated. A schema that leads out of its file is refused; nothing is fetched.
"""

import json
import re
from pathlib import Path
from typing import Any

from holdfast.errors import InputError
from holdfast.messages import Json

MOST_PROBLEMS = 5
LONGEST_PROBLEM = 300
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)


class OutputSchema:
    """**Contract:** made once per run; `read` is pure."""

    def __init__(self, schema: Json, where: str) -> None:
        # Loaded late: only a run that asks for it needs the validator, and it takes a tenth of a second.
        from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]  # noqa: PLC0415
        from jsonschema.validators import validator_for  # type: ignore[import-untyped]  # noqa: PLC0415
        from referencing import Registry  # noqa: PLC0415

        kind: Any = validator_for(schema)
        try:
            kind.check_schema(schema)
        except SchemaError as error:
            place = "/".join(map(str, error.path)) or "the top"
            raise InputError(f"{where} is no JSON Schema: {error.message}", hint=f"look at {place}") from None
        self._validator = kind(schema, registry=Registry())
        self._where = where
        self._text = json.dumps(schema, ensure_ascii=False, sort_keys=True)

    @property
    def request(self) -> str:
        """What the model is told before it begins."""
        return (
            "Your last message, when the work is done, must be one JSON value that is valid against the JSON "
            f"Schema below: the JSON alone, without any words or code fences around it.\n{self._text}"
        )

    def again(self, problems: list[str]) -> str:
        """What the model is told of an answer that will not do."""
        listed = "\n".join(f"- {problem}" for problem in problems)
        return (
            f"Your answer is not valid against the JSON Schema:\n{listed}\nAnswer again with the JSON alone."
        )

    def read(self, text: str) -> tuple[Json, list[str]]:
        """The value of an answer, and what is wrong with it; a fence around it is forgiven."""
        from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as above

        fenced = _FENCE.search(text)
        try:
            value = json.loads((fenced[1] if fenced else text).strip())
        except ValueError as error:
            return None, [f"it is no JSON: {error}"]
        try:
            errors = sorted(self._validator.iter_errors(value), key=lambda error: error.json_path)
        except Unresolvable as error:
            raise InputError(
                f"{self._where} refers to `{error.ref}`, which is not in it",
                hint="write it out under `$defs`",
            ) from None
        return value, [f"{e.json_path}: {e.message}"[:LONGEST_PROBLEM] for e in errors[:MOST_PROBLEMS]]


def load_schema(path: Path) -> OutputSchema:
    try:
        schema = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"the schema {path} cannot be read: {error}") from None
    if not isinstance(schema, dict | bool):
        raise InputError(f"{path} is no JSON Schema", hint="a schema is an object")
    return OutputSchema(schema, str(path))
