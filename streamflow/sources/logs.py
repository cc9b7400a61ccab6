"""Logging through the standard logger ``streamflow``: counts and times, never contents and never keys."""

import logging
import os
import sys
from collections.abc import Mapping
from typing import Any

from streamflow.errors import UsageError, redact_secrets

LOGGER = logging.getLogger("streamflow")
VARIABLE = "STREAMFLOW_LOG"
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class RedactingFormatter(logging.Formatter):
    """One line a record; what looks like a key is replaced, also in tracebacks.

    >>> record = logging.LogRecord("streamflow", logging.INFO, "", 0, "x-api-key: abc, line\\nforged", (), None)
    >>> RedactingFormatter("%(message)s").format(record)
    'x-api-key: [redacted], line\\\\nforged'
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record as text; what could forge a line or steer a terminal is escaped, the rest is indented."""
        return redact_secrets(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name of the standard library
        """The first line of a record."""
        return _escaped(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name of the standard library
        """The traceback; no line of it looks like a record."""
        return "\n".join("    " + _escaped(line) for line in super().formatException(ei).split("\n"))


def _escaped(text: str) -> str:
    """Everything that is no printable character as Python would write it; spaces stay."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def configure_logging(environ: Mapping[str, str] = os.environ) -> None:
    """Show the log on stderr if ``STREAMFLOW_LOG`` asks for it and the program has not set up the logger itself.

    >>> configure_logging({"STREAMFLOW_LOG": "everything"})
    Traceback (most recent call last):
    streamflow.errors.UsageError: STREAMFLOW_LOG='everything': choose one of debug, info, warning, error
    """
    name = environ.get(VARIABLE, "").strip().lower()
    if not name:
        return
    level = _LEVELS.get(name)
    if level is None:
        raise UsageError(f"{VARIABLE}={name!r}: choose one of {', '.join(_LEVELS)}")
    LOGGER.setLevel(level)
    if not LOGGER.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(RedactingFormatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
        LOGGER.addHandler(handler)
        LOGGER.propagate = False
