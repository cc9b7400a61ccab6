from collections.abc import Sequence
from typing import Any

from streamflow.events import Chunk
from streamflow.stage import Operator, lift


class VisibleFilter:
    """Lets through the visible chunks; a plain string is visible text."""

    takes, gives = "events", "events"

    def feed(self, item: Any) -> list[Any]:
        """Keep a visible chunk or a string."""
        if item.__class__ is Chunk:
            return [item] if item.visible else []
        return [item] if item.__class__ is str else []

    def feed_all(self, items: Sequence[Any], out: list[Any]) -> None:
        """Keep those of several."""
        for item in items:
            if item.visible if item.__class__ is Chunk else item.__class__ is str:
                out.append(item)

    def flush(self) -> list[Any]:
        """Nothing is held."""
        return []

    def abort(self, error: BaseException) -> list[Any]:
        """Nothing is held."""
        return []


def visible_filter() -> Operator[Any, Any]:
    """Only what a person should see: the visible chunks.

    ```
    events  --BlockStart--Chunk(thinking)--Chunk(text)--BlockComplete--|
    out     -------------------------------Chunk(text)-----------------|
    ```

    >>> import streamflow as sf
    >>> [chunk.text for chunk in sf.run([Chunk(0, "thinking", "hm", False), Chunk(1, "text", "Hi")], visible_filter())]
    ['Hi']
    """
    return lift(VisibleFilter, "visible_filter")
