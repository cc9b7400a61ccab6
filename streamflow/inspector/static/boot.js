// The page that carries its recordings inside.
import { view } from "./main.js";

view(document.getElementById("app"), JSON.parse(document.getElementById("data").textContent).traces);
document.body.dataset.ready = "true";
performance.mark("ready");
