// The front end of a live figure: three controls, the drawing, the text that came out.
function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "sf-live";
  root.innerHTML = `
    <div class="sf-live-bar">
      <button type="button" class="sf-live-again" title="run it again">&#8635; again</button>
      <label>speed <input type="range" class="sf-live-speed" min="0" step="1"><output></output></label>
      <label>re-cut <input type="range" class="sf-live-cut" min="0" step="1"><output></output></label>
      <span class="sf-live-state"></span>
    </div>
    <div class="sf-live-figure"></div>
    <details class="sf-live-text"><summary>what came out</summary><pre></pre></details>`;
  const find = (selector) => root.querySelector(selector);
  // Else JupyterLab takes the keys from the control that has the focus; it looks at that one only.
  root.querySelectorAll("button, input, summary").forEach((node) => { node.dataset.lmSuppressShortcuts = "true"; });
  const speed = find(".sf-live-speed"), cut = find(".sf-live-cut");

  const slider = (input, name, list, label) => {
    const values = model.get(list);
    input.max = values.length - 1;
    const show = () => {
      const value = model.get(name);
      const place = values.indexOf(value);
      if (place >= 0) input.value = place;
      input.nextElementSibling.textContent = label(value);
    };
    input.addEventListener("change", () => {
      model.set(name, values[Number(input.value)]);
      model.save_changes();
    });
    input.addEventListener("input", () => {
      input.nextElementSibling.textContent = label(values[Number(input.value)]);
    });
    model.on(`change:${name}`, show);
    show();
    return () => model.off(`change:${name}`, show);
  };
  const leave = [
    slider(speed, "speed", "speeds", (value) => (value ? `×${value}` : "at once")),
    slider(cut, "piece_size", "sizes", (value) => (value ? `every ${value}` : "as it came")),
  ];
  find(".sf-live-again").addEventListener("click", () => {
    model.set("replays", model.get("replays") + 1);
    model.save_changes();
  });

  const draw = () => { find(".sf-live-figure").innerHTML = model.get("svg"); };
  const tell = () => {
    const state = model.get("state");
    const done = state === "done";
    const verdict = model.get("same") ? "output unchanged" : "OUTPUT CHANGED";
    const node = find(".sf-live-state");
    node.textContent = `${state} · ${model.get("pieces")} pieces in` + (done ? ` · ${verdict} (${model.get("fingerprint")})` : "");
    node.dataset.state = done ? (model.get("same") ? "same" : "changed") : state;
    find("pre").textContent = model.get("output");
  };
  const facts = ["state", "pieces", "same", "fingerprint", "output"];
  model.on("change:svg", draw);
  facts.forEach((name) => model.on(`change:${name}`, tell));
  draw();
  tell();
  el.appendChild(root);
  return () => {
    model.off("change:svg", draw);
    facts.forEach((name) => model.off(`change:${name}`, tell));
    leave.forEach((end) => end());
  };
}
export default { render };
