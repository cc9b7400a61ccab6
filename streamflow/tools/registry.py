"""Tools: what the model is told about them, how their arguments are checked, what runs."""

import inspect
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_type_hints

import msgspec
import pydantic

from streamflow.errors import UsageError
from streamflow.events import ToolCall
from streamflow.requests.blocks import ToolResultBlock
from streamflow.text.tool_schemas import ToolSchema, arguments_model, tool_schema
from streamflow.tools.schema_check import problems


class ToolContext(msgspec.Struct, frozen=True):
    """What a tool may know about the conversation that calls it; a parameter of this type is filled in.

    ``preamble`` is the text before the first call of this turn, ``raw_text`` all text of the turn, ``accumulated`` all
    text of the loop so far, ``depth`` the number of the round from 0.

    >>> ToolContext(ToolCall("c", "f")).depth
    0
    """

    call: ToolCall
    raw_text: str = ""
    preamble: str = ""
    depth: int = 0
    previous_results: tuple[ToolResultBlock, ...] = ()
    accumulated: str = ""


class InvalidArguments(Exception):
    """The arguments do not fit the tool; the message is for the model."""


class Tool:
    """A tool that can be run: a typed function, a pydantic model with a function, or a JSON schema with one.

    >>> def weather(city: str, days: int = 1) -> str:
    ...     "The weather of a city."
    ...     return f"sunny in {city}"
    >>> tool = Tool(weather)
    >>> tool.name, tool.prepare({"city": "Rome"}, None)()
    ('weather', 'sunny in Rome')
    """

    def __init__(self, source: Any, function: Callable[..., Any] | None = None) -> None:
        is_model = isinstance(source, type) and issubclass(source, pydantic.BaseModel)
        if function is None and is_model:
            function = getattr(source, "run", None)
        elif function is None and callable(source):
            function = source
        self.function = function
        self._model: type[pydantic.BaseModel] | None = source if is_model else None
        self._context_name = None if function is None else _context_parameter(function)
        self._takes_names = not is_model and function is source
        if self._takes_names:
            plain = _without(source, self._context_name)
            self.schema = tool_schema(plain)
            self._model = arguments_model(plain)
        else:
            self.schema = tool_schema(source)

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self.schema.name

    @property
    def is_async(self) -> bool:
        """True when it runs in the event loop; otherwise it runs in a thread."""
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(
            getattr(self.function, "__call__", None)  # noqa: B004  an object with an async __call__
        )

    def prepare(self, arguments: Any, context: ToolContext | None) -> Callable[[], Any]:
        """Check the arguments; what is returned runs the tool with them. `InvalidArguments` when they do not fit."""
        if self.function is None:
            raise InvalidArguments(f"the tool {self.name} has nothing to run")
        extra = {self._context_name: context} if self._context_name else {}
        function = self.function
        if self._model is None:
            if found := problems(self.schema.parameters, arguments):
                raise InvalidArguments("; ".join(found))
            if isinstance(arguments, Mapping) and not self._takes_one(function):
                return lambda: function(**arguments, **extra)
            return lambda: function(arguments, **extra)
        try:
            checked = self._model.model_validate(arguments)
        except pydantic.ValidationError as error:
            raise InvalidArguments(_said(error)) from error
        if self._takes_names:
            values = {str(field.alias): getattr(checked, name) for name, field in type(checked).model_fields.items()}
            return lambda: function(**values, **extra)
        return lambda: function(checked, **extra)

    def _takes_one(self, function: Callable[..., Any]) -> bool:
        """True for a function that wants the arguments as one object, not by name."""
        wanted = [parameter for name, parameter in _parameters(function).items() if name != self._context_name]
        if len(wanted) != 1 or wanted[0].kind in (wanted[0].VAR_KEYWORD, wanted[0].KEYWORD_ONLY):
            return False
        return wanted[0].name not in (self.schema.parameters.get("properties") or {})

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"


def _said(error: pydantic.ValidationError) -> str:
    parts = []
    for fault in error.errors(include_url=False, include_context=False, include_input=False):
        place = ".".join(str(part) for part in fault["loc"])
        parts.append(f"{place}: {fault['msg']}" if place else fault["msg"])
    return "; ".join(parts)


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some builtins have none
        return {}


def _context_parameter(function: Callable[..., Any]) -> str | None:
    try:
        hints = get_type_hints(function)
    except (NameError, TypeError):
        hints = {}
    return next((name for name in _parameters(function) if hints.get(name) is ToolContext), None)


def _without(function: Any, name: str | None) -> Any:
    """The same function as it looks to the model, without the parameter that is filled in."""
    if name is None:
        return function
    inner = getattr(function, "__func__", function)
    if not isinstance(inner, types.FunctionType):
        raise UsageError(f"tools: {function!r} takes a ToolContext, so it must be a function or a method")
    signature = inspect.signature(function)
    shown = types.FunctionType(inner.__code__, inner.__globals__, inner.__name__, None, inner.__closure__)
    shown.__doc__ = inner.__doc__
    hints = get_type_hints(inner, include_extras=True)
    shown.__annotations__ = {key: hint for key, hint in hints.items() if key != name}
    kept = [parameter for parameter in signature.parameters.values() if parameter.name != name]
    shown.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    return shown


def tool_table(tools: Iterable[Any] | Mapping[str, Any], *, must_run: bool = True) -> dict[str, Tool]:
    """The tools by name. A mapping gives each function its name.

    >>> def now() -> str:
    ...     return "noon"
    >>> list(tool_table([now]))
    ['now']
    """
    if isinstance(tools, Mapping):
        made = [_renamed(Tool(source), name) for name, source in tools.items()]
    elif isinstance(tools, str) or not isinstance(tools, Iterable):
        raise UsageError(f"tools must be a list, not {type(tools).__name__}")
    else:
        made = [source if isinstance(source, Tool) else Tool(source) for source in tools]
    table: dict[str, Tool] = {}
    for tool in made:
        if tool.name in table:
            raise UsageError(f"tools: the name {tool.name!r} is given twice")
        if must_run and tool.function is None:
            raise UsageError(
                f"the tool {tool.name!r} has nothing to run: pass sf.Tool(schema, function), give the model a method "
                "run(self), or use execute='manual'"
            )
        table[tool.name] = tool
    return table


def _renamed(tool: Tool, name: str) -> Tool:
    tool.schema = ToolSchema(name, tool.schema.description, tool.schema.parameters)
    return tool
