"""Which tags can begin and end where: the tables of tags, compiled into one set of markers for each place."""

from collections.abc import Iterable, Mapping, Sequence

from streamflow.errors import UsageError
from streamflow.text.argument_values import ArgumentTypes
from streamflow.text.holdback import CLOSE, MAX_TAG, OPEN, Markers
from streamflow.text.tags import Tag, is_literal, table_tags
from streamflow.text.tool_schemas import ToolSchema

CDATA = "<![CDATA["
STRAY_KIND = "thinking"
"""Only a stray close of hidden thought is taken out: any other was never part of a structure."""


class Place:
    """The tags that mean something in one place, by the name that was written."""

    def __init__(self, markers: Markers, tags: Mapping[str, Tag]) -> None:
        self.first = markers.first
        self.search = markers.search
        self.tags = tags


class TagReader:
    """The compiled tables; one serves all streams of an operator.

    >>> reader = TagReader(("thinking",))
    >>> reader.prose(()).search("a <think>", 0, None, False).name
    'think'
    """

    def __init__(
        self,
        tables: Sequence[str | Tag],
        *,
        case_sensitive: bool = True,
        max_tag: int = MAX_TAG,
        schemas: Mapping[str, ToolSchema] | None = None,
    ) -> None:
        if not isinstance(max_tag, int) or isinstance(max_tag, bool) or max_tag < 2:
            raise UsageError(f"max_tag={max_tag!r}: give a number of characters above 1")
        if not isinstance(case_sensitive, bool):
            raise UsageError(f"case_sensitive={case_sensitive!r}: True or False")
        self.tags = table_tags(tables)
        self.types = ArgumentTypes(schemas or {})
        self.max_tag = max_tag
        self._case_sensitive = case_sensitive
        self._places: dict[tuple[str, ...], Place] = {}
        self.has_channels = any(tag.role == "channel" for tag in self.tags)
        self.has_tags = any(tag.role != "channel" for tag in self.tags)

    def opening(self, name: str) -> str:
        """The tag that opens a block under this name.

        >>> TagReader(("thinking",)).opening("think")
        '<think>'
        """
        known = [name for tag in self.tags if not tag.inside and tag.role == "block" for name in tag.names]
        if name not in known:
            raise UsageError(f"starts_open={name!r}: choose one of {', '.join(known)}")
        return name if is_literal(name) else f"<{name}>"

    def prose(self, wrappers: tuple[Tag, ...]) -> Place:
        """Visible text, inside these wrappers: what begins anywhere, what begins in them, and the last one's close."""
        key = ("prose", *(tag.name for tag in wrappers))
        place = self._places.get(key)
        if place is None:
            opens = [tag for tag in self.tags if not tag.inside or any(w.name in tag.inside for w in wrappers)]
            closes = [tag for tag in self.tags if tag.kind == STRAY_KIND and tag.role == "block"]
            place = self._places[key] = self._place(opens, [*closes, *wrappers[-1:]])
        return place

    def call(self, tag: Tag, wrappers: tuple[Tag, ...]) -> Place:
        """Inside a call, between its arguments: what belongs to it, its close, what shows that it was never closed."""
        key = ("call", tag.name, *(tag.name for tag in wrappers))
        place = self._places.get(key)
        if place is None:
            inner = self._descendants(tag)
            closes = [tag, *(entry for entry in inner if entry.role == "wrapper"), *wrappers]
            place = self._places[key] = self._place([*inner, tag], closes)
        return place

    def content(self, tag: Tag, name: str, cdata: bool = False) -> Place:
        """Inside a tag whose content is verbatim: its own close, its own name where it nests, CDATA in arguments."""
        key = ("content", name)
        place = self._places.get(key)
        if place is None:
            heads = dict(self._closes(tag, name))
            if tag.nests and not is_literal(name):
                heads["<" + name] = (OPEN, name)
            literals = [tag.close] if is_literal(name) else []
            literals += [CDATA] if cdata else []
            markers = Markers(heads, literals, case_sensitive=self._case_sensitive, max_tag=self.max_tag)
            place = self._places[key] = Place(markers, {name: tag})
        return place

    def _descendants(self, tag: Tag) -> list[Tag]:
        found: list[Tag] = []
        names = {tag.name}
        for entry in self.tags:
            if not names.isdisjoint(entry.inside):
                found.append(entry)
                if entry.role == "wrapper":
                    names.add(entry.name)
        return found

    def _closes(self, tag: Tag, name: str) -> Iterable[tuple[str, tuple[str, str]]]:
        if is_literal(name):
            return
        yield "</" + name, (CLOSE, name)
        position = tag.names.index(name)
        if position < len(tag.closes):
            yield tag.closes[position], (CLOSE, name)

    def _place(self, opens: Iterable[Tag], closes: Iterable[Tag]) -> Place:
        heads: dict[str, tuple[str, str]] = {}
        literals: list[str] = []
        tags: dict[str, Tag] = {}
        for tag in opens:
            if tag.role == "channel":
                continue
            for name in tag.names:
                tags[name] = tag
                if is_literal(name):
                    literals.append(name)
                else:
                    heads["<" + name] = (OPEN, name)
        for tag in closes:
            for name in tag.names:
                if is_literal(name):
                    literals.append(tag.close)
                heads.update(self._closes(tag, name))
        markers = Markers(
            heads,
            literals,
            case_sensitive=self._case_sensitive,
            max_tag=self.max_tag,
            required={name: tag.required for name, tag in tags.items()},
        )
        return Place(markers, tags)
