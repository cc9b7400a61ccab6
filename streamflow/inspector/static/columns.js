// The columns: bytes, frames, events, visible text, sentences; what is linked lights up in all of them.
import { el, oneLine, plural, seconds, size } from "./dom.js";
import { VirtualList } from "./list.js";
import { COLUMNS } from "./trace.js";

const TITLES = { raw: "raw bytes", frames: "frames", events: "events", visible: "visible", sentences: "sentences" };
const FAMILIES = {
  StreamStart: "edge", StreamCompleted: "edge", StreamFailed: "bad", Notice: "warn", Retrying: "warn",
  BlockStart: "block", BlockComplete: "block", ToolCallsReady: "tool", Usage: "quiet", Citation: "block",
};
const KIND_FAMILIES = { text: "text", thinking: "thought", tool_call: "tool", tool_result: "tool", refusal: "bad" };

export function familyOf(event) {
  if (event.type === "Chunk") return KIND_FAMILIES[event.kind] || "block";
  if (event.type === "BlockComplete" && (event.error || event.incomplete)) return "bad";
  return FAMILIES[event.type] || "quiet";
}

export function told(event) {
  switch (event.type) {
    case "Chunk": return event.part ? `${event.part} ${event.text}` : event.text;
    case "BlockStart": return event.kind;
    case "BlockComplete": return `${event.kind}${event.error ? " - " + event.error : event.incomplete ? " - incomplete" : ""}`;
    case "StreamStart": return [event.model, event.id].filter(Boolean).join(" · ");
    case "StreamCompleted": return event.stop_reason || "";
    case "StreamFailed": return `${event.error.type}: ${event.error.message}`;
    case "Notice": return `${event.code} ${event.message || ""}`;
    case "Usage": return `${event.input_tokens ?? "?"} in, ${event.output_tokens ?? "?"} out`;
    case "ToolCallsReady": return event.calls.map((call) => call.name).join(", ");
    default: return JSON.stringify(event).slice(0, 300);
  }
}

export class Columns {
  constructor(trace, { onHover, onPick }) {
    this.trace = trace;
    this.pinned = null;
    this.lists = {};
    this.heads = {};
    this.onHover = onHover;
    this.onPick = onPick;
    this.box = el("div", { class: "columns" });
    this.columns = COLUMNS.filter((name) => trace.hasBytes || name !== "frames");
    for (const name of this.columns) this.box.append(this.column(name));
    this.recount();
  }

  column(name) {
    const list = (this.lists[name] = new VirtualList({
      label: TITLES[name],
      render: (row) => this.row(name, row),
      onHover: (row) => this.hover(name, row),
      onPick: (row) => this.pick(name, row),
      onMove: (step) => this.move(name, step),
    }));
    list.box.addEventListener("scroll", () => this.count(name), { passive: true });
    const head = (this.heads[name] = el("span", { class: "count" }));
    const away = el("span", { class: "away", "aria-hidden": "true" });
    head.away = away;
    const title = name === "raw" && !this.trace.hasBytes ? "items" : TITLES[name];
    return el("section", { class: `column ${name}`, "data-column": name },
      el("header", {}, el("h3", {}, title), away, head), list.box);
  }

  recount() {
    const counts = this.trace.counts();
    for (const name of this.columns) this.lists[name].set(counts[name]);
  }

  row(name, row) {
    const trace = this.trace;
    if (name === "raw") {
      if (!trace.hasBytes) return [cell("at", seconds(trace.times[row])), cell("what", trace.events[row]?.type || "")];
      const length = trace.ends[row] - (row ? trace.ends[row - 1] : 0);
      return [cell("at", trace.timed ? seconds(trace.times[row]) : `#${row}`), cell("what mono", oneLine(trace.pieceText(row))),
        cell("size", size(length))];
    }
    if (name === "frames") {
      const [start, end, event] = trace.frames[row];
      const text = oneLine(trace.slice(start, Math.min(end, start + 400)).replace(/^(event:[^\n]*\n)?data: ?/, ""));
      return [event ? cell("badge quiet", event) : null, cell("what mono", text)];
    }
    if (name === "sentences") return [cell("at", String(row + 1)), cell("what", oneLine(trace.sentences[row].text))];
    const event = trace.events[name === "visible" ? trace.visible[row] : row];
    if (name === "visible") return [cell("what", oneLine(event.text))];
    return [cell(`badge ${familyOf(event)}`, event.type), cell("what", oneLine(told(event)))];
  }

  hover(name, row) {
    const place = row >= 0 ? { column: name, row } : this.pinned;
    this.light(place);
    this.onHover(place);
  }

  pick(name, row) {
    const same = this.pinned && this.pinned.column === name && this.pinned.row === row;
    this.pinned = same ? null : { column: name, row };
    this.light(this.pinned);
    this.onPick(this.pinned); // first: the details take room from the columns
    if (this.pinned) this.bring(name);
  }

  // Select a row from outside and bring it into sight.
  reveal(name, row) {
    this.pinned = null;
    this.lists[name].activate(row);
    this.pick(name, row);
  }

  memory() {
    return { pinned: this.pinned, tops: this.columns.map((name) => [name, this.lists[name].box.scrollTop]) };
  }

  resume({ pinned, tops }, atEnd) {
    const there = pinned && this.lists[pinned.column] && pinned.row < this.lists[pinned.column].count;
    this.pinned = there ? pinned : null;
    for (const [name, top] of tops) {
      if (!this.lists[name]) continue;
      if (atEnd && !there) this.lists[name].show(this.lists[name].count - 1);
      else this.lists[name].box.scrollTop = top;
    }
    this.light(this.pinned);
  }

  light(place) {
    const linked = place ? this.trace.linked(place.column, place.row) : null;
    for (const name of this.columns) {
      const picked = this.pinned && this.pinned.column === name ? this.pinned.row : -1;
      this.lists[name].mark({ linked: linked ? linked[name] : new Set(), picked });
      this.count(name);
    }
  }

  bring(except) {
    for (const name of this.columns) {
      const rows = this.lists[name].linked;
      if (name === except) this.lists[name].show(this.lists[name].active);
      else if (rows.size) this.lists[name].show(Math.min(...[...rows].slice(0, 1000)), true);
      this.count(name);
    }
  }

  move(name, step) {
    const shown = this.columns.filter((other) => this.lists[other].box.offsetParent);
    const next = shown[shown.indexOf(name) + step];
    if (!next) return;
    const linked = [...this.lists[next].linked];
    this.lists[next].box.focus();
    if (linked.length) this.lists[next].activate(Math.min(...linked.slice(0, 1000)));
  }

  at(state, follow) {
    this.state = state;
    for (const name of this.columns) {
      this.lists[name].mark({ came: state[name] });
      if (follow) this.lists[name].show(state[name] - 1);
      this.count(name);
    }
  }

  count(name) {
    const list = this.lists[name];
    const head = this.heads[name];
    const came = this.state ? this.state[name] : list.count;
    const said = list.linked.size ? `${list.linked.size.toLocaleString("en")} linked of ${list.count.toLocaleString("en")}`
      : came < list.count ? `${came.toLocaleString("en")} of ${list.count.toLocaleString("en")}` : plural(list.count, "row");
    if (head.textContent !== said) head.textContent = said;
    const { above, below } = list.linked.size ? list.hidden() : { above: 0, below: 0 };
    const away = [above ? `▲${above}` : "", below ? `▼${below}` : ""].filter(Boolean).join(" ");
    if (head.away.textContent !== away) head.away.textContent = away;
  }
}

function cell(classes, text) {
  return el("span", { class: classes }, text);
}
