// The page: transport on top, one pane for each recording below.
import { Clock } from "./clock.js";
import { comparison } from "./compare.js";
import { el, seconds } from "./dom.js";
import { Pane } from "./pane.js";
import { COLUMNS, STEP_S, Trace, lowerBound, upperBound } from "./trace.js";
import { exportDialog } from "./verdict.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 16, 64, Infinity];
const SIZES = [0, 1, 2, 3, 5, 8, 16, 32, 64, 128, 256, 512, 1024, 4096];
const KEYS = [
  ["Space", "play or pause"], [", and .", "one piece back or on"], ["[ and ]", "cut finer or coarser"], ["R", "cut at random"],
  ["↑ ↓ PgUp PgDn Home End", "move in a column"], ["← →", "the linked row in the next column"], ["Enter", "keep a row, bring its links into sight"],
  ["1 to 5", "show or hide a column"], ["E", "export as pytest"], ["T", "light or dark"], ["?", "this help"],
];

// Shows recordings in an element. `before` is the state of an earlier view of the same: it goes on from there.
export function view(app, entries, before = null) {
  const left = new AbortController();
  const traces = entries.map((entry) => new Trace(entry));
  const clock = new Clock(longest(traces));
  const openExport = exportDialog(left.signal);
  const both = traces.length > 1;
  const panes = traces.map((trace, place) => new Pane(trace, clock, { onExport: openExport, letter: both ? "AB"[place] : "" }));
  const bar = transport(traces, panes, clock);
  app.classList.toggle("both", both);
  app.replaceChildren(bar.box, ...(both ? [comparison(...traces)] : []), el("main", { class: "panes" }, ...panes.map((pane) => pane.box)));
  if (both && !before) for (const column of ["raw", "frames"]) bar.show(column, false);
  clock.set(clock.duration);
  for (const pane of panes) pane.timeline.repaint();
  keys(clock, traces, panes, bar, () => openExport(traces[0]), left.signal);
  if (before) resume(before, clock, panes, bar);
  window.inspector = { traces, clock, panes, recut: bar.recut }; // for the console, and for tests
  return {
    state: () => ({
      now: clock.now, atEnd: clock.now >= clock.duration, running: clock.running, speed: clock.speed, cut: traces[0].cutAs, hidden: bar.hidden(),
      panes: panes.map((pane) => pane.columns.memory()),
    }),
    close: () => {
      clock.stop();
      left.abort();
    },
  };
}

function resume(before, clock, panes, bar) {
  for (const column of COLUMNS) bar.show(column, !before.hidden.includes(column));
  bar.pace(before.speed);
  if (before.cut.size || before.cut.seed) bar.recut(before.cut);
  clock.set(before.atEnd ? clock.duration : before.now);
  panes.forEach((pane, place) => { if (before.panes[place]) pane.resume(before.panes[place], before.atEnd); });
  if (before.running) clock.toggle();
}

function longest(traces) {
  return Math.max(STEP_S, ...traces.map((trace) => trace.duration));
}

