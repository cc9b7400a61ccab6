"""Tools as people give them (pydantic models, typed functions, JSON schemas of any vendor) to one shape."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, get_type_hints

import msgspec
import pydantic

from streamflow.errors import UsageError

_SCHEMA_FIELDS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "schema")
_EXPECTED = "a pydantic model, a typed function, or a JSON schema with a name"


def _no_arguments() -> dict[str, Any]:
    return {"type": "object", "properties": {}}


class ToolSchema(msgspec.Struct, frozen=True):
    """What a model is told about a tool: its name, what it does, the JSON schema of its arguments.

    >>> ToolSchema("now").parameters["type"]
    'object'
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = msgspec.field(default_factory=_no_arguments)


def tool_schemas(tools: Iterable[Any] | Mapping[str, Any] | None, *, names: bool = False) -> dict[str, ToolSchema]:
    """The schemas by name, in the order given. With ``names=True`` a bare name stands for a tool without a schema.

    >>> def weather(city: str, days: int = 1) -> str:
    ...     "The weather of a city."
    >>> schema = tool_schemas([weather])["weather"]
    >>> schema.description, schema.parameters["required"]
    ('The weather of a city.', ['city'])
    >>> list(tool_schemas([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]))
    ['f']
    """
    if tools is None:
        return {}
    if isinstance(tools, str | bytes) or not isinstance(tools, Iterable):
        raise UsageError(f"tools={tools!r}: give a list, each entry {_EXPECTED}")
    if isinstance(tools, Mapping):
        entries = [_named(name, tool) for name, tool in tools.items()]
    else:
        entries = [tool_schema(tool, names=names) for tool in tools]
    out: dict[str, ToolSchema] = {}
    for entry in entries:
        if entry.name in out:
            raise UsageError(f"tools: the name {entry.name!r} is given twice")
        out[entry.name] = entry
    return out


def tool_schema(tool: Any, *, names: bool = False) -> ToolSchema:
    """One tool in the common shape.

    >>> tool_schema({"name": "f", "input_schema": {"type": "object"}}).name
    'f'
    """
    if isinstance(tool, ToolSchema):
        return tool
    if names and isinstance(tool, str) and tool:
        return ToolSchema(tool)
    if isinstance(tool, Mapping):
        return _from_mapping(tool)
    if isinstance(tool, type) and issubclass(tool, pydantic.BaseModel):
        return ToolSchema(tool.__name__, inspect.cleandoc(tool.__doc__ or ""), tool.model_json_schema())
    if inspect.isroutine(tool):
        return _from_function(tool)
    raise UsageError(f"tools: {tool!r} is no tool; give {_EXPECTED}")


def _named(name: str, tool: Any) -> ToolSchema:
    if isinstance(tool, Mapping) and not tool.get("name") and "function" not in tool:
        tool = {"name": name, **({"parameters": tool} if _is_schema(tool) else tool)}
    return msgspec.structs.replace(tool_schema(tool), name=name)


def _from_mapping(tool: Mapping[str, Any]) -> ToolSchema:
    inner = tool.get("function", tool.get("toolSpec", tool))
    if not isinstance(inner, Mapping):
        raise UsageError(f"tools: {dict(tool)!r} has no name; give {_EXPECTED}")
    name = inner.get("name")
    schema: Any = next((inner[field] for field in _SCHEMA_FIELDS if inner.get(field) is not None), None)
    if name is None and _is_schema(inner):
        name, schema = inner.get("title"), inner
    if isinstance(schema, Mapping) and set(schema) == {"json"}:
        schema = schema["json"]  # Bedrock's Converse wraps the schema once more
    if not isinstance(name, str) or not name:
        raise UsageError(f"tools: {dict(tool)!r} has no name; give {_EXPECTED}")
    if schema is None:
        schema = _no_arguments()
    elif isinstance(schema, type) and issubclass(schema, pydantic.BaseModel):
        schema = schema.model_json_schema()
    if not isinstance(schema, Mapping):
        raise UsageError(f"tools: the schema of {name!r} must be an object, not {schema!r}")
    return ToolSchema(name, str(inner.get("description") or ""), dict(schema))


def _is_schema(value: Mapping[str, Any]) -> bool:
    return value.get("type") == "object" or "properties" in value


def _from_function(function: Callable[..., Any]) -> ToolSchema:
    name = function.__name__
    if not name.isidentifier():
        raise UsageError(f"tools: {function!r} has no name; give a named function")
    try:
        schema = arguments_model(function).model_json_schema()
    except (pydantic.errors.PydanticUserError, NameError) as error:
        raise UsageError(f"tools: the types of {name}() have no JSON schema: {error}") from error
    for generated in ("title", "additionalProperties"):
        schema.pop(generated, None)
    return ToolSchema(name, inspect.cleandoc(function.__doc__ or ""), schema)


def arguments_model(function: Callable[..., Any]) -> type[pydantic.BaseModel]:
    """A model of a function's arguments, by which they are described and checked.

    The names of the parameters are the aliases of its fields: as field names some would not do, `schema` for one.

    >>> def search(schema: str, _page: int = 1) -> str: ...
    >>> [field.alias for field in arguments_model(search).model_fields.values()]
    ['schema', '_page']
    """
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for place, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise UsageError(
                f"tools: {function.__name__}({parameter}) must be an ordinary parameter: models give arguments by name"
            )
        if parameter.name not in hints:
            raise UsageError(f"tools: the parameter {parameter.name!r} of {function.__name__}() has no type")
        default = ... if parameter.default is parameter.empty else parameter.default
        hint = hints[parameter.name]
        fields[f"argument_{place}"] = (Annotated[hint, *_notes(hint), pydantic.Field(alias=parameter.name)], default)
    config = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    return pydantic.create_model(function.__name__, __config__=config, **fields)


def _notes(hint: Any) -> list[Any]:
    """What ``Annotated[str, "a town"]`` says about a parameter."""
    words = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, str)]
    return [pydantic.Field(description=words[0])] if words else []
