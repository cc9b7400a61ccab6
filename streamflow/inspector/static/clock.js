// The moment that the page shows: scrubbed by hand, or running.

export class Clock {
  constructor(duration) {
    this.duration = duration;
    this.now = duration;
    this.speed = 1;
    this.running = false;
    this.watchers = [];
  }

  watch(tell) {
    this.watchers.push(tell);
  }

  set(now, running = false) {
    this.now = Math.min(this.duration, Math.max(0, now));
    this.running = running && this.now < this.duration;
    for (const tell of this.watchers) tell(this);
  }

  stop() {
    this.running = false;
    this.watchers = [];
  }

  toggle() {
    if (this.running) return this.set(this.now);
    if (this.now >= this.duration) this.now = 0;
    if (!Number.isFinite(this.speed)) return this.set(this.duration);
    let before = performance.now();
    const tick = (time) => {
      if (!this.running) return;
      const next = this.now + ((time - before) / 1000) * this.speed;
      before = time;
      this.set(next, true);
      if (this.running) requestAnimationFrame(tick);
    };
    this.set(this.now, true);
    requestAnimationFrame(tick);
  }
}
