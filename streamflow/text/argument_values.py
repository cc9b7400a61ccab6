"""What an argument written as text is worth: typed by its tool's schema, or by its own look where there is none."""

import json
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any

from streamflow.text.calls import parse_arguments
from streamflow.text.tool_schemas import ToolSchema

# Files and commands are text, whatever they look like: a JSON file must keep its white space.
TEXT_ARGUMENTS: dict[str, frozenset[str]] = {
    "write_file": frozenset(("path", "content")),
    "edit_file": frozenset(("path", "patch", "content")),
    "run_bash": frozenset(("command",)),
}

_TRUTHS = {"true": "true", "false": "false"}
_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "number": (int, float),
    "integer": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def quoted(text: str) -> str:
    """A piece of a JSON string, without the quotation marks around it.

    >>> quoted('say "hi"')
    'say \\\\"hi\\\\"'
    """
    return encode_basestring(text)[1:-1]


class ArgumentTypes:
    """The argument types of all tools that were given.

    >>> types = ArgumentTypes({"f": ToolSchema("f", "", {"properties": {"n": {"type": "integer"}}})})
    >>> types.of("F", "n"), types.of("f", "other"), types.of("write_file", "content")
    (('integer',), (), ('string',))
    """

    def __init__(self, schemas: Mapping[str, ToolSchema]) -> None:
        self._schemas = {name.lower(): schema.parameters for name, schema in schemas.items()}

    def of(self, tool: str, argument: str) -> tuple[str, ...]:
        """The JSON types that a value may have, () where nothing is known."""
        schema = self._schemas.get(tool.lower())
        if schema is None:
            return ("string",) if argument in TEXT_ARGUMENTS.get(tool.lower(), ()) else ()
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or argument not in properties:
            return ()
        return tuple(dict.fromkeys(_types(properties[argument], schema, depth=0)))


def _types(entry: Any, root: Mapping[str, Any], depth: int) -> list[str]:
    if not isinstance(entry, Mapping) or depth > 8:
        return []
    reference = entry.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        target: Any = root
        for key in reference[2:].split("/"):
            target = target.get(key) if isinstance(target, Mapping) else None
        return _types(target, root, depth + 1)
    declared = entry.get("type")
    if isinstance(declared, str):
        return [declared.lower()]  # Gemini writes STRING
    if isinstance(declared, list):
        return [str(name).lower() for name in declared]
    found: list[str] = []
    for field in ("anyOf", "oneOf", "allOf"):
        for option in entry.get(field) or ():
            found += _types(option, root, depth + 1)
    values = list(entry["enum"]) if isinstance(entry.get("enum"), list) else []
    values += [entry["const"]] if "const" in entry else []
    return found + [_type_of(value) for value in values]


def _type_of(value: Any) -> str:
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    return next((name for name, types in _JSON_TYPES.items() if isinstance(value, types)), "string")


def is_streamed(types: tuple[str, ...], first: str) -> bool:
    """Whether a value is text for certain once its first character is known, and can be passed on as it comes.

    >>> is_streamed((), "a"), is_streamed((), "{"), is_streamed(("string",), "{"), is_streamed(("integer",), "1")
    (True, False, True, False)
    """
    if not types or {"string", "object"} <= set(types) or {"string", "array"} <= set(types):
        return first not in "{["
    return "string" in types


def json_value(types: tuple[str, ...], text: str) -> tuple[str, str | None]:
    """The JSON of a value, and what is wrong with it.

    >>> json_value((), '{"a": 1}'), json_value((), "[draft]"), json_value(("integer",), " 3 ")
    (('{"a": 1}', None), ('"[draft]"', None), ('3', None))
    >>> json_value(("integer",), "three")
    ('"three"', "'three' is not of type integer")
    """
    stripped = text.strip()
    if not types or "string" in types:
        value, error = parse_arguments(stripped) if text[:1] in ("{", "[") else (None, "text")
        fits = error is None and (not types or _fits(value, types))
        return (stripped if fits else encode_basestring(text)), None
    if "boolean" in types and stripped.lower() in _TRUTHS:
        return _TRUTHS[stripped.lower()], None
    value, error = _parsed(stripped)
    if error is None and _fits(value, types):
        whole = isinstance(value, float) and value.is_integer() and "number" not in types
        return (str(int(value)) if whole else stripped), None
    return encode_basestring(text), f"{text!r} is not of type {' or '.join(types)}"


def _parsed(text: str) -> tuple[Any, str | None]:
    if text == "null":
        return None, None
    return parse_arguments(text) if text else (None, "empty")


def _fits(value: Any, types: tuple[str, ...]) -> bool:
    for name in types:
        if isinstance(value, bool) and name != "boolean":
            continue
        if isinstance(value, _JSON_TYPES.get(name, ())) and not (
            name == "integer" and isinstance(value, float) and not value.is_integer()
        ):
            return True
    return False


def json_name(name: str) -> str:
    """A member's name as JSON.

    >>> json_name("city")
    '"city"'
    """
    return json.dumps(name, ensure_ascii=False)
