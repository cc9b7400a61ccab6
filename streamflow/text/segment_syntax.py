"""Which segment types are calls of tools: the tool's name, the argument that is the body, what the start must know.

The same row serves both ways of writing. A tag or a sentinel whose kind is the segment type has the body as its
content and the other arguments as attributes; a call of the tool by name has the body as one of its arguments, which
is then shown alone, decoded, as it arrives.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from streamflow.errors import UsageError


class SegmentSyntax(msgspec.Struct, frozen=True):
    """One row of the registry.

    ``after`` are the arguments that ``SEGMENT_START`` waits for, ``types`` how attributes written as text become
    values (``"bool"`` or ``"int"``), ``markers`` the optional lines between which a body stands untouched.

    >>> SegmentSyntax("note", tool_name="save_note", body="text").required
    ('text',)
    """

    segment_type: str
    tool_name: str
    body: str
    after: tuple[str, ...] = ()
    types: Mapping[str, str] = {}
    markers: tuple[tuple[str, str], ...] = (("__START_CONTENT__", "__END_CONTENT__"),)

    @property
    def required(self) -> tuple[str, ...]:
        """The arguments without which there is no call."""
        return (*self.after, self.body)


_PATCH_MARKERS = (("__START_PATCH__", "__END_PATCH__"), ("__START_CONTENT__", "__END_CONTENT__"))

_SYNTAXES: dict[str, SegmentSyntax] = {
    row.segment_type: row
    for row in (
        SegmentSyntax("write_file", "write_file", "content", after=("path",)),
        SegmentSyntax("edit_file", "edit_file", "patch", after=("path",), markers=_PATCH_MARKERS),
        SegmentSyntax(
            "run_bash", "run_bash", "command", types={"background": "bool", "timeout_seconds": "int"}, markers=()
        ),
    )
}


def register_syntax(
    segment_type: str,
    *,
    body: str,
    tool_name: str | None = None,
    after: Iterable[str] = (),
    types: Mapping[str, str] | None = None,
) -> SegmentSyntax:
    """Make a segment type a call of a tool, for every `segments` and `invocations` made from now on.

    >>> row = register_syntax("deploy_example", body="script", after=["target"])
    >>> row.tool_name, row.required
    ('deploy_example', ('target', 'script'))
    """
    syntax = SegmentSyntax(
        _name("segment_type", segment_type),
        _name("tool_name", segment_type if tool_name is None else tool_name),
        _name("body", body),
        after=_names("after", after),
        types=_types(types or {}),
    )
    if syntax.segment_type in RESERVED:
        raise UsageError(f"segment_type: {segment_type!r} is taken; reserved are {', '.join(sorted(RESERVED))}")
    _SYNTAXES[syntax.segment_type] = syntax
    return syntax


def registered_syntaxes() -> dict[str, SegmentSyntax]:
    """The rows by segment type, as they are now.

    >>> registered_syntaxes()["run_bash"].body
    'command'
    """
    return dict(_SYNTAXES)


RESERVED = frozenset({"text", "tool_call", "tool_result", "reasoning", "thinking", "image"})


def _name(option: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{option}: a name is needed, not {value!r}")
    return value


def _names(option: str, values: Iterable[str]) -> tuple[str, ...]:
    if isinstance(values, str):
        raise UsageError(f"{option}: a list of argument names is needed, not the text {values!r}")
    return tuple(_name(option, value) for value in values)


def _types(types: Mapping[str, str]) -> Mapping[str, str]:
    for name, type_name in types.items():
        if type_name not in _READERS:
            raise UsageError(f"types: {name} has {type_name!r}; allowed are {', '.join(_READERS)}")
    return dict(types)


_TRUTHS = {"true": True, "1": True, "yes": True, "": True, "false": False, "0": False, "no": False}


def _read_bool(text: str) -> bool | None:
    return _TRUTHS.get(text.strip().lower())


def _read_int(text: str) -> int | None:
    stripped = text.strip()
    return int(stripped) if stripped.isascii() and stripped.isdigit() and len(stripped) < 16 else None


_READERS: dict[str, Callable[[str], Any]] = {"bool": _read_bool, "int": _read_int}
_EXPECTED = {"bool": "true or false", "int": "a whole number"}


def typed_arguments(syntax: SegmentSyntax, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Attributes as values by the row's types, and what is wrong with them.

    >>> typed_arguments(registered_syntaxes()["run_bash"], {"background": "yes"})
    ({'background': True}, None)
    >>> typed_arguments(registered_syntaxes()["run_bash"], {"timeout_seconds": "soon"})[1]
    "timeout_seconds must be a whole number, not 'soon'"
    """
    out = dict(arguments)
    for name, type_name in syntax.types.items():
        value = out.get(name)
        if isinstance(value, str):
            out[name] = _READERS[type_name](value)
            if out[name] is None:
                out[name] = value
                return out, f"{name} must be {_EXPECTED[type_name]}, not {value!r}"
    return out, None
