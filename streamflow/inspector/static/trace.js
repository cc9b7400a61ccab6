// A trace: the recording as the page knows it, its cutting, and which rows belong together.

export const COLUMNS = ["raw", "frames", "events", "visible", "sentences"];
export const STEP_S = 0.02; // a capture without times plays one piece each so many seconds

export class Trace {
  constructor(data) {
    this.data = data;
    this.name = data.name || data.provider || "recording";
    this.bytes = wireBytes(data.wire);
    this.hasBytes = this.bytes.length > 0 || data.frames.length > 0;
    this.frames = data.frames;
    this.events = data.events;
    this.born = data.born;
    this.sentences = data.sentences;
    this.visible = [];
    this.visibleAt = new Map();
    this.events.forEach((event, row) => {
      if (event.type === "Chunk" && event.visible !== false) {
        this.visibleAt.set(row, this.visible.length);
        this.visible.push(row);
      }
    });
    this.sentenceOf = new Map();
    this.sentences.forEach((sentence, row) => {
      for (const event of sentence.events) this.sentenceOf.set(event, pushed(this.sentenceOf.get(event), row));
    });
    this.eventsOf = new Map(); // frame -> events
    this.events.forEach((_, row) => {
      for (const frame of this.framesOf(row)) this.eventsOf.set(frame, pushed(this.eventsOf.get(frame), row));
    });
    this.recorded = data.pieces.map(([t]) => t);
    this.timed = this.recorded.some((t) => t > 0);
    this.cutAs = { label: "as recorded" };
    this.cut(this.cutAs);
  }

  // -- the cutting

  cut(how) {
    this.cutAs = how;
    const ends = [];
    let at = 0;
    if (how.size || how.seed) {
      const random = how.seed ? generator(how.seed) : null;
      const total = this.bytes.length;
      while (at < total) {
        at = Math.min(total, at + (how.size || 1 + Math.floor(random() * 64)));
        ends.push(at);
      }
    } else {
      for (const [, length] of this.data.pieces) ends.push((at += length));
    }
    this.ends = ends;
    this.times = how.size || how.seed ? this.spreadTimes(ends) : this.pieceTimes(ends.length);
    this.duration = Math.max(this.data.end_t || 0, this.times[this.times.length - 1] || 0);
    if (!this.timed) this.duration = ends.length * STEP_S;
    this.pieceOfFrame = this.frames.map((frame, row) =>
      row >= this.frames.length - this.data.frames_at_end ? ends.length : lowerBound(ends, frame[1]));
  }

  pieceTimes(count) {
    return this.timed ? this.recorded : Array.from({ length: count }, (_, row) => (row + 1) * STEP_S);
  }

  // Bytes that came together are spread over the pause before them, so that a finer cutting can be watched.
  spreadTimes(ends) {
    if (!this.timed) return this.pieceTimes(ends.length);
    const times = [];
    let piece = 0;
    let start = 0;
    let stop = this.data.pieces.length ? this.data.pieces[0][1] : 0;
    for (const end of ends) {
      while (end > stop && piece < this.data.pieces.length - 1) {
        piece += 1;
        start = stop;
        stop += this.data.pieces[piece][1];
      }
      const before = piece ? this.recorded[piece - 1] : 0;
      const share = stop > start ? (end - start) / (stop - start) : 1;
      times.push(before + (this.recorded[piece] - before) * share);
    }
    return times;
  }

  // -- where the stream is at a moment

  at(t) {
    const over = t >= this.duration;
    const pieces = over ? this.ends.length : upperBound(this.times, t);
    let frames = over ? this.frames.length : upperBound(this.pieceOfFrame, pieces - 1);
    if (!this.hasBytes) frames = pieces;
    const came = (born) => (born < 0 ? over : born < frames);
    return {
      t, over, raw: pieces, frames,
      bytes: pieces ? this.ends[pieces - 1] : 0,
      events: countWhile(this.born, came),
      visible: countWhile(this.visible, (row) => came(this.born[row])),
      sentences: countWhile(this.sentences, (sentence) => came(sentence.born)),
    };
  }

  counts() {
    return {
      raw: this.ends.length, frames: this.frames.length, events: this.events.length,
      visible: this.visible.length, sentences: this.sentences.length,
    };
  }

