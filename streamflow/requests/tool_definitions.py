"""The tools of a request: those of the client, and those that a provider runs itself."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from streamflow.errors import UsageError
from streamflow.text.tool_schemas import ToolSchema, tool_schema, tool_schemas

# A dict with one of these types describes a function of the client; any other type is a tool of the provider.
_FUNCTION_TYPES = (None, "function", "object", "custom")
_DESCRIBES = ("function", "toolSpec", "parameters", "input_schema", "inputSchema", "parametersJsonSchema", "schema")


class ToolDefinition(msgspec.Struct, frozen=True):
    """A tool of the client (`schema`), or the provider's own words for one of its tools (`native`).

    >>> ToolDefinition(ToolSchema("now")).name
    'now'
    """

    schema: ToolSchema
    strict: bool | None = None
    native: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self.schema.name

    @property
    def description(self) -> str:
        """What it does."""
        return self.schema.description

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return self.schema.parameters


def tool_definitions(tools: Iterable[Any] | Mapping[str, Any] | None) -> list[ToolDefinition]:
    """The tools of a request: models, typed functions, JSON schemas; what is none of those goes on as it is.

    >>> [tool.name for tool in tool_definitions([{"name": "f", "input_schema": {"type": "object"}}])]
    ['f']
    >>> tool_definitions([{"type": "web_search_20250305", "name": "web_search"}])[0].native["name"]
    'web_search'
    """
    if tools is None:
        return []
    if isinstance(tools, Mapping):
        return [ToolDefinition(schema) for schema in tool_schemas(tools).values()]
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        raise UsageError(f"tools must be a list, not {type(tools).__name__}.")
    defined = [_definition(tool) for tool in tools]
    names = [tool.name for tool in defined if tool.native is None]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"tools: the name {name!r} is given twice.")
    return defined


def _definition(tool: Any) -> ToolDefinition:
    if isinstance(tool, ToolDefinition):
        return tool
    if isinstance(tool, Mapping):
        if _is_native(tool):
            return ToolDefinition(ToolSchema(str(tool.get("name") or tool.get("type") or "")), native=dict(tool))
        inner = tool.get("function")
        strict = tool.get("strict", inner.get("strict") if isinstance(inner, Mapping) else None)
        return ToolDefinition(tool_schema(tool), strict)
    registered = getattr(tool, "schema", None)
    return ToolDefinition(registered if isinstance(registered, ToolSchema) else tool_schema(tool))


def _is_native(tool: Mapping[str, Any]) -> bool:
    kind = tool.get("type")
    if kind not in _FUNCTION_TYPES:
        return True
    described = any(field in tool for field in _DESCRIBES)
    if kind == "custom":
        return not described
    return kind is None and "name" not in tool and "properties" not in tool and not described


def written_tools(tools: Iterable[ToolDefinition], write: Any) -> list[dict[str, Any]]:
    """Each tool in a dialect's words; native ones are in them already."""
    return [tool.native if tool.native is not None else write(tool) for tool in tools]
