"""Arguments against a JSON schema: as much of it as tools use. What is unknown here is not checked."""

from collections.abc import Callable
from typing import Any

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}
MAX_DEPTH = 64


def problems(schema: Any, value: Any, path: str = "arguments", root: Any = None, depth: int = 0) -> list[str]:
    """What is wrong with a value, in words that a model can act on; nothing when it fits.

    >>> problems({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}, {})
    ['arguments.city is missing']
    """
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return []
    root = schema if root is None else root
    if "$ref" in schema:
        return problems(_resolved(schema["$ref"], root), value, path, root, depth + 1)
    for union in ("anyOf", "oneOf"):
        if union in schema:
            found = [problems(option, value, path, root, depth + 1) for option in schema[union]]
            if found and [] not in found:
                return min(found, key=len)
    if "enum" in schema and value not in schema["enum"]:
        return [f"{path} is {value!r}; expected one of {schema['enum']}"]
    kinds = schema.get("type")
    if kinds is not None:
        allowed = [kinds] if isinstance(kinds, str) else kinds
        if not any(_TYPES.get(kind, lambda _: True)(value) for kind in allowed):
            return [f"{path} is {type(value).__name__}; expected {' or '.join(allowed)}"]
    if isinstance(value, dict):
        return _object_problems(schema, value, path, root, depth)
    if isinstance(value, list):
        items = schema.get("items")
        return [
            problem
            for place, item in enumerate(value)
            for problem in problems(items, item, f"{path}[{place}]", root, depth + 1)
        ]
    return []


def _object_problems(schema: dict[str, Any], value: dict[str, Any], path: str, root: Any, depth: int) -> list[str]:
    known = schema.get("properties") or {}
    found = [f"{path}.{name} is missing" for name in schema.get("required") or () if name not in value]
    if schema.get("additionalProperties") is False:
        found += [f"{path}.{name} is unknown" for name in value if name not in known]
    for name, item in value.items():
        if name in known:
            found += problems(known[name], item, f"{path}.{name}", root, depth + 1)
    return found


def _resolved(reference: str, root: Any) -> Any:
    target = root
    for part in reference.removeprefix("#/").split("/"):
        target = target.get(part) if isinstance(target, dict) else None
    return target
