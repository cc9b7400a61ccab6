"""The tables of tags: which tags are structure, what kind of block each makes, what stands inside what.

A table is a plain list of `Tag` rows. Users add one with a single call (`register_table`); no code knows a tag by name.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from streamflow.errors import UsageError

ROLES = ("block", "wrapper", "call", "argument", "result", "error", "json", "channel")
_NOT_IN_NAMES = frozenset(" \t\r\n\"'<>/=")


class Tag(msgspec.Struct, frozen=True):
    """One row of a table.

    ``name`` starts with a letter, or is a literal marker (``"[THINK]"``) that needs its ``close``. ``kind`` is the kind
    of the block (the name by default). ``nests``: the same tag inside is counted. ``inside`` names the tags in which
    this one means something, ``required`` the attributes without which it is text, ``aliases`` other spellings of the
    name, ``closes`` other spellings of the close.

    ``role``: ``block`` (content up to the close), ``wrapper`` (only its inner tags matter), ``call`` with ``argument``
    inside, ``result`` or ``error`` of a tool, ``json`` (a call as a JSON object between the tags), ``channel``
    (gpt-oss messages).

    >>> Tag("plan").kind, Tag("think", kind="thinking").visible
    ('plan', False)
    """

    name: str
    kind: str = ""
    visible: bool = False
    nests: bool = False
    role: str = "block"
    inside: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    close: str = ""
    closes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in ("name", "kind", "close", "role"):
            if not isinstance(getattr(self, field), str):
                raise UsageError(f"Tag.{field}: a text is needed, not {getattr(self, field)!r}")
        for field in ("inside", "required", "aliases", "closes"):
            msgspec.structs.force_setattr(self, field, _texts(field, getattr(self, field)))
        for field in ("visible", "nests"):
            if not isinstance(getattr(self, field), bool):
                raise UsageError(f"Tag.{field}: True or False is needed, not {getattr(self, field)!r}")
        if self.role not in ROLES:
            raise UsageError(f"Tag.role={self.role!r}: choose one of {', '.join(ROLES)}")
        if not self.name:
            raise UsageError("Tag.name: a name is needed, not ''")
        for name in self.names:
            if is_literal(name):
                if not self.close or self.role != "block":
                    raise UsageError(
                        f"Tag.close: the literal marker {name!r} needs one, and the role 'block'; "
                        "the name of a tag starts with a letter"
                    )
            elif not _NOT_IN_NAMES.isdisjoint(name):
                raise UsageError(f"Tag.name={name!r}: no white space, quotes, '<', '>', '/' or '='")
        if not self.kind:
            msgspec.structs.force_setattr(self, "kind", self.name)

    @property
    def names(self) -> tuple[str, ...]:
        """All spellings."""
        return (self.name, *self.aliases)


def is_literal(name: str) -> bool:
    """True for a marker that is no tag: it starts neither with a letter nor with a bar that names a dialect.

    >>> is_literal("[THINK]"), is_literal("think"), is_literal("｜DSML｜invoke")
    (True, False, False)
    """
    return not (name[:1].isalpha() or name[:1] in "_|｜")


def _texts(field: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = (value,)
    entries = tuple(value) if isinstance(value, Iterable) else (None,)
    if not all(isinstance(entry, str) and entry for entry in entries):
        raise UsageError(f"Tag.{field}: a list of names is needed, not {value!r}")
    return entries


def _prefixed(*tags: Tag) -> list[Tag]:
    """The same tags, each also with the prefix under which Anthropic's models know them."""
    return [msgspec.structs.replace(tag, aliases=(f"antml:{tag.name}",)) for tag in tags]


def _dsml(*tags: Tag) -> list[Tag]:
    """The same tags as DeepSeek writes them: with full-width bars or plain ones, the slash before or after the bars."""
    out = []
    for tag in tags:
        full, plain = f"｜DSML｜{tag.name}", f"|DSML|{tag.name}"
        out.append(
            msgspec.structs.replace(
                tag,
                name=full,
                aliases=(plain,),
                inside=tuple(f"｜DSML｜{parent}" for parent in tag.inside),
                closes=(f"<｜DSML｜/{tag.name}", f"<|DSML|/{tag.name}"),
            )
        )
    return out


