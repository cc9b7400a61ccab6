// Requests to the server, and streams that survive a broken connection: each comes back behind the last id it saw.

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const token = () => sessionStorage.getItem("streamflow.token");
const access = () => (token() ? { authorization: `Bearer ${token()}` } : {});

async function refusal(response) {
  const body = await response.json().catch(() => ({}));
  return new Refused(response.status, body.error?.message ?? `the server answered ${response.status}`);
}

export async function ask(method, path, body) {
  const response = await fetch(path, {
    method,
    headers: { ...access(), ...(body ? { "content-type": "application/json" } : {}) },
    body: body && JSON.stringify(body),
  });
  if (!response.ok) throw await refusal(response);
  return response.status === 204 ? null : response.json();
}

// Calls onItem(item, id) for each item of a branch, to its end. `after` is the id of the last one that is known.
export async function follow(path, { after = "", signal, onItem }) {
  let last = after;
  let wait = 500;
  for (;;) {
    try {
      const headers = { ...access(), ...(last ? { "last-event-id": last } : {}) };
      const response = await fetch(path, { headers, signal, cache: "no-store" });
      if (response.status === 204) return;
      if (!response.ok) throw await refusal(response);
      for await (const frame of frames(response.body)) {
        if (frame.retry) wait = frame.retry;
        if (!frame.data) continue;
        last = frame.id || last;
        const item = JSON.parse(frame.data);
        onItem(item, last);
        if (item.type === "StreamCompleted" || item.type === "StreamFailed") return;
      }
    } catch (fault) {
      if (signal?.aborted) return;
      if (fault instanceof Refused && fault.status !== 429 && fault.status < 500) throw fault;
    }
    await new Promise((wake) => setTimeout(wake, wait));
    if (signal?.aborted) return;
  }
}

async function* frames(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return; // what is held is half an event: it comes again
      held += value;
      const pieces = held.split("\n\n");
      held = pieces.pop();
      for (const piece of pieces) yield frame(piece);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function frame(text) {
  const read = { id: "", data: "", retry: 0 };
  const lines = [];
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (line.startsWith("data:")) lines.push(value);
    else if (line.startsWith("id:")) read.id = value;
    else if (line.startsWith("retry:")) read.retry = Number(value) || 0;
  }
  read.data = lines.join("\n");
  return read;
}