function transport(traces, panes, clock) {
  const play = el("button", { type: "button", class: "play", title: "play or pause (Space)", onclick: () => clock.toggle() }, "▶");
  const scrub = el("input", { type: "range", min: 0, max: 10000, value: 10000, class: "scrub", "aria-label": "moment",
    oninput: () => clock.set((scrub.value / 10000) * clock.duration) });
  const moment = el("output", { class: "moment" });
  const speed = el("select", { "aria-label": "speed", onchange: () => { clock.speed = Number(speed.value); } },
    ...SPEEDS.map((value) => el("option", { value, selected: value === 1 }, value === Infinity ? "at once" : `${value}×`)));
  const cutLabel = el("output", { class: "cut-label" }, "as recorded");
  const cut = el("input", { type: "range", min: 0, max: SIZES.length - 1, value: 0, class: "cut", "aria-label": "cut into pieces of so many bytes",
    oninput: () => recut(SIZES[cut.value] ? { size: SIZES[cut.value] } : {}) });
  let seed = 0;
  const random = el("button", { type: "button", title: "cut at random (R)", onclick: () => recut({ seed: (seed += 1) }) }, "random");
  const chips = COLUMNS.map((column, place) => el("button", { type: "button", class: "chip", "aria-pressed": "true",
    title: `show or hide (${place + 1})`, onclick: () => show(column) }, column));

  function recut(how) {
    const share = clock.now / clock.duration;
    for (const trace of traces) if (trace.hasBytes) trace.cut(how);
    cutLabel.textContent = how.size ? `${how.size} B` : how.seed ? `random ${how.seed}` : "as recorded";
    if (!how.size) cut.value = 0;
    else cut.value = Math.max(0, SIZES.indexOf(how.size));
    clock.duration = longest(traces);
    clock.now = share * clock.duration;
    for (const pane of panes) pane.recut();
    clock.set(clock.now);
  }

  function show(column, shown) {
    const chip = chips[COLUMNS.indexOf(column)];
    const on = shown ?? chip.getAttribute("aria-pressed") === "false";
    chip.setAttribute("aria-pressed", String(on));
    for (const pane of panes) pane.columns.box.querySelector(`.column.${column}`)?.classList.toggle("hidden", !on);
  }

  clock.watch(() => {
    play.textContent = clock.running ? "❚❚" : "▶";
    play.setAttribute("aria-label", clock.running ? "pause" : "play");
    scrub.value = (clock.now / clock.duration) * 10000;
    const timed = traces.some((trace) => trace.timed);
    moment.textContent = timed ? `${seconds(clock.now)} of ${seconds(clock.duration)}`
      : `${Math.round(clock.now / STEP_S)} of ${Math.round(clock.duration / STEP_S)}`;
  });
  const box = el("div", { class: "transport" },
    el("h1", {}, "streamflow ", el("span", {}, "inspector")),
    el("div", { class: "group moments" }, play, scrub, moment, speed),
    el("div", { class: "group" }, el("label", {}, "cut ", cut), cutLabel, random),
    el("div", { class: "group chips", role: "group", "aria-label": "columns" }, ...chips),
    el("div", { class: "group" },
      el("button", { type: "button", title: "light or dark (T)", onclick: () => theme(panes) }, "◐"),
      el("button", { type: "button", title: "keys (?)", onclick: help }, "?")));
  const step = (by) => {
    const index = Math.max(0, SIZES.indexOf(traces[0].cutAs.size || 0));
    const size = SIZES[Math.min(SIZES.length - 1, Math.max(0, index + by))];
    recut(size ? { size } : {});
  };
  const hidden = () => COLUMNS.filter((_, place) => chips[place].getAttribute("aria-pressed") === "false");
  const pace = (value) => {
    clock.speed = value;
    speed.value = String(value);
  };
  return { box, show, recut, step, hidden, pace, random: () => random.click() };
}

function keys(clock, traces, panes, bar, openExport, signal) {
  const pieceStep = (by) => {
    const times = traces[0].times;
    const next = by > 0 ? times[upperBound(times, clock.now + 1e-9)] ?? clock.duration : times[lowerBound(times, clock.now - 1e-9) - 1] ?? 0;
    clock.set(next);
  };
  const actions = {
    " ": () => clock.toggle(), ",": () => pieceStep(-1), ".": () => pieceStep(1),
    "[": () => bar.step(-1), "]": () => bar.step(1), r: bar.random, e: openExport, t: () => theme(panes), "?": help,
  };
  COLUMNS.forEach((column, place) => { actions[place + 1] = () => bar.show(column); });
  document.addEventListener("keydown", (event) => {
    const inField = event.target.closest("input, select, textarea, dialog") || (event.key === " " && event.target.closest("button, summary"));
    if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = actions[event.key.toLowerCase()];
    if (action) {
      event.preventDefault();
      action();
    }
  }, { signal });
}

function theme(panes) {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  for (const pane of panes) pane.timeline.repaint();
}

let helpDialog = null;

function help() {
  helpDialog ||= document.body.appendChild(el("dialog", { class: "help" }, el("h2", {}, "Keys"),
    el("dl", {}, ...KEYS.flatMap(([key, said]) => [el("dt", {}, key), el("dd", {}, said)])),
    el("footer", {}, el("button", { type: "button", onclick: () => helpDialog.close() }, "Close"))));
  helpDialog.showModal();
}
