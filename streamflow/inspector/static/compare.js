// Two recordings in figures, and where their texts part.
import { el, oneLine, seconds } from "./dom.js";

export function comparison(first, second) {
  const rows = [
    ["bytes", (trace) => trace.bytes.length.toLocaleString("en")],
    ["frames", (trace) => trace.frames.length.toLocaleString("en")],
    ["events", (trace) => trace.events.length.toLocaleString("en")],
    ["visible characters", (trace) => trace.text.length.toLocaleString("en")],
    ["sentences", (trace) => trace.sentences.length.toLocaleString("en")],
    ["first visible", (trace) => (trace.timed && trace.visible.length ? seconds(trace.timeOf("visible", 0)) : "-")],
    ["first sentence", (trace) => (trace.timed && trace.sentences.length ? seconds(trace.timeOf("sentences", 0)) : "-")],
    ["end", endOf],
    ["tokens", tokensOf],
  ];
  const parts = partOf(first.text, second.text);
  return el("section", { class: "comparison", "aria-label": "comparison" },
    el("table", {}, el("thead", {}, el("tr", {}, el("th", {}), el("th", {}, "A"), el("th", {}, "B"))),
      el("tbody", {}, ...rows.map(([name, figure]) => {
        const [a, b] = [figure(first), figure(second)];
        return el("tr", { class: a === b ? "same" : "other" }, el("th", { scope: "row" }, name), el("td", {}, a), el("td", {}, b));
      }))),
    parts === null ? el("p", { class: "texts same" }, "✓ the visible texts are the same")
      : el("p", { class: "texts other" }, `the visible texts part at character ${parts}: `,
        el("q", {}, around(first.text, parts)), " and ", el("q", {}, around(second.text, parts))));
}

function endOf(trace) {
  const last = trace.events[trace.events.length - 1];
  return !last ? "-" : last.type === "StreamCompleted" ? last.stop_reason : last.type === "StreamFailed" ? last.error.type : "none";
}

function tokensOf(trace) {
  const usage = trace.events.filter((event) => event.type === "Usage").pop();
  return usage ? `${usage.input_tokens ?? "?"} in, ${usage.output_tokens ?? "?"} out` : "-";
}

function partOf(one, other) {
  if (one === other) return null;
  let at = 0;
  while (at < one.length && at < other.length && one[at] === other[at]) at += 1;
  return at;
}

function around(text, at) {
  return (at > 12 ? "…" : "") + oneLine(text.slice(Math.max(0, at - 12), at + 40));
}
