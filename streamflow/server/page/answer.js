// What is on the screen. Words of a model go into text nodes only: they can never become markup.

const byId = (id) => document.getElementById(id);
const FENCE = /^\s*(`{3,}|~{3,})/;
const LINES = [[/^#{1,6} /, "heading"], [/^\s*([-*+]|\d+[.)]) /, "item"], [/^\s*> /, "quote"]];
// Strong words and code, on one line. What is dimmed stays there: the text is what the model wrote, to the letter.
const INLINE = /^(?<head>#{1,6} )|(\*\*)(?=\S)(.+?)\*\*|(`+)(.+?)\4(?!`)/g;

export function element(name, className = "", text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

// The end of the conversation stays in sight, unless somebody scrolled away from it to read.
const follow = {
  wanted: true,
  begin(list) {
    list.addEventListener("scroll", () => {
      this.wanted = list.scrollHeight - list.scrollTop - list.clientHeight < 60;
    });
    new ResizeObserver(() => this.on()).observe(list);
  },
  on() {
    if (this.wanted) byId("conversation").scrollTop = byId("conversation").scrollHeight;
  },
  now() {
    this.wanted = true;
    this.on();
  },
};
follow.begin(byId("conversation"));

// One turn of the conversation. It knows where each piece of text stands in what the model wrote.
export class Turn {
  constructor(role, text = "") {
    this.root = element("article", `turn ${role}`);
    this.prose = element("div", "prose");
    this.notes = element("div", "notes");
    this.root.append(element("h2", "", role === "user" ? "you" : "answer"), this.prose, this.notes);
    this.clear();
    if (text) {
      this.add(text, 0);
      this.end();
    }
    byId("welcome").hidden = true;
    byId("conversation").append(this.root);
    follow.now();
  }

  get text() {
    return this.prose.textContent;
  }

  add(text, start = -1) {
    let begin = start >= 0 ? start : this.length;
    for (const part of text.split(/(?<=\n)/)) {
      this.put(part, begin);
      begin += part.length;
    }
    this.length = Math.max(this.length, begin);
    follow.on();
  }

  put(part, begin) {
    if (!this.line) {
      this.line = { root: element("div", "line"), head: "", first: this.pieces.length };
      this.prose.append(this.line.root);
    }
    const { line } = this;
    const node = document.createTextNode(part);
    this.pieces.push({ node, begin, end: begin + part.length });
    line.root.append(node);
    if (line.head.length < 16) {
      line.head += part;
      line.root.className = `line ${this.kind(line.head)}`;
    }
    if (part.endsWith("\n")) this.endLine();
  }

  kind(head) {
    if (this.fence || FENCE.test(head)) return "code";
    return LINES.find(([pattern]) => pattern.test(head))?.[1] ?? "";
  }

  endLine() {
    const { line } = this;
    const fence = FENCE.exec(line.head)?.[1];
    if (fence && (!this.fence || fence.startsWith(this.fence))) {
      line.root.classList.add("mark");
      this.fence = this.fence ? "" : fence;
    } else if (!this.fence) this.dress(line);
    this.line = null;
  }

  // No text follows.
  end() {
    if (this.line) this.endLine();
  }

  // A line that is complete gets its strong words and its code. Its places are noted again.
  dress(line) {
    const old = this.pieces.slice(line.first);
    const text = old.map((piece) => piece.node.data).join("");
    const found = [...text.matchAll(INLINE)];
    const whole = old.every((piece, number) => !number || piece.begin === old[number - 1].end);
    if (!found.length || !whole) return;
    const { begin } = old[0];
    this.pieces.length = line.first;
    line.root.replaceChildren();
    let done = 0;
    const append = (to, from, until) => {
      if (from === until) return;
      const node = document.createTextNode(text.slice(from, until));
      this.pieces.push({ node, begin: begin + from, end: begin + until });
      const span = to ? element(to === "mark" ? "span" : to, to === "mark" ? "mark" : "") : null;
      if (span) span.append(node);
      line.root.append(span ?? node);
    };
    for (const match of found) {
      const [, head, strong, , code] = match;
      const edge = (head ?? strong ?? code).length;
      const end = match.index + match[0].length;
      append("", done, match.index);
      append("mark", match.index, match.index + edge);
      if (!head) {
        append(strong ? "strong" : "code", match.index + edge, end - edge);
        append("mark", end - edge, end);
      }
      done = end;
    }
    append("", done, text.length);
  }

  clear() {
    this.prose.replaceChildren();
    this.notes.replaceChildren();
    this.pieces = [];
    this.length = 0;
    this.line = null;
    this.fence = "";
  }

  note(text, kind = "note") {
    this.notes.append(element("p", kind, text));
    follow.on();
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
    const panel = byId("thinking");
    panel.append(text);
    panel.scrollTop = panel.scrollHeight;
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

  // The name of the tool that is called.
  callReady(index, input, error) {
    const row = this.calls.get(index);
    if (!row) return "";
    row.code.textContent = error ?? JSON.stringify(input, null, 2);
    if (error) row.code.className = "note";
    return row.name.textContent;
  }

  sentence(sentence) {
    const item = element("li", "", sentence.text.trim());
    item.dataset.index = sentence.index;
    byId("sentences").append(item);
    if (!byId("sentences").querySelector(".now")) byId("sentences").scrollTop = byId("sentences").scrollHeight;
  }

  speaking(index) {
    const list = byId("sentences");
    for (const item of list.children) {
      const place = Number(item.dataset.index);
      const kind = place === index ? "now" : place < index ? "said" : "";
      if (item.className === kind) continue;
      item.className = kind;
      if (kind === "now") list.scrollTop = item.offsetTop - list.offsetTop - list.clientHeight / 3;
    }
  }
}

export function status(text, wrong = false) {
  byId("status").textContent = text;
  byId("status").className = wrong ? "wrong" : text === "answering" ? "busy" : "";
}