  timeOf(column, row) {
    if (column === "raw") return this.times[row] ?? this.duration;
    const frame = column === "frames" ? row
      : column === "sentences" ? this.sentences[row].born
      : this.born[column === "visible" ? this.visible[row] : row];
    if (frame < 0) return this.duration;
    if (!this.hasBytes) return this.times[frame] ?? this.duration;
    return this.times[this.pieceOfFrame[frame]] ?? this.duration;
  }

  // -- what belongs together

  framesOf(event) {
    const causes = this.data.causes[event];
    if (!this.hasBytes || !causes.length) return [];
    if (causes[0] === -1) return causes.slice(1);
    const out = [];
    for (let frame = causes[0]; frame <= causes[1]; frame += 1) out.push(frame);
    return out;
  }

  linked(column, row) {
    const events = new Set(this.eventsFor(column, row));
    const frames = new Set(column === "frames" ? [row] : column === "raw" ? this.framesIn(row) : []);
    if (column !== "frames" && column !== "raw") for (const event of events) for (const frame of this.framesOf(event)) frames.add(frame);
    const raw = new Set(column === "raw" ? [row] : []);
    if (column !== "raw") for (const frame of frames) for (const piece of this.piecesOf(frame)) raw.add(piece);
    if (!this.hasBytes && column !== "raw") for (const event of events) raw.add(event);
    const visible = new Set();
    const sentences = new Set(column === "sentences" ? [row] : []);
    for (const event of events) {
      if (this.visibleAt.has(event)) visible.add(this.visibleAt.get(event));
      if (column !== "sentences") for (const sentence of this.sentenceOf.get(event) || []) sentences.add(sentence);
    }
    return { raw, frames, events, visible, sentences };
  }

  eventsFor(column, row) {
    if (column === "events") return [row];
    if (column === "visible") return [this.visible[row]];
    if (column === "sentences") return this.sentences[row].events;
    if (!this.hasBytes) return [row];
    const frames = column === "frames" ? [row] : this.framesIn(row);
    return frames.flatMap((frame) => this.eventsOf.get(frame) || []);
  }

  piecesOf(frame) {
    const [start, end] = this.frames[frame];
    const out = [];
    for (let piece = lowerBound(this.ends, start + 1); piece < this.ends.length; piece += 1) {
      out.push(piece);
      if (this.ends[piece] >= end) break;
    }
    return out;
  }

  framesIn(piece) {
    const start = piece ? this.ends[piece - 1] : 0;
    const end = this.ends[piece];
    const out = [];
    // Frames do not overlap, so their ends are in order.
    let low = 0;
    let high = this.frames.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.frames[middle][1] <= start) low = middle + 1;
      else high = middle;
    }
    for (let frame = low; frame < this.frames.length && this.frames[frame][0] < end; frame += 1) out.push(frame);
    return out;
  }

  span(column, row) {
    const linked = this.linked(column, row);
    if (column === "raw") return [row ? this.ends[row - 1] : 0, this.ends[row]];
    let start = Infinity;
    let end = -1;
    for (const frame of linked.frames) {
      start = Math.min(start, this.frames[frame][0]);
      end = Math.max(end, this.frames[frame][1]);
    }
    return end < 0 ? null : [start, end];
  }

  // -- text of rows

  slice(start, end) {
    return decoder.decode(this.bytes.subarray(start, end));
  }

  pieceText(piece) {
    return this.slice(piece ? this.ends[piece - 1] : 0, Math.min(this.ends[piece], (piece ? this.ends[piece - 1] : 0) + 400));
  }

  get text() {
    return this.visible.map((row) => this.events[row].text).join("");
  }
}

const decoder = new TextDecoder("utf-8");

function wireBytes(wire) {
  if (wire.text !== undefined) return new TextEncoder().encode(wire.text);
  const raw = atob(wire.base64);
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at += 1) bytes[at] = raw.charCodeAt(at);
  return bytes;
}

function pushed(list, item) {
  if (!list) return [item];
  if (list[list.length - 1] !== item) list.push(item);
  return list;
}

// Rows come in the order of their birth; those of the end stand last.
function countWhile(rows, came) {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (came(rows[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function upperBound(list, value) {
  return countWhile(list, (item) => item <= value);
}

export function lowerBound(list, value) {
  return countWhile(list, (item) => item < value);
}

// Always the same numbers for the same seed (mulberry32).
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
