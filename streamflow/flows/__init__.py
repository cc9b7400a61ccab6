"""Ready-made flows, built from public parts only: starting points to copy from."""

from streamflow.flows.agent import agent
from streamflow.flows.chat import chat
from streamflow.flows.voice import voice

__all__ = ["agent", "chat", "voice"]
