// Elements from plain data. Text is always text: nothing from a recording is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "class") node.className = value;
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

export function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const SIGNS = { "\n": "⏎", "\r": "␍", "\t": "⇥" };

// One line of text in which white space can be seen.
export function oneLine(text, most = 240) {
  const cut = text.length > most ? text.slice(0, most) + "…" : text;
  return cut.replace(/[\n\r\t]/g, (sign) => SIGNS[sign]).replace(/[\u0000-\u001f\u007f]/g, "·");
}

export function seconds(t) {
  if (t >= 10) return t.toFixed(1) + " s";
  if (t >= 1) return t.toFixed(2) + " s";
  return Math.round(t * 1000) + " ms";
}

export function size(bytes) {
  if (bytes < 1024) return bytes + " B";
  if (bytes < 1024 * 1024) return (bytes / 1024).toFixed(1) + " kB";
  return (bytes / 1024 / 1024).toFixed(1) + " MB";
}

export function plural(count, word) {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}
