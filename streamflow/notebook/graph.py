"""Graph: which operators and branches a stream runs through, with what the probes among them saw."""

from typing import TYPE_CHECKING, Any, NamedTuple

from streamflow.errors import UsageError
from streamflow.flow import Flow
from streamflow.flow.graph import FlowGraph
from streamflow.notebook.figure import Canvas, Drawing, clipped, duration
from streamflow.notebook.live import live
from streamflow.notebook.looks import COLOURS, colour_of
from streamflow.notebook.measures import StageFigures, stage_figures
from streamflow.probing import Probe
from streamflow.stage import Operator

if TYPE_CHECKING:
    from streamflow.notebook.widget import LiveFigure

_BOX, _HEIGHT, _GAP, _ROW, _TOP = 152, 66, 44, 86, 20


class Node(NamedTuple):
    """A box: an operator, the source, the journal or the end of a branch."""

    name: str
    kind: str
    lines: tuple[str, ...] = ()
    figures: StageFigures | None = None


class Path(NamedTuple):
    """Boxes in a row; a branch hangs at the end of the trunk."""

    nodes: list[Node]


class Graph(Drawing):
    """The graph of a `Probe`, of a `Flow` or of what ``Flow.graph()`` gives.

    A probe shows for each operator the items in and out, items a second, characters held and how long outputs
    waited. In a flow an operator that is a probe is shown with its stages: ``flow.branch("ui", sf.probe(...))``.

    >>> import streamflow as sf
    >>> from streamflow.operators import visible_filter
    >>> print(Graph(sf.probe(visible_filter())))
    source -> visible_filter (0 in, 0 out)
    >>> print(Graph(sf.Flow([])).mermaid())
    flowchart LR
      n0["list"] --> n1["journal<br/>0 events<br/>0 listening"]
    """

    def __init__(self, source: Any) -> None:
        if not isinstance(source, Probe | Flow | FlowGraph):
            raise UsageError(f"Graph takes a Probe, a Flow or flow.graph(), not {type(source).__name__}")
        self._source = source

    def _paths(self) -> tuple[Path, list[Path]]:
        source = self._source
        if isinstance(source, Probe):
            return Path([Node("source", "source"), *_stages(source)]), []
        graph = source.graph() if isinstance(source, Flow) else source
        trunk = [Node(graph.source, "source")]
        trunk += _operators(source.operators if isinstance(source, Flow) else (), graph.operators)
        trunk.append(Node("journal", "journal", (f"{graph.events} events", f"{graph.subscribers} listening")))
        branches = []
        for branch in graph.branches:
            made = source.branches[branch.name].operators if isinstance(source, Flow) else ()
            nodes = _operators(made, branch.operators)
            branches.append(Path([*nodes, Node(branch.name, "branch", (branch.policy,))]))
        return Path(trunk), branches

    def svg(self) -> str:
        """The figure as it is now."""
        trunk, branches = self._paths()
        rows = max(1, len(branches))
        columns = len(trunk.nodes) + max((len(path.nodes) for path in branches), default=0)
        width = 20 + columns * (_BOX + _GAP) - _GAP + 20
        canvas = Canvas(max(400, width), _TOP * 2 + rows * _ROW - (_ROW - _HEIGHT))
        middle = _TOP + ((rows - 1) * _ROW) / 2
        _row(canvas, trunk.nodes, 20, middle)
        start = 20 + len(trunk.nodes) * (_BOX + _GAP)
        for number, path in enumerate(branches):
            y = _TOP + number * _ROW
            _arrow(canvas, start - _GAP, middle + _HEIGHT / 2, start, y + _HEIGHT / 2)
            _row(canvas, path.nodes, start, y)
        return canvas.svg("graph: " + str(self))

    def live(self, *, speed: float = 1.0) -> "LiveFigure":
        """The graph of a probe as a widget that is drawn anew while the stream runs."""
        if not isinstance(self._source, Probe):
            raise UsageError("only the graph of a probe can be live: Graph(sf.probe(...)).live()")
        return live(Graph, self._source, speed)

    def mermaid(self) -> str:
        """The graph as mermaid text."""
        trunk, branches = self._paths()
        lines = ["flowchart LR"]
        numbers = iter(range(10_000))

        def chain(nodes: list[Node], last: str) -> str:
            for node in nodes:
                name = f"n{next(numbers)}"
                box = f'{name}["{"<br/>".join(_label(text) for text in (node.name, *_texts(node)))}"]'
                if last:
                    lines.append(f"  {last} --> {box}")
                last = name if last else box
            return last

        end = chain(trunk.nodes, "")
        for path in branches:
            chain(path.nodes, end)
        return "\n".join(lines if len(lines) > 1 else [*lines, f"  {end}"])

    def __str__(self) -> str:
        trunk, branches = self._paths()
        lines = [" -> ".join(_plain(node) for node in trunk.nodes)]
        lines += ["  +-> " + " -> ".join(_plain(node) for node in path.nodes) for path in branches]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def _stages(probe: Probe) -> list[Node]:
    return [Node(log.name, "operator", figures=stage_figures(log)) for log in probe.stages]


