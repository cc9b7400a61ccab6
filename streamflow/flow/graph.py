"""What a flow is made of, as data, as text and as mermaid."""

import inspect
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from streamflow.flow.flow import Flow


class BranchNode(msgspec.Struct, frozen=True):
    """A branch in the graph."""

    name: str
    operators: list[str]
    policy: str


class FlowGraph(msgspec.Struct, frozen=True):
    """Source, common operators, journal, branches.

    >>> ui = BranchNode("ui", ["visible_filter()"], "conflate")
    >>> graph = FlowGraph("simulator", ["xml_block_split()"], 12, 3, [ui])
    >>> print(graph.mermaid())
    flowchart LR
      source["simulator"] --> op0["xml_block_split()"]
      op0 --> journal[("journal: 12 events")]
      journal --> b0_0["visible_filter()"]
      b0_0 --> b0(["ui (conflate)"])
    """

    source: str
    operators: list[str]
    events: int
    subscribers: int
    branches: list[BranchNode]

    def mermaid(self) -> str:
        """The graph as mermaid text."""
        lines = ["flowchart LR"]
        last = f'source["{_label(self.source)}"]'
        for number, operator in enumerate(self.operators):
            lines.append(f'  {last} --> op{number}["{_label(operator)}"]')
            last = f"op{number}"
        lines.append(f'  {last} --> journal[("journal: {self.events} events")]')
        for number, branch in enumerate(self.branches):
            last = "journal"
            for place, operator in enumerate(branch.operators):
                lines.append(f'  {last} --> b{number}_{place}["{_label(operator)}"]')
                last = f"b{number}_{place}"
            lines.append(f'  {last} --> b{number}(["{_label(branch.name)} ({branch.policy})"])')
        return "\n".join(lines)

    def __str__(self) -> str:
        trunk = " | ".join([self.source, *self.operators, f"journal ({self.events} events)"])
        return "\n".join(
            [trunk]
            + [f"  +- {' | '.join([*branch.operators, branch.name])} ({branch.policy})" for branch in self.branches]
        )


def _label(text: str) -> str:
    return text.replace('"', "'")


def _name(value: Any) -> str:
    name = getattr(value, "name", None)
    if name is None:
        # An operator of another kind is a function inside the one that made it; reactivex's own are curried, with the
        # function that they curry (`filter_`) beside the arguments.
        cells = [cell.cell_contents for cell in getattr(value, "__closure__", None) or ()]
        curried = next((cell for cell in cells if inspect.isfunction(cell)), value)
        name = getattr(curried, "__qualname__", type(value).__name__).partition(".")[0].rstrip("_")
    return f"{name}()"


def graph_of(flow: "Flow") -> FlowGraph:
    """The graph of a flow as it is now."""
    return FlowGraph(
        type(flow.source).__name__,
        [_name(operator) for operator in flow.operators],
        flow.journal.next_seq,
        flow.subscriber_count,
        [
            BranchNode(branch.name, [_name(operator) for operator in branch.operators], branch.policy.name)
            for branch in flow.branches.values()
        ],
    )
