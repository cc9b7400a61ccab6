// The operator graph, with figures that follow the moment.
import { el, plural, size, svg } from "./dom.js";

const BOX = { width: 158, height: 58, gap: 50 };

export class Graph {
  constructor(trace) {
    this.trace = trace;
    const stages = trace.data.stages;
    const trunk = stages.slice(0, -1);
    const last = stages[stages.length - 1];
    this.nodes = [];
    const columns = trunk.length + 2;
    const width = columns * (BOX.width + BOX.gap) - BOX.gap + 4;
    const height = 2 * BOX.height + 20;
    const middle = height / 2;
    this.drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "operator graph", width, height });
    const x = (place) => 2 + place * (BOX.width + BOX.gap);
    this.node(x(0), middle, trace.hasBytes ? "source" : "recording", (state) =>
      trace.hasBytes ? [plural(state.raw, "piece"), size(state.bytes)] : [plural(state.raw, "event"), ""]);
    trunk.forEach((stage, place) => {
      this.edge(x(place) + BOX.width, middle, x(place + 1), middle, (state) => compact(this.given(place - 1, state)));
      this.node(x(place + 1), middle, stage.name, (state) => this.figures(stage, place, state), stage);
    });
    const from = x(trunk.length) + BOX.width;
    const to = x(trunk.length + 1);
    const upper = BOX.height / 2 + 1;
    const lower = height - BOX.height / 2 - 1;
    this.edge(from, middle, to, upper, (state) => compact(state.events));
    this.node(to, upper, "visible_filter", (state) => [`${plural(state.visible, "chunk")} out`, rate(this.trace, state, "visible")]);
    this.edge(from, middle, to, lower, (state) => compact(state.events));
    this.node(to, lower, last.name, (state) => [`${plural(state.sentences, "sentence")} out`, this.held(last, state)], last);
    this.box = el("div", { class: "graph", tabindex: "0", "aria-label": "operator graph with figures" }, this.drawing);
  }

  given(place, state) {
    if (place < 0) return state.raw;
    return this.tick(this.trace.data.stages[place].outs, state);
  }

  tick(series, state) {
    if (state.over) return series[series.length - 1] || 0;
    return state.frames > 0 ? series[state.frames - 1] || 0 : 0;
  }

  figures(stage, place, state) {
    const out = this.tick(stage.outs, state);
    return [`${compact(out)} out · ${stage.us_per_item.toFixed(1)} µs`, this.held(stage, state) || rate(this.trace, state, place ? "events" : "frames")];
  }

  held(stage, state) {
    const held = this.tick(stage.helds, state);
    if (held) return `holds ${held} (most ${stage.most_held})`;
    return stage.most_held ? `held up to ${stage.most_held}` : "";
  }

  node(x, y, name, figures, stage) {
    const top = y - BOX.height / 2;
    const first = svg("text", { x: x + 12, y: top + 36, class: "figure" });
    const second = svg("text", { x: x + 12, y: top + 50, class: "figure" });
    const level = svg("rect", { x, y: top + BOX.height - 4, width: 0, height: 4, class: "level" });
    const group = svg("g", { class: "node" },
      svg("rect", { x, y: top, width: BOX.width, height: BOX.height, rx: 9, class: "box" }), level,
      svg("text", { x: x + 12, y: top + 20, class: "name" }, name), first, second);
    this.drawing.append(group);
    this.nodes.push((state) => {
      const [one, two] = figures(state);
      first.textContent = one;
      second.textContent = two || "";
      if (stage) {
        const share = stage.most_held ? this.tick(stage.helds, state) / stage.most_held : 0;
        level.setAttribute("width", (share * BOX.width).toFixed(1));
      }
    });
  }

  edge(x1, y1, x2, y2, figure) {
    const bend = (x1 + x2) / 2;
    const label = svg("text", { x: y1 === y2 ? bend : x2 - 16, y: y2 > y1 ? y2 + 17 : y2 - 8, class: "flow", "text-anchor": "middle" });
    this.drawing.append(
      svg("path", { d: `M${x1} ${y1}C${bend} ${y1} ${bend} ${y2} ${x2 - 5} ${y2}`, class: "edge" }),
      svg("path", { d: `M${x2 - 7} ${y2 - 4}l7 4l-7 4z`, class: "tip" }), label);
    this.nodes.push((state) => { label.textContent = figure(state); });
  }

  at(state) {
    for (const update of this.nodes) update(state);
  }
}

function compact(count) {
  return count < 10000 ? String(count) : `${(count / 1000).toFixed(count < 100000 ? 1 : 0)}k`;
}

function rate(trace, state, what) {
  const span = Math.min(1, state.t);
  if (!trace.timed || span <= 0) return "";
  const before = trace.at(state.t - span);
  return `${Math.round((state[what] - before[what]) / span)} /s`;
}
