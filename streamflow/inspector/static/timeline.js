// The timeline: bytes as bars, events by kind, sentences from their first word to the moment they left.
import { el, seconds } from "./dom.js";
import { familyOf } from "./columns.js";

const LANES = { bytes: [4, 26], events: [32, 14], sentences: [50, 16] };
const HEIGHT = 82;

export class Timeline {
  constructor(trace, clock) {
    this.trace = trace;
    this.clock = clock;
    this.canvas = el("canvas", { class: "timeline", height: HEIGHT, "aria-hidden": "true" });
    this.box = el("div", { class: "timeline-box" }, this.canvas);
    const scrub = (event) => {
      const area = this.canvas.getBoundingClientRect();
      clock.set(((event.clientX - area.left) / area.width) * clock.duration);
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      scrub(event);
    });
    this.canvas.addEventListener("pointermove", (event) => { if (event.buttons) scrub(event); });
    new ResizeObserver(() => this.repaint()).observe(this.box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.repaint());
    this.marked = null;
  }

  repaint() {
    const width = this.box.clientWidth;
    if (!width) return;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = HEIGHT * ratio;
    this.still = document.createElement("canvas");
    this.still.width = this.canvas.width;
    this.still.height = this.canvas.height;
    const pen = this.still.getContext("2d");
    pen.scale(ratio, ratio);
    this.paint(pen, width);
    this.at();
  }

  colour(name) {
    return getComputedStyle(this.box).getPropertyValue(`--${name}`).trim() || "#888";
  }

  x(t, width) {
    return (t / (this.clock.duration || 1)) * width;
  }

  paint(pen, width) {
    const trace = this.trace;
    const columns = Math.ceil(width);
    const bytes = new Float64Array(columns + 1);
    trace.ends.forEach((end, row) => {
      const place = Math.min(columns - 1, Math.floor(this.x(trace.times[row], width)));
      bytes[place] += trace.hasBytes ? end - (row ? trace.ends[row - 1] : 0) : 1;
    });
    const most = Math.max(1, ...bytes);
    const [top, tall] = LANES.bytes;
    pen.fillStyle = this.colour("bytes");
    bytes.forEach((count, place) => {
      if (count) {
        const high = Math.max(2, tall * Math.sqrt(count / most));
        pen.fillRect(place, top + tall - high, 1.6, high);
      }
    });
    this.gaps(pen, width);
    const [eventTop, eventTall] = LANES.events;
    const colours = {};
    let lastPlace = -1;
    trace.events.forEach((event, row) => {
      const family = familyOf(event);
      const place = Math.floor(this.x(trace.timeOf("events", row), width));
      const loud = family === "bad" || family === "warn" || family === "tool";
      if (place === lastPlace && !loud) return;
      lastPlace = place;
      pen.fillStyle = colours[family] ||= this.colour(family);
      pen.fillRect(Math.min(place, width - 2), eventTop, loud ? 3 : 1.6, eventTall);
    });
    const [sentenceTop, sentenceTall] = LANES.sentences;
    trace.sentences.forEach((sentence, row) => {
      const from = sentence.events.length ? trace.timeOf("events", sentence.events[0]) : trace.timeOf("sentences", row);
      const start = this.x(from, width);
      const wide = Math.max(2, this.x(trace.timeOf("sentences", row), width) - start - 1);
      pen.fillStyle = this.colour(row % 2 ? "voice" : "voice-alt");
      pen.fillRect(start, sentenceTop, wide, sentenceTall);
    });
    this.axis(pen, width);
    pen.globalAlpha = 0.75;
    for (const [name, [start, high]] of Object.entries(LANES)) pen.fillText(name, 5, start + high / 2 + 4);
    pen.globalAlpha = 1;
  }

  gaps(pen, width) {
    pen.fillStyle = this.colour("gap");
    for (const finding of this.trace.data.verdict) {
      if (finding.code !== "gaps" || finding.level === "ok" || this.trace.cutAs.size || this.trace.cutAs.seed) continue;
      const start = this.x(this.trace.times[finding.row - 1], width);
      pen.fillRect(start, 0, this.x(this.trace.times[finding.row], width) - start, HEIGHT - 14);
    }
  }

  axis(pen, width) {
    pen.fillStyle = this.colour("mute");
    pen.font = "10px system-ui, sans-serif";
    const wanted = this.clock.duration / Math.max(2, width / 110);
    const unit = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600, 3600].find((step) => step >= wanted) || 3600;
    for (let t = 0; t < this.clock.duration; t += unit) {
      const x = this.x(t, width);
      pen.fillRect(x, HEIGHT - 14, 1, 3);
      pen.fillText(this.trace.timed ? seconds(t) : `${Math.round(t / 0.02)}`, Math.min(x + 3, width - 34), HEIGHT - 3);
    }
  }

  mark(place) {
    this.marked = place ? this.trace.timeOf(place.column, place.row) : null;
    this.at();
  }

  at() {
    if (!this.still) return;
    const ratio = devicePixelRatio || 1;
    const pen = this.canvas.getContext("2d");
    const width = this.canvas.width / ratio;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this.still, 0, 0);
    pen.scale(ratio, ratio);
    const now = this.x(this.clock.now, width);
    pen.fillStyle = this.colour("veil");
    pen.fillRect(now, 0, width - now, HEIGHT - 14);
    pen.fillStyle = this.colour("accent");
    pen.fillRect(Math.min(now, width - 2), 0, 2, HEIGHT - 10);
    if (this.marked !== null) {
      pen.fillStyle = this.colour("mark");
      pen.fillRect(Math.min(this.x(this.marked, width), width - 2), 0, 2, HEIGHT - 14);
    }
  }
}
