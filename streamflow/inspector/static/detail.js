// What is known about one row: where it came from, the whole of it, and its bytes.
import { el, plural, seconds } from "./dom.js";

const MOST_BYTES = 1536;
const MOST_SHOWN = 6000;

export class Detail {
  constructor(trace) {
    this.trace = trace;
    this.box = el("section", { class: "detail", "aria-label": "details", });
    this.show(null);
  }

  show(place) {
    this.place = place;
    if (!place) return this.answer();
    const { column, row } = place;
    const trace = this.trace;
    const linked = trace.linked(column, row);
    const span = trace.span(column, row);
    const chain = [
      linked.sentences.size && column !== "sentences" ? plural(linked.sentences.size, "sentence") : "",
      linked.events.size && column !== "events" ? plural(linked.events.size, "event") : "",
      linked.frames.size && column !== "frames" ? plural(linked.frames.size, "frame") : "",
      span ? `bytes ${span[0].toLocaleString("en")} to ${span[1].toLocaleString("en")}` : "",
      column !== "raw" && linked.raw.size && trace.hasBytes ? `in ${plural(linked.raw.size, "piece")}` : "",
      trace.timed ? `at ${seconds(trace.timeOf(column, row))}` : "",
    ].filter(Boolean);
    this.box.replaceChildren(
      el("header", {}, el("h3", {}, `${NAMES[column]} ${column === "sentences" ? row + 1 : row}`), el("p", { class: "chain" }, chain.join("  ←  "))),
      el("div", { class: "halves" },
        el("pre", { class: "whole", tabindex: "0", "aria-label": "the whole item" }, this.whole(column, row)),
        span ? el("pre", { class: "bytes", tabindex: "0", "aria-label": "its bytes" }, dump(trace.bytes, span)) : null));
  }

  // With nothing pointed at: what has been said so far.
  at(state) {
    this.state = state;
    if (!this.place) this.answer();
  }

  answer() {
    const parts = [];
    let kind = "";
    let length = 0;
    for (let row = (this.state ? this.state.events : this.trace.events.length) - 1; row >= 0 && length < MOST_SHOWN; row -= 1) {
      const event = this.trace.events[row];
      if (event.type !== "Chunk" || event.part === "id") continue;
      const now = `${event.kind} ${event.index}`;
      if (now !== kind) parts.push([event.kind, []]);
      kind = now;
      parts[parts.length - 1][1].push(event.text);
      length += event.text.length;
    }
    const said = parts.reverse().map(([name, texts]) => el("span", { class: `said ${name}` }, texts.reverse().join("")));
    this.box.replaceChildren(
      el("header", {}, el("h3", {}, "the answer so far"),
        el("p", { class: "hint" }, "Point at a row to see what it was made of; click it, or press Enter, to keep it.")),
      el("div", { class: "halves" }, el("pre", { class: "whole answer", tabindex: "0", "aria-label": "the answer so far" }, ...said)));
    const shown = this.box.querySelector(".answer");
    shown.scrollTop = shown.scrollHeight;
  }

  whole(column, row) {
    const trace = this.trace;
    if (column === "raw") return trace.hasBytes ? trace.slice(...trace.span(column, row)).slice(0, 6000) : JSON.stringify(trace.events[row], null, 2);
    if (column === "frames") {
      const [start, end, event] = trace.frames[row];
      const text = trace.slice(start, end).replace(/^event:[^\n]*\n/, "").replace(/^data: ?/gm, "").trim();
      try {
        return (event ? event + "\n" : "") + JSON.stringify(JSON.parse(text), null, 2).slice(0, 12000);
      } catch {
        return text.slice(0, 12000);
      }
    }
    if (column === "sentences") return trace.sentences[row].text;
    const event = trace.events[column === "visible" ? trace.visible[row] : row];
    return column === "visible" ? event.text : JSON.stringify(event, null, 2).slice(0, 12000);
  }
}

const NAMES = { raw: "piece", frames: "frame", events: "event", visible: "visible chunk", sentences: "sentence" };

function dump(bytes, [start, end]) {
  const lines = [];
  const stop = Math.min(end, start + MOST_BYTES);
  for (let at = start; at < stop; at += 16) {
    const part = bytes.subarray(at, Math.min(stop, at + 16));
    const hex = Array.from(part, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const signs = Array.from(part, (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${String(at).padStart(7)}  ${hex.padEnd(47)}  ${signs}`);
  }
  if (stop < end) lines.push(`        ... ${(end - stop).toLocaleString("en")} more bytes`);
  return lines.join("\n");
}
