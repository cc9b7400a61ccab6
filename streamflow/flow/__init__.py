"""Flows: one stream, many subscribers."""

from streamflow.flow.branch import Branch
from streamflow.flow.flow import Flow
from streamflow.flow.graph import FlowGraph
from streamflow.flow.policies import Policy, block, conflate, drop_oldest, error, unbounded

__all__ = ["Branch", "Flow", "FlowGraph", "Policy", "block", "conflate", "drop_oldest", "error", "unbounded"]
