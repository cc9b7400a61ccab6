// The inspector of a server: its flows, listed as they run; one or two of them opened, and kept up to date.
import { el, oneLine, plural, seconds } from "./dom.js";
import { view } from "./main.js";

const EVERY_MS = 700;
const KEPT_TOKEN = "streamflow.token"; // the same as the chat page has
const side = document.getElementById("flows");
const app = document.getElementById("app");
const list = el("ul", { class: "flow-list" });
const count = el("span", { class: "count" });
const status = el("p", { class: "hint", role: "status" }, "…");
const shown = new Map(); // id -> the entry that is shown
const rates = new Map(); // id -> [events, time, rate]
let opened = null;
let chosen = [];

side.append(el("header", {}, el("h1", {}, "flows"), count, el("a", { href: "./", class: "button" }, "chat")), status, list);

async function ask(path) {
  const token = sessionStorage.getItem(KEPT_TOKEN);
  const response = await fetch(path, { headers: token ? { authorization: `Bearer ${token}` } : {}, cache: "no-store" });
  if (response.status === 401) throw new NoToken();
  if (!response.ok) throw new Error((await response.json().catch(() => ({}))).error?.message || `the server answered ${response.status}`);
  return response.json();
}

class NoToken extends Error {}

async function look() {
  const { flows } = await ask("inspector/flows");
  const now = performance.now();
  for (const flow of flows) flow.rate = rate(flow, now);
  const live = flows.filter((flow) => !flow.ended).length;
  count.textContent = `${live} live of ${flows.length}`;
  status.textContent = flows.length ? "Click to look into a flow; Shift-click a second one to compare." : "No flow yet: ask something in the chat.";
  draw(flows);
  await follow(flows);
}

function rate(flow, now) {
  const [events, time, before] = rates.get(flow.id) || [flow.events, now, 0];
  if (now === time) {
    rates.set(flow.id, [flow.events, now, 0]);
    return 0;
  }
  const rate = Math.round(0.5 * before + (0.5 * (flow.events - events) * 1000) / (now - time));
  rates.set(flow.id, [flow.events, now, rate]);
  return rate;
}

const items = new Map();

function draw(flows) {
  const made = flows.map((flow) => {
    const item = items.get(flow.id) || entry(flow.id);
    items.set(flow.id, item);
    const state = flow.ended ? (flow.failed ? "fail" : "ok") : "live";
    const said = [plural(flow.events, "event"), flow.ended ? "" : `${flow.rate} /s`, seconds(flow.seconds),
      flow.readers ? plural(flow.readers, "reader") : "", flow.recorded ? "recorded" : ""];
    fill(item.name, flow.model || flow.id.slice(0, 8));
    fill(item.mark, flow.failed || (flow.ended ? "✓" : "●"));
    item.mark.className = `mark ${state}`;
    fill(item.figures, said.filter(Boolean).join(" · "));
    fill(item.tail, oneLine(flow.tail));
    item.button.setAttribute("aria-pressed", String(chosen.includes(flow.id)));
    item.letter.textContent = chosen.length > 1 ? "AB"[chosen.indexOf(flow.id)] || "" : "";
    return item.box;
  });
  if (made.length !== list.childElementCount || made.some((box, place) => list.children[place] !== box)) list.replaceChildren(...made);
}

function entry(id) {
  const parts = { name: el("strong"), mark: el("span"), figures: el("span", { class: "figures" }), tail: el("span", { class: "tail" }), letter: el("span", { class: "letter-mark" }) };
  const button = el("button", { type: "button", "data-flow": id, onclick: (event) => choose(id, event.shiftKey) },
    el("span", { class: "line" }, parts.letter, parts.name, parts.mark), parts.figures, parts.tail);
  return { ...parts, button, box: el("li", {}, button) };
}

function fill(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function choose(id, second) {
  chosen = second && chosen.length && !chosen.includes(id) ? [chosen[0], id] : [id];
  shown.clear();
  if (opened) opened.close();
  opened = null;
  history.replaceState(null, "", `#${chosen.join(",")}`);
  inHaste = true;
  wake();
}

// What is open is fetched again while it runs, and once more when it is over.
async function follow(flows) {
  const wanted = chosen.filter((id) => flows.some((flow) => flow.id === id));
  if (!wanted.length) return;
  const stale = wanted.filter((id) => !shown.has(id) || shown.get(id).live);
  if (!stale.length) return;
  const mine = chosen;
  for (const id of stale) {
    const entry = await ask(`inspector/flows/${id}`);
    if (chosen !== mine) return;
    const same = shown.has(id) && shown.get(id).live === entry.live && shown.get(id).events.length === entry.events.length;
    if (!same) shown.set(id, entry);
    else stale.same = (stale.same || 0) + 1;
  }
  if (stale.same === stale.length && opened) return;
  const before = opened && opened.state();
  const focus = document.activeElement?.closest?.("#app [id]")?.id;
  if (opened) opened.close();
  opened = view(app, wanted.map((id) => shown.get(id)), before);
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  document.body.dataset.ready = "true";
}

let wake = () => {};
let inHaste = false; // somebody waits for the next look

async function run() {
  chosen = location.hash.slice(1).split(",").filter(Boolean).slice(0, 2);
  for (;;) {
    const begin = performance.now();
    let pause = EVERY_MS;
    try {
      if (!document.hidden) await look();
    } catch (fault) {
      if (fault instanceof NoToken) await token();
      else status.textContent = fault.message;
    }
    // A long answer takes the server a while: it gets four times that to rest.
    pause = Math.max(pause, 4 * (performance.now() - begin));
    await new Promise((resolve) => {
      wake = resolve;
      setTimeout(resolve, inHaste ? 0 : pause);
    });
    inHaste = false;
  }
}

function token() {
  return new Promise((resolve) => {
    const field = el("input", { type: "password", autocomplete: "off", required: true, id: "token" });
    const form = el("form", { class: "access", onsubmit: (event) => {
      event.preventDefault();
      sessionStorage.setItem(KEPT_TOKEN, field.value);
      form.remove();
      resolve();
    } }, el("label", {}, "This server wants a token ", field), el("button", {}, "continue"));
    side.insertBefore(form, list);
    field.focus();
  });
}

run();
