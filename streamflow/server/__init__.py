"""Flows for browsers, apps and SDKs: an aiohttp application to run, or to mount in one's own."""

from streamflow.server.app import app
from streamflow.server.limits import Limits
from streamflow.server.service import Service
from streamflow.server.store import FlowState, FlowStore, MemoryFlowStore, Subscription
from streamflow.server.upstream import Ask

__all__ = ["Ask", "FlowState", "FlowStore", "Limits", "MemoryFlowStore", "Service", "Subscription", "app"]
