// What is on the screen. Words of a model go into text nodes only: they can never become markup.

const byId = (id) => document.getElementById(id);

function element(name, className = "", text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

// One turn of the conversation. It knows where each piece of text stands in what the model wrote.
export class Turn {
  constructor(role, text = "") {
    this.root = element("article", `turn ${role}`);
    this.prose = element("div", "prose");
    this.root.append(element("h2", "", role === "user" ? "you" : "answer"), this.prose);
    this.pieces = [];
    this.length = 0;
    if (text) this.add(text, 0);
    byId("conversation").append(this.root);
    this.root.scrollIntoView({ block: "end" });
  }

  get text() {
    return this.prose.textContent;
  }

  add(text, start = -1) {
    const list = byId("conversation");
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 60;
    const node = document.createTextNode(text);
    const begin = start >= 0 ? start : this.length;
    this.length = Math.max(this.length, begin + text.length);
    this.pieces.push({ node, begin, end: begin + text.length });
    this.prose.append(node);
    if (atEnd) list.scrollTop = list.scrollHeight;
  }

  clear() {
    this.prose.replaceChildren();
    this.pieces = [];
    this.length = 0;
  }

  note(text) {
    this.root.append(element("p", "note", text));
  }

  // The stretch of the screen that shows these places of the raw text.
  range(begin, end) {
    const first = this.pieces.find((piece) => piece.end > begin);
    const last = this.pieces.findLast((piece) => piece.begin < end);
    if (!first || !last || begin >= end) return null;
    const range = document.createRange();
    range.setStart(first.node, Math.max(0, begin - first.begin));
    range.setEnd(last.node, Math.min(last.node.length, end - last.begin));
    return range;
  }

  // The raw text between two places, with blanks where something is not shown.
  slice(begin, end) {
    let text = "";
    for (const piece of this.pieces) {
      if (piece.end <= begin || piece.begin >= end) continue;
      text = text.padEnd(Math.max(0, piece.begin - begin), " ");
      text += piece.node.data.slice(Math.max(0, begin - piece.begin), end - piece.begin);
    }
    return text;
  }
}

export class Panels {
  constructor() {
    this.clear();
  }

  clear() {
    for (const id of ["thinking", "tools", "sentences"]) byId(id).replaceChildren();
    this.calls = new Map();
  }

  think(text) {
    byId("thinking").append(text);
  }

  call(index, name, input) {
    if (!this.calls.has(index)) {
      const row = { item: element("li"), name: element("strong"), code: element("code") };
      row.item.append(row.name, row.code);
      byId("tools").append(row.item);
      this.calls.set(index, row);
    }
    const row = this.calls.get(index);
    if (name) row.name.textContent = name;
    row.code.append(input);
  }

  callReady(index, input, error) {
    const row = this.calls.get(index);
    if (!row) return;
    row.code.textContent = error ?? JSON.stringify(input, null, 2);
    if (error) row.code.className = "note";
  }

  sentence(sentence) {
    const item = element("li", "", sentence.text.trim());
    item.dataset.index = sentence.index;
    byId("sentences").append(item);
    item.scrollIntoView({ block: "nearest" });
  }

  speaking(index) {
    for (const item of byId("sentences").children) {
      const place = Number(item.dataset.index);
      item.className = place === index ? "now" : place < index ? "said" : "";
    }
  }
}

export function status(text, wrong = false) {
  byId("status").textContent = text;
  byId("status").className = wrong ? "wrong" : "";
}
