from typing import Any

from streamflow.events import Response, StreamCompleted
from streamflow.fold import Fold, with_response
from streamflow.stage import Operator, lift


class ToResponse:
    """Folds what passes and puts the result into the end."""

    takes, gives = "events", "events"

    def __init__(self) -> None:
        self._fold = Fold()

    def feed(self, item: Any) -> list[Any]:
        """Pass everything on; the end carries the response."""
        if item.__class__ is StreamCompleted:
            return [with_response(item, self._fold)]
        self._fold.add(item)
        return [item]

    def flush(self) -> list[Any]:
        """Nothing is held."""
        return []

    def abort(self, error: BaseException) -> list[Any]:
        """Nothing is held; the error gets what came so far as its ``partial``."""
        return []

    def partial(self, error: BaseException | None = None) -> Response:
        """What came so far."""
        return self._fold.response(error)

    @property
    def emitted(self) -> bool:
        """True once an event passed."""
        return self._fold.emitted


def to_response() -> Operator[Any, Any]:
    """Fill ``StreamCompleted.response`` with the fold of all events that passed; everything else is untouched.

    ```
    events  --Chunk(a)--BlockComplete--StreamCompleted----------------|
    out     --Chunk(a)--BlockComplete--StreamCompleted(response)------|
    ```

    >>> import streamflow as sf
    >>> from streamflow.events import BlockComplete
    >>> sf.run([BlockComplete(0, "text", "Hi"), StreamCompleted()], to_response())[-1].response.text
    'Hi'
    """
    return lift(ToResponse, "to_response")
