"""Tools that a model may call, and the loop that runs them."""

from streamflow.tools.loop import ToolLoop, tool_loop
from streamflow.tools.registry import Tool, ToolContext

__all__ = ["Tool", "ToolContext", "ToolLoop", "tool_loop"]
