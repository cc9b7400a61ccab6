"""Running a chain step by step; a crash is no outcome."""

from typing import Any

from streamflow.errors import StreamflowError, UsageError
from streamflow.testing.laws import outcome
from streamflow.testing.laws.outcome import Outcome, brief, normal

__all__ = ["Outcome", "brief", "drive", "normal"]


def drive(operators: list[Any], items: list[Any], end: str = "complete") -> Outcome:
    """Feed the items one by one; ``end`` is ``complete`` or ``error``. Only our own errors are an outcome."""
    result = outcome.drive(operators, items, end)
    error = result.error
    if error is not None and (isinstance(error, UsageError) or not isinstance(error, StreamflowError)):
        raise error
    return result
