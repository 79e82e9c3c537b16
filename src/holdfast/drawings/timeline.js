"use strict";
// The timeline: one column a request on a canvas. A column of pixels that stands for several requests shows the largest.
// Drawing costs what is on the screen, however many requests there are. The canvas is inside an element with the role of a slider.
// Of the data, `layers` are tokens by layer and request, each in one of the `colours`. `bars` are dollars or other numbers, and `say` writes the largest.
class Timeline {
  static LEFT = 58; static RIGHT = 10; static TOP = 10; static MARKS = 18; static BARS = 44;
  static SIGNS = { fold: "▼", compaction: "■", overflow: "✕", fault: "✕", error: "!", rewind: "↶", shrunk: "?" };
  // More lines through the columns would hide them.
  static FEW_FOLDS = 60;

  constructor(canvas, choose, { followsPointer = false } = {}) {
    this.canvas = canvas;
    this.choose = choose;
    this.data = null;
    this.from = 0; this.to = 1; this.at = 0;
    this.queued = false;
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    // At once: no frame comes between this and the printed page.
    matchMedia("print").addEventListener("change", () => { if (this.data) this.paint(); });
    canvas.parentElement.addEventListener("keydown", (event) => this.press(event));
    canvas.addEventListener("wheel", (event) => {
      // Where nothing can be zoomed out or moved, the wheel scrolls the page as elsewhere.
      const isAll = !this.data || this.to - this.from >= this.data.tokens.length;
      if (isAll && (event.deltaY >= 0 || Math.abs(event.deltaX) > Math.abs(event.deltaY))) return;
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX / this.width() * (this.to - this.from));
      else this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.place(event.offsetX));
    }, { passive: false });
    let pressed = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (!this.data || event.button) return;
      pressed = { x: event.offsetX, from: this.from, isMoving: event.shiftKey };
      canvas.setPointerCapture(event.pointerId);
      if (!pressed.isMoving) this.choose(Math.floor(this.place(event.offsetX)));
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!pressed && !(followsPointer && this.data)) return;
      const under = Math.floor(this.place(event.offsetX));
      if (pressed && pressed.isMoving) this.pan(pressed.from + (pressed.x - event.offsetX) / this.width() * (this.to - this.from) - this.from);
      else if (under !== this.at) this.choose(under);
    });
    canvas.addEventListener("pointerup", () => { pressed = null; });
    canvas.addEventListener("pointercancel", () => { pressed = null; });
  }

  press(event) {
    if (!this.data || event.ctrlKey || event.metaKey || event.altKey) return;
    const { at } = this, step = event.shiftKey ? 10 : 1;
    const places = { ArrowLeft: at - step, ArrowDown: at - step, ArrowRight: at + step, ArrowUp: at + step, PageUp: at + 100, PageDown: at - 100,
      Home: 0, End: this.data.tokens.length - 1 };
    if (event.key in places) this.choose(places[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(0.6);
    else if (event.key === "-") this.zoom(1 / 0.6);
    else if (event.key === "0") this.zoom(Infinity);
    else return;
    event.preventDefault();
  }

  show(given) {
    const data = this.data = { colours: given.kinds, bars: given.dollars, say: dollars, ...given };
    this.from = 0; this.to = Math.max(data.tokens.length, 1);
    this.measure();
    this.draw();
  }

  // More requests at the end: what is in sight stays, unless it was all of them.
  grow(before) {
    if (this.from <= 0 && this.to >= before) this.to = Math.max(this.data.tokens.length, 1);
    this.measure();
    this.draw();
  }

  measure() {
    const { data } = this;
    this.most = Math.max(1, ...chunks(data.tokens).map((part) => Math.max(...part)));
    // A budget that is far away would leave no room for the columns.
    this.hasBudget = data.budget > 0 && data.budget <= this.most * 4;
    if (this.hasBudget) this.most = Math.max(this.most, data.budget * 1.08);
    this.highest = Math.max(0, ...chunks(data.bars).map((part) => Math.max(...part.map((n) => n || 0))));
    this.canvas.parentElement.setAttribute("aria-valuemax", String(data.tokens.length));
  }

  width() { return Math.max(this.canvas.clientWidth - Timeline.LEFT - Timeline.RIGHT, 1); }
  place(x) { return this.from + (x - Timeline.LEFT) / this.width() * (this.to - this.from); }

  zoom(factor, around = this.at + 0.5) {
    const total = this.data.tokens.length;
    const span = Math.min(Math.max((this.to - this.from) * factor, Math.min(10, total)), total);
    const share = (around - this.from) / (this.to - this.from);
    // The column that is zoomed at stays whole.
    const column = Math.floor(around);
    this.from = Math.min(Math.max(around - share * span, column + 1 - span), column);
    this.to = this.from + span;
    this.pan(0);
  }

  pan(by) {
    const span = this.to - this.from;
    this.from = Math.min(Math.max(this.from + by, 0), this.data.tokens.length - span);
    this.to = this.from + span;
    this.draw();
  }

  // Chooses a request, and says it in words.
  select(at, words) {
    this.at = at;
    this.canvas.parentElement.setAttribute("aria-valuenow", String(at + 1));
    this.canvas.parentElement.setAttribute("aria-valuetext", words);
    if (at < this.from) this.pan(at - this.from);
    else if (at + 1 > this.to) this.pan(at + 1 - this.to);
    else this.draw();
  }

  draw() {
    if (this.queued || !this.data) return;
    this.queued = true;
    requestAnimationFrame(() => { this.queued = false; this.paint(); });
  }

  paint() {
    const began = performance.now();
    const { canvas, data } = this;
    const scale = devicePixelRatio || 1, wide = canvas.clientWidth, high = canvas.clientHeight;
    if (!wide) return;
    canvas.width = Math.round(wide * scale); canvas.height = Math.round(high * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const style = getComputedStyle(canvas), colour = (name) => style.getPropertyValue(`--${name}`);
    const base = high - Timeline.MARKS - Timeline.BARS, tall = base - Timeline.TOP;
    this.axis(pen, colour, wide, base, tall);
    const columns = this.columns();
    data.colours.forEach((name, layer) => {
      pen.fillStyle = colour(name);
      for (const one of columns) {
        let low = 0;
        for (let below = 0; below < layer; below++) low += data.layers[below][one.at];
        const size = data.layers[layer][one.at];
        if (size) pen.fillRect(one.x, base - (low + size) / this.most * tall, one.w, size / this.most * tall);
      }
    });
    pen.fillStyle = colour("veil");
    for (const one of columns) {
      const cached = data.cached[one.at] / this.most * tall;
      pen.fillRect(one.x, base - cached, one.w, cached);
    }
    pen.fillStyle = colour("soft");
    const floor = high - 14;
    for (const one of columns) {
      if (one.bar) { const size = Math.max(one.bar / this.highest * (Timeline.BARS - 16), 1); pen.fillRect(one.x, floor - size, one.w, size); }
    }
    if (this.hasBudget) this.budget(pen, colour, wide, base - data.budget / this.most * tall);
    this.signs(pen, colour, base);
    this.cursor(pen, colour, high);
    this.took = performance.now() - began;
    canvas.dataset.drawn = String((Number(canvas.dataset.drawn) || 0) + 1);
    canvas.dataset.milliseconds = this.took.toFixed(2);
  }

  // One column a request, or a pixel where requests are narrower than that.
  columns() {
    const { tokens, bars } = this.data, step = this.width() / (this.to - this.from), found = [];
    const first = Math.max(Math.floor(this.from), 0), last = Math.min(Math.ceil(this.to), tokens.length);
    let pixel = -1;
    for (let at = first; at < last; at++) {
      const x = Timeline.LEFT + Math.max(at - this.from, 0) * step;
      if (step >= 1) { found.push({ at, x, w: Math.max(step - (step > 4 ? 1 : 0), 1), bar: bars[at] }); continue; }
      if (Math.floor(x) !== pixel) { pixel = Math.floor(x); found.push({ at, x: pixel, w: 1, bar: bars[at] }); continue; }
      const last = found.at(-1);
      if (tokens[at] > tokens[last.at]) last.at = at;
      last.bar = Math.max(last.bar, bars[at]);
    }
    return found;
  }

  axis(pen, colour, wide, base, tall) {
    pen.font = "11px ui-sans-serif, system-ui, sans-serif";
    pen.textAlign = "right"; pen.textBaseline = "middle";
    const unit = 10 ** Math.floor(Math.log10(this.most));
    const step = [0.2, 0.5, 1, 2].map((f) => f * unit).find((s) => this.most / s <= 5) || unit;
    for (let value = 0; value <= this.most; value += step) {
      const y = base - value / this.most * tall;
      pen.fillStyle = colour("line"); pen.fillRect(Timeline.LEFT, y, wide - Timeline.LEFT - Timeline.RIGHT, 1);
      pen.fillStyle = colour("soft"); pen.fillText(short(value), Timeline.LEFT - 6, value ? y : y - 4);
    }
    pen.fillText("events", Timeline.LEFT - 6, base + Timeline.MARKS / 2);
    if (this.highest) pen.fillText(this.data.say(this.highest), Timeline.LEFT - 6, base + Timeline.MARKS + 8);
    const high = base + Timeline.MARKS + Timeline.BARS;
    pen.textAlign = "left"; pen.fillText(String(Math.floor(this.from) + 1), Timeline.LEFT, high - 6);
    pen.textAlign = "right"; pen.fillText(String(Math.ceil(this.to)), wide - Timeline.RIGHT, high - 6);
  }

  budget(pen, colour, wide, y) {
    pen.strokeStyle = pen.fillStyle = colour("ink"); pen.lineWidth = 1;
    pen.setLineDash([8, 4]);
    pen.beginPath(); pen.moveTo(Timeline.LEFT, y); pen.lineTo(wide - Timeline.RIGHT, y); pen.stroke();
    pen.setLineDash([]);
    pen.textAlign = "left"; pen.textBaseline = "bottom"; pen.fillText(`budget ${short(this.data.budget)}`, Timeline.LEFT + 6, y - 1);
  }

  signs(pen, colour, base) {
    const step = this.width() / (this.to - this.from);
    const hasLines = this.data.marks.filter(([, kind]) => kind === "fold").length <= Timeline.FEW_FOLDS;
    let taken = -Infinity;
    pen.textAlign = "center"; pen.textBaseline = "middle";
    for (const [number, kind] of this.data.marks) {
      if (number - 1 < this.from - 1 || number - 1 > this.to) continue;
      const x = Timeline.LEFT + (number - 0.5 - this.from) * step;
      if (x < Timeline.LEFT || x - taken < 6) continue;
      taken = x;
      pen.fillStyle = colour(kind === "fold" || kind === "compaction" ? "folded" : "wrong");
      pen.fillText(Timeline.SIGNS[kind], x, base + Timeline.MARKS / 2);
      if (kind === "fold" && hasLines) {
        pen.strokeStyle = colour("folded"); pen.lineWidth = 1; pen.setLineDash([2, 3]);
        pen.beginPath(); pen.moveTo(x, Timeline.TOP); pen.lineTo(x, base); pen.stroke();
        pen.setLineDash([]);
      }
    }
  }

  cursor(pen, colour, high) {
    const step = this.width() / (this.to - this.from), x = Timeline.LEFT + (this.at - this.from) * step;
    pen.strokeStyle = colour("ink"); pen.lineWidth = 1.5;
    pen.strokeRect(x - 1, Timeline.TOP - 4, Math.max(step, 2) + 1, high - Timeline.TOP - 10);
  }
}

// Math.max takes no ten thousand arguments everywhere.
function chunks(list) {
  const parts = [];
  for (let at = 0; at < list.length; at += 5000) parts.push(list.slice(at, at + 5000));
  return parts;
}
