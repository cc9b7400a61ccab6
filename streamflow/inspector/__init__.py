"""The inspector: a recording as one page that shows how bytes became frames, events, text and sentences."""

from streamflow.inspector.export import pytest_of
from streamflow.inspector.page import page_of
from streamflow.inspector.trace import Trace, trace_of
from streamflow.inspector.verdict import Finding, verdict_of

__all__ = ["Finding", "Trace", "page_of", "pytest_of", "trace_of", "verdict_of"]
