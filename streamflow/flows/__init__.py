"""Ready-made flows, built from public parts only: starting points to copy from."""

from streamflow.flows.chat import chat
from streamflow.flows.voice import voice

__all__ = ["chat", "voice"]