_CALLS = (
    Tag("function_calls", role="wrapper"),
    Tag("invoke", kind="tool_call", role="call", inside=("function_calls",), required=("name",)),
    Tag("parameter", role="argument", inside=("invoke",), required=("name",), nests=True),
)

_TABLES: dict[str, tuple[Tag, ...]] = {
    "thinking": (
        *_prefixed(Tag("thinking", kind="thinking"), Tag("think", kind="thinking")),
        Tag("mm:think", kind="thinking"),
        Tag("[THINK]", kind="thinking", close="[/THINK]"),
    ),
    "channels": (Tag("|channel|", kind="thinking", role="channel"),),
    "function_calls": tuple(
        _prefixed(
            *_CALLS,
            Tag("function_results", role="wrapper"),
            Tag("result", kind="tool_result", role="result", inside=("function_results",)),
            Tag("error", kind="tool_result", role="error", inside=("function_results",)),
        )
    ),
    "tool_call": (Tag("tool_call", role="json"),),
    "tool": (
        Tag("tool", kind="tool_call", role="call", required=("name",)),
        Tag("arguments", role="wrapper", inside=("tool",)),
        Tag("arg", role="argument", inside=("tool", "arguments"), required=("name",), nests=True),
    ),
    "files": (
        Tag("write_file", required=("path",), nests=True),
        Tag("edit_file", required=("path",), nests=True),
        Tag("run_bash", nests=True),
    ),
    "dsml": tuple(_dsml(*_CALLS)),
}

READY_TABLES = tuple(_TABLES)


def register_table(name: str, *tags: Tag) -> None:
    """Make a table of tags known under a name, for every operator made from now on.

    >>> register_table("example", Tag("plan", kind="plan"), Tag("aside", visible=True))
    >>> [tag.name for tag in table_tags(("example",))]
    ['plan', 'aside']
    """
    if not isinstance(name, str) or not name:
        raise UsageError(f"register_table: name must be a text, not {name!r}")
    if name in READY_TABLES:
        raise UsageError(f"register_table: name {name!r} is a ready table; taken are {', '.join(READY_TABLES)}")
    if not tags or not all(isinstance(tag, Tag) for tag in tags):
        raise UsageError(f"register_table: tags of {name!r} must be one or more Tag(...), not {tags!r}")
    _check_parents(tags, f"register_table: tags of {name!r}")
    _TABLES[name] = tags


def table_tags(tables: Sequence[str | Tag]) -> list[Tag]:
    """The rows of the tables named; a `Tag` stands for itself.

    >>> [tag.name for tag in table_tags(("tool_call", Tag("plan")))]
    ['tool_call', 'plan']
    """
    if isinstance(tables, str):
        tables = (tables,)
    if not isinstance(tables, Iterable):
        raise UsageError(f"tables={tables!r}: give a list of names; known are {', '.join(_TABLES)}")
    tags: list[Tag] = []
    for table in tables:
        if isinstance(table, Tag):
            tags.append(table)
        elif isinstance(table, str) and table in _TABLES:
            tags += _TABLES[table]
        else:
            raise UsageError(f"tables: unknown table {table!r}; known are {', '.join(_TABLES)}")
    if not tags:
        raise UsageError(f"tables={tables!r}: give at least one of {', '.join(_TABLES)}")
    seen: dict[tuple[str, tuple[str, ...]], Tag] = {}
    for tag in tags:
        for spelling in tag.names:
            if seen.setdefault((spelling, tag.inside), tag) != tag:
                raise UsageError(f"tables: the tag {spelling!r} is in two of {tables!r} with different meanings")
    _check_parents(tags, "tables")
    return tags


def _check_parents(tags: Iterable[Tag], where: str) -> None:
    tags = list(tags)
    parents = {tag.name for tag in tags if tag.role in ("wrapper", "call")}
    for tag in tags:
        missing = [name for name in tag.inside if name not in parents]
        if missing:
            raise UsageError(
                f"{where}: {tag.name!r} has inside={missing[0]!r}, which is no wrapper or call here; "
                f"those are {', '.join(sorted(parents)) or 'none'}"
            )
        if tag.role == "argument" and not tag.inside:
            raise UsageError(f"{where}: the argument {tag.name!r} needs inside=")
