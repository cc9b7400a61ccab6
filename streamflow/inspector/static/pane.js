// One recording: its name and verdict, graph, timeline, columns and details.
import { Columns } from "./columns.js";
import { Detail } from "./detail.js";
import { el, seconds, size } from "./dom.js";
import { Graph } from "./graph.js";
import { Timeline } from "./timeline.js";
import { verdictBadge, verdictList } from "./verdict.js";

export class Pane {
  constructor(trace, clock, { onExport, letter }) {
    this.trace = trace;
    this.clock = clock;
    this.detail = new Detail(trace);
    this.graph = new Graph(trace);
    this.timeline = new Timeline(trace, clock);
    this.columns = new Columns(trace, {
      onHover: (place) => this.point(place),
      onPick: (place) => this.point(place),
    });
    const reveal = (column, row) => {
      clock.set(Math.max(clock.now, trace.timeOf(column, row)));
      this.columns.reveal(column, row);
    };
    const facts = [trace.data.provider, trace.hasBytes ? size(trace.bytes.length) : "", trace.timed ? seconds(trace.duration) : "no times recorded"];
    this.box = el("article", { class: "pane", "aria-label": trace.name },
      el("header", { class: "pane-head" },
        letter ? el("span", { class: "letter" }, letter) : null,
        el("h2", {}, trace.name), el("span", { class: "facts" }, facts.filter(Boolean).join(" · ")),
        verdictBadge(trace),
        el("button", { type: "button", class: "export-button", onclick: () => onExport(trace) }, "Export as pytest")),
      verdictList(trace, reveal), this.timeline.box, this.graph.box, this.columns.box, this.detail.box);
    clock.watch(() => this.at());
  }

  point(place) {
    this.detail.show(place);
    this.timeline.mark(place);
  }

  at() {
    const state = this.trace.at(this.clock.now);
    this.columns.at(state, this.clock.running || this.scrubbed);
    this.graph.at(state);
    this.detail.at(state);
    this.timeline.at();
    this.scrubbed = true; // from the second time on somebody moves the clock
  }

  // Go on where an earlier view of this recording was.
  resume(before, atEnd) {
    this.columns.resume(before, atEnd);
    if (this.columns.pinned) this.point(this.columns.pinned);
  }

  recut() {
    this.columns.recount();
    this.columns.pinned = null;
    this.columns.light(null);
    this.detail.show(null);
    this.timeline.mark(null);
    this.timeline.repaint();
    this.at();
  }
}
