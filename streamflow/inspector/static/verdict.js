// The verdict, and the test that shows what is wrong.
import { el, plural } from "./dom.js";

const MARKS = { ok: "✓", warn: "!", fail: "✗" };

export function verdictBadge(trace) {
  if (trace.data.live) return el("span", { class: "verdict-badge live" }, "● live");
  const fails = trace.data.verdict.filter((finding) => finding.level === "fail").length;
  const warns = trace.data.verdict.filter((finding) => finding.level === "warn").length;
  const level = fails ? "fail" : warns ? "warn" : "ok";
  const said = fails ? plural(fails, "fault") : warns ? plural(warns, "remark") : "all is well";
  return el("span", { class: `verdict-badge ${level}` }, `${MARKS[level]} ${said}`);
}

export function verdictList(trace, reveal) {
  return el("ul", { class: "verdict", "aria-label": "verdict" }, ...trace.data.verdict.map((finding) => {
    const body = [el("span", { class: "sign", "aria-label": finding.level }, MARKS[finding.level]),
      el("strong", {}, finding.title), el("span", { class: "why" }, finding.detail)];
    const place = finding.row >= 0 && finding.column;
    const said = { class: "finding", title: `${finding.title}: ${finding.detail}` };
    return el("li", { class: finding.level }, place
      ? el("button", { ...said, type: "button", onclick: () => reveal(finding.column, finding.row) }, ...body)
      : el("div", said, ...body));
  }));
}

// The same lines as streamflow/inspector/export.py writes.
export function pytestText(trace) {
  const lines = [];
  if (trace.hasBytes) {
    let start = 0;
    for (const end of trace.ends) {
      lines.push(`    b"${escaped(trace.bytes.subarray(start, end))}",`);
      start = end;
    }
  } else {
    const encoder = new TextEncoder();
    for (const event of trace.data.events) lines.push(`    b"${escaped(encoder.encode(JSON.stringify(event)))}",`);
  }
  return trace.data.pytest.replace("@PIECES@", () => lines.join("\n"));
}

const NAMED = { 10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 92: "\\\\" };
const ESCAPES = Array.from({ length: 256 }, (_, byte) =>
  NAMED[byte] || (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "\\x" + byte.toString(16).padStart(2, "0")));

function escaped(bytes) {
  let out = "";
  for (const byte of bytes) out += ESCAPES[byte];
  return out;
}

export function exportDialog(signal) {
  const area = el("textarea", { readonly: true, spellcheck: "false", "aria-label": "the test" });
  const save = el("a", { class: "button", download: "test_recording.py" }, "Save");
  const copy = el("button", { type: "button", onclick: async () => {
    area.select();
    try {
      await navigator.clipboard.writeText(area.value);
    } catch {
      document.execCommand("copy"); // pages from a file may not use the clipboard directly
    }
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  } }, "Copy");
  const title = el("h2", {});
  const close = el("button", { type: "button", onclick: () => dialog.close() }, "Close");
  const dialog = el("dialog", { class: "export" }, title, area, el("footer", {}, copy, save, close));
  document.body.append(dialog);
  signal.addEventListener("abort", () => dialog.remove());
  return (trace) => {
    const text = pytestText(trace);
    const wrong = trace.data.verdict.some((finding) => finding.level !== "ok");
    title.textContent = wrong ? "A test that fails for this reason" : "A test that keeps this answer as it is";
    area.value = text;
    if (save.href) URL.revokeObjectURL(save.href);
    save.href = URL.createObjectURL(new Blob([text], { type: "text/x-python" }));
    dialog.showModal();
    area.focus();
  };
}
