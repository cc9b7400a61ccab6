// A chat that can be reloaded at any moment: what was said is kept by the tab, what is being said by the server.

import { Panels, Turn, element, status } from "./answer.js";
import { Refused, ask, follow } from "./stream.js";
import { Voice } from "./voice.js";

const byId = (id) => document.getElementById(id);
const KEY = "streamflow.chat";

// flow: the answer that is being given; spoken: the one that is being said, up to `heard`.
const chat = { turns: [], flow: null, spoken: null, heard: "" };
let reading = new AbortController();
let listening = new AbortController();
let answering = false;

const panels = new Panels();
const voice = new Voice({
  onState: (state) => {
    byId("stop").classList.toggle("speaking", state === "speaking");
    byId("stop").dataset.voice = state;
    if (state === "idle" && chat.spoken && !answering) hush();
    settle();
  },
  onSegment: (index) => panels.speaking(index),
  onDone: (id) => {
    chat.heard = id;
    keep();
  },
});

const ready = ask("GET", "page/settings.json").then(({ voice: able, examples = [] }) => {
  for (const text of examples) {
    const button = Object.assign(element("button", "quiet", text), { type: "button" });
    button.addEventListener("click", () => {
      byId("text").focus();
      if (!answering) send(text);
    });
    byId("examples").append(button);
  }
  if (!able) Object.assign(byId("voice"), { checked: false, disabled: true, title: "this server has no voice" });
}).catch(complain);

function keep() {
  sessionStorage.setItem(KEY, JSON.stringify(chat));
}

function hush() {
  chat.spoken = null;
  keep();
}

function settle() {
  byId("stop").disabled = !answering && voice.state !== "speaking";
  byId("send").disabled = answering;
}

function complain(fault) {
  if (fault instanceof Refused && fault.status === 401) {
    byId("access").hidden = false;
    byId("token").focus();
  }
  status(fault.message, true);
}

async function send(text) {
  answering = true; // from here on, not from the first word: a second Enter must not ask twice
  settle();
  status("asking");
  quiet();
  await ready;
  if (byId("voice").checked) voice.wake();
  chat.turns.push({ role: "user", text });
  new Turn("user", text);
  try {
    const messages = chat.turns.map((turn) => ({ role: turn.role, content: turn.text })).filter((turn) => turn.content);
    const { id } = await ask("POST", "flows", { messages });
    Object.assign(chat, { flow: id, spoken: byId("voice").checked ? id : null, heard: "" });
    keep();
    await receive();
  } catch (fault) {
    answering = false;
    settle();
    chat.turns.pop();
    keep();
    complain(fault);
  }
}

// Read the answer from its beginning: after a reload it is built up again from what the server kept.
async function receive() {
  const turn = new Turn("assistant");
  const signal = (reading = new AbortController()).signal;
  const place = `flows/${encodeURIComponent(chat.flow)}/events`;
  answering = true;
  panels.clear();
  settle();
  status("answering");
  const side = [
    follow(`${place}?branch=sentences`, { signal, onItem: (item) => item.type === "Sentence" && panels.sentence(item) }),
    listen(turn),
  ].map((stream) => stream.catch(hush)); // the answer itself tells what is wrong
  let end = null;
  try {
    await follow(place, { signal, onItem: (item) => (end = show(item, turn) ?? end) });
    finish(turn, end);
  } catch (fault) {
    if (fault instanceof Refused && fault.status === 404) turn.note("the server no longer has this answer");
    finish(turn, null);
    complain(fault);
  }
  await Promise.all(side);
}

function show(item, turn) {
  const handler = handlers[item.type];
  return handler ? handler(item, turn) : undefined;
}

const handlers = {
  Chunk(item, turn) {
    if (item.part === "input" || item.part === "name") {
      panels.call(item.index, item.tool_name, item.part === "input" ? item.text : "");
    } else if (item.kind === "thinking") panels.think(item.text);
    else if (item.visible) turn.add(item.text, item.start);
  },
  BlockComplete(item, turn) {
    if (item.kind !== "tool_call") return;
    const name = panels.callReady(item.index, item.input, item.error);
    if (name) turn.note(`calls ${name}`, "call");
  },
  Retrying(item, turn) {
    if (!item.discard) return;
    turn.clear();
    panels.clear();
  },
  Notice(item, turn) {
    if (item.code !== "reset") return;
    turn.clear();
    turn.add(item.raw.text, 0);
  },
  StreamCompleted: (item) => item,
  StreamFailed: (item) => item,
};

function finish(turn, end) {
  answering = false;
  turn.end();
  if (end?.type === "StreamFailed") turn.note(end.error.message);
  const failed = end?.type !== "StreamCompleted";
  status(end === null ? "cut off" : failed ? "failed" : ending(end.stop_reason), failed);
  chat.turns.push({ role: "assistant", text: turn.text });
  chat.flow = null;
  keep();
  settle();
}

const ending = (reason) => ({ end_turn: "ready", cancelled: "stopped", tool_use: "wants a tool" })[reason] ?? reason;

async function listen(turn) {
  if (!chat.spoken) return;
  const signal = (listening = new AbortController()).signal;
  await follow(`flows/${encodeURIComponent(chat.spoken)}/events?branch=tts`, {
    after: chat.heard,
    signal,
    onItem: (item, id) => item.type === "AudioSegment" && voice.add(item, id, turn),
  });
  if (!signal.aborted) voice.end();
}

function quiet() {
  listening.abort();
  voice.silence();
  hush();
}

function stop() {
  const flow = chat.flow ?? chat.spoken;
  quiet();
  if (flow) ask("DELETE", `flows/${encodeURIComponent(flow)}`).catch(complain);
  settle();
}

byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = byId("text").value.trim();
  if (!text || answering) return;
  byId("text").value = "";
  send(text);
});
byId("text").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  byId("composer").requestSubmit();
});
byId("stop").addEventListener("click", () => stop());
document.addEventListener("keydown", (event) => event.key === "Escape" && !byId("stop").disabled && stop());
byId("voice").addEventListener("change", () => byId("voice").checked || quiet());
byId("fresh").addEventListener("click", () => {
  stop();
  reading.abort();
  sessionStorage.removeItem(KEY);
  location.reload();
});
byId("access").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("streamflow.token", byId("token").value);
  location.reload();
});

Object.assign(chat, JSON.parse(sessionStorage.getItem(KEY) ?? "{}"));
const shown = chat.turns.map((turn) => new Turn(turn.role, turn.text));
if (chat.flow) receive();
else if (chat.spoken && shown.length) listen(shown.at(-1)).catch(hush);
