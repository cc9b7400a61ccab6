// The voice: segments are played in their order, one right after the other, and the words light up as they are said.

const WORD = /[^\s]+/gu;

function bytes(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)).buffer;
}

// When each word of a segment is said, by its share of the characters, and where it stands in the raw text.
function timed(segment, turn) {
  const { text, start, end } = segment.sentence;
  const raw = turn.slice(start, end);
  const spoken = text.trim();
  const share = segment.duration_s / Math.max(1, spoken.length);
  let cursor = 0;
  return Array.from(spoken.matchAll(WORD), (match) => {
    const bare = match[0].replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "") || match[0];
    const found = raw.indexOf(bare, cursor);
    if (found >= 0) cursor = found + bare.length;
    return {
      begin_s: match.index * share,
      begin: found < 0 ? -1 : start + found,
      end: found < 0 ? -1 : start + found + bare.length,
    };
  });
}

export class Voice {
  // onState("speaking" | "idle"), onSegment(index), onDone(id): a segment was heard to its end.
  constructor({ onState, onSegment, onDone }) {
    this.report = { onState, onSegment, onDone };
    this.context = null;
    this.state = "idle";
    this.silence();
  }

  // A browser lets a page make sound only after somebody touched it.
  wake() {
    this.context ??= new AudioContext();
    if (this.context.state === "suspended") this.context.resume().catch(() => {});
  }

  silence() {
    for (const { source } of this.playing ?? []) {
      source.onended = null;
      source.stop();
    }
    cancelAnimationFrame(this.frame);
    this.turnNumber = (this.turnNumber ?? 0) + 1;
    this.playing = [];
    this.playhead = 0;
    this.pending = Promise.resolve();
    this.waiting = 0;
    this.ended = false;
    CSS.highlights?.delete("spoken");
    this.say("idle");
  }

  say(state) {
    if (this.state !== state) this.report.onState((this.state = state));
  }

  // One segment after the other: decoding takes its time, the order stays.
  add(segment, id, turn) {
    const number = this.turnNumber;
    this.wake();
    this.waiting += 1;
    this.pending = this.pending.then(async () => {
      const audio = await this.context.decodeAudioData(bytes(segment.audio));
      if (number !== this.turnNumber) return;
      this.waiting -= 1;
      this.play(audio, segment, id, turn);
    });
  }

  // No segment follows.
  end() {
    this.pending = this.pending.then(() => {
      this.ended = true;
      this.settle();
    });
  }

  play(audio, segment, id, turn) {
    const source = this.context.createBufferSource();
    source.buffer = audio;
    source.connect(this.context.destination);
    const at = Math.max(this.context.currentTime + 0.03, this.playhead);
    this.playhead = at + audio.duration;
    const entry = { source, at, until: this.playhead, segment, turn, words: timed(segment, turn) };
    source.onended = () => {
      this.playing = this.playing.filter((other) => other !== entry);
      this.report.onDone(id, segment);
      this.settle();
    };
    this.playing.push(entry);
    source.start(at);
    this.say("speaking");
    cancelAnimationFrame(this.frame);
    this.light();
  }

  settle() {
    if (this.playing.length || this.waiting || !this.ended) return;
    CSS.highlights?.delete("spoken");
    this.report.onSegment(-1);
    this.say("idle");
  }

  light() {
    const now = this.context.currentTime;
    const entry = this.playing.find((other) => other.at <= now && now < other.until);
    if (entry) {
      const word = entry.words.findLast((other) => other.begin_s <= now - entry.at);
      this.report.onSegment(entry.segment.index);
      const range = word && word.begin >= 0 ? entry.turn.range(word.begin, word.end) : null;
      if (range && CSS.highlights) CSS.highlights.set("spoken", new Highlight(range));
    }
    if (this.playing.length) this.frame = requestAnimationFrame(() => this.light());
  }
}