def _operators(operators: Any, names: list[str]) -> list[Node]:
    nodes: list[Node] = []
    for place, name in enumerate(names):
        watched = _probe_of(operators[place]) if place < len(operators) else None
        nodes += _stages(watched) if watched is not None else [Node(name.removesuffix("()"), "operator")]
    return nodes


def _probe_of(operator: Any) -> Probe | None:
    """The probe that an operator is, or that made it (``sf.Flow(source, *probe.operators)``)."""
    if isinstance(operator, Probe):
        return operator
    maker = getattr(operator.make_stage, "__self__", None) if isinstance(operator, Operator) else None
    return maker if isinstance(maker, Probe) else None


def _texts(node: Node) -> tuple[str, ...]:
    figures = node.figures
    if figures is None:
        return node.lines
    first = f"{figures.items_in} in, {figures.items_out} out"
    rate = f"{figures.rate:.0f}/s" if figures.rate < 100_000 else f"{figures.rate / 1000:.0f}k/s"
    second = (rate if figures.rate else "", f"held {figures.most_held}" if figures.most_held else "")
    waited = f"waits {duration(figures.median_wait_s)}, most {duration(figures.longest_wait_s)}"
    cost = f"{figures.us_per_item:.1f} µs an item" if figures.us_per_item else ""
    third = waited if figures.longest_wait_s > 0 else cost
    return tuple(line for line in (first, " · ".join(part for part in second if part), third) if line)


def _plain(node: Node) -> str:
    texts = _texts(node)
    return f"{node.name} ({'; '.join(texts)})" if texts else node.name


def _label(text: str) -> str:
    return text.replace('"', "'")


_EDGES = {"source": COLOURS["bytes"], "journal": COLOURS["thinking"], "branch": COLOURS["sentence"]}


def _row(canvas: Canvas, nodes: list[Node], x: float, y: float) -> None:
    for place, node in enumerate(nodes):
        if place:
            _arrow(canvas, x - _GAP, y + _HEIGHT / 2, x, y + _HEIGHT / 2)
        _box(canvas, node, x, y)
        x += _BOX + _GAP


def _box(canvas: Canvas, node: Node, x: float, y: float) -> None:
    edge = _EDGES.get(node.kind, colour_of("text"))
    title = "\n".join((node.name, *_texts(node)))
    canvas.rect(x, y, _BOX, _HEIGHT, of="box", r=18 if node.kind == "branch" else 6, title=title)
    canvas.rect(x, y + (14 if node.kind == "branch" else 6), 3, _HEIGHT - (28 if node.kind == "branch" else 12), edge)
    texts = _texts(node)
    top = y + _HEIGHT / 2 + 4 - 6.5 * len(texts)
    canvas.text(x + 13, top, clipped(node.name, 21), size=12, bold=True, title=title)
    for number, text in enumerate(texts, 1):
        canvas.text(x + 13, top + 1 + 13.5 * number, text, "mut", size=10)


def _arrow(canvas: Canvas, x1: float, y1: float, x2: float, y2: float) -> None:
    bend = (x2 - x1) / 2
    canvas.path(
        f"M{x1:.1f} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} {x2 - bend - 6:.1f} {y2:.1f} {x2 - 7:.1f} {y2:.1f}",
        of="axis", width=1.5,
    )  # fmt: skip
    canvas.path(f"M{x2:.1f} {y2:.1f}l-8 -4v8z", fill=COLOURS["bytes"])
