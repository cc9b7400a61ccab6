// A long list of which only the rows in sight are elements.
import { el } from "./dom.js";

const ROW = 26;
const MOST = 12_000_000; // browsers clip taller elements; beyond it the scroll bar is scaled

let lists = 0;

export class VirtualList {
  constructor({ label, render, onHover, onPick, onMove }) {
    this.count = 0;
    this.render = render;
    this.came = Infinity;
    this.linked = new Set();
    this.active = -1;
    this.picked = -1;
    this.drawn = new Map(); // rows in sight, by number
    this.id = `list${(lists += 1)}`;
    this.sizer = el("div", { class: "sizer" });
    this.rows = el("div", { class: "rows" });
    this.box = el("div", { class: "list", tabindex: "0", role: "listbox", "aria-label": label, id: this.id },
      this.sizer, this.rows);
    this.box.addEventListener("scroll", () => this.draw(), { passive: true });
    const rowAt = (event) => {
      const row = event.target.closest?.("[data-row]");
      return row ? Number(row.dataset.row) : -1;
    };
    // Browsers tell of the pointer again when rows are drawn under it: only another row is news.
    let hovered = -1;
    const hover = (row) => {
      if (row === hovered) return;
      hovered = row;
      onHover(row);
    };
    this.box.addEventListener("pointerover", (event) => hover(rowAt(event)));
    this.box.addEventListener("pointerleave", () => hover(-1));
    this.box.addEventListener("click", (event) => {
      const row = rowAt(event);
      if (row >= 0) {
        this.activate(row);
        onPick(row);
      }
    });
    this.box.addEventListener("keydown", (event) => {
      const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1);
      const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
      if (event.key in moves && this.count) {
        event.preventDefault();
        const next = Math.min(this.count - 1, Math.max(0, Math.max(0, this.active) + moves[event.key]));
        this.activate(this.active < 0 && Math.abs(moves[event.key]) === 1 ? this.first() : next);
        onHover(this.active);
      } else if (event.key === "Enter" && this.active >= 0) {
        event.preventDefault();
        onPick(this.active);
      } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
        event.preventDefault();
        onMove(event.key === "ArrowRight" ? 1 : -1);
      }
    });
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  set(count) {
    this.count = count;
    this.active = Math.min(this.active, count - 1);
    this.height = Math.min(MOST, count * ROW);
    this.scale = count * ROW > MOST ? (count * ROW) / MOST : 1;
    this.sizer.style.height = `${this.height}px`;
    this.drawn.clear();
    this.draw(true);
  }

  first() {
    return Math.min(this.count - 1, Math.ceil((this.box.scrollTop * this.scale) / ROW));
  }

  activate(row) {
    this.active = row;
    this.show(row);
    this.draw(true);
  }

  // Bring a row into sight; as the first of several, near the top.
  show(row, first = false) {
    if (row < 0) return;
    const top = (row * ROW) / this.scale;
    const view = this.box.clientHeight;
    if (first) {
      if (top < this.box.scrollTop || top > this.box.scrollTop + view / 2) this.box.scrollTop = Math.max(0, top - 2 * ROW);
      return;
    }
    if (top < this.box.scrollTop + ROW) this.box.scrollTop = Math.max(0, top - 2 * ROW);
    else if (top > this.box.scrollTop + view - 2 * ROW) this.box.scrollTop = top - view + 3 * ROW;
  }

  mark({ came = this.came, linked = this.linked, picked = this.picked }) {
    this.came = came;
    this.linked = linked;
    this.picked = picked;
    this.draw(true);
  }

  // Linked rows that are out of sight, above and below.
  hidden() {
    const first = Math.floor((this.box.scrollTop * this.scale) / ROW);
    const last = first + Math.floor(this.box.clientHeight / ROW);
    let above = 0;
    let below = 0;
    for (const row of this.linked) {
      if (row < first) above += 1;
      else if (row > last) below += 1;
    }
    return { above, below };
  }

  draw(again = false) {
    const top = this.box.scrollTop;
    const from = Math.max(0, Math.floor((top * this.scale) / ROW) - 6);
    const to = Math.min(this.count, from + Math.ceil(this.box.clientHeight / ROW) + 14);
    if (!again && from === this.from && to === this.to && this.scale === 1) return;
    this.from = from;
    this.to = to;
    const offset = this.scale === 1 ? from * ROW : top - ((top * this.scale) % ROW) - 6 * ROW * (from > 0 ? 1 : 0);
    this.rows.style.transform = `translateY(${Math.max(0, offset)}px)`;
    const before = this.drawn;
    this.drawn = new Map();
    for (let row = from; row < to; row += 1) {
      const node = before.get(row) || el("div", {
        role: "option", id: `${this.id}-${row}`, "data-row": row, "aria-setsize": this.count, "aria-posinset": row + 1,
      }, ...this.render(row));
      const classes = ["row"];
      if (row >= this.came) classes.push("later");
      if (this.linked.has(row)) classes.push("linked");
      if (row === this.active) classes.push("active");
      if (row === this.picked) classes.push("picked");
      node.className = classes.join(" ");
      node.setAttribute("aria-selected", row === this.picked ? "true" : "false");
      this.drawn.set(row, node);
    }
    const nodes = [...this.drawn.values()];
    // The same rows stay where they are: a click must not lose the element on which it began.
    if (nodes.length !== this.rows.childElementCount || nodes.some((node, place) => this.rows.children[place] !== node)) {
      this.rows.replaceChildren(...nodes);
    }
    if (this.active >= from && this.active < to) this.box.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
    else this.box.removeAttribute("aria-activedescendant");
  }
}
