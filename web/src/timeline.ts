// SPDX-License-Identifier: Apache-2.0
// The picture: rows of pixels, names on them, the ruler, and what lies over them (cursor, range,
// bookmarks, losses, the bounds of clocks).
import type { Data } from "./data";
import { h } from "./dom";
import type { Exits } from "./exits";
import type { Filter } from "./filter";
import { type Clock, niceStep } from "./format";
import { MODE, type Model, THREAD_STATES, VCPU_STATES } from "./model";
import { Painter, type Placed, type Span } from "./paint";
import { css, machineColour, nameColour, type Rgb, type Theme } from "./palette";
import type { Row, RowList } from "./rows";
import type { View } from "./view";

const HEIGHTS = [9, 20, 30];
const GROUP_HEIGHT = [14, 22, 28];
const GAP = [1, 3, 4];
const NAME_ROOM = 34;
const NAMES_MAX = 500;
const NAMES_MOVING = 160;
export const RULER = 24;
const FONT = "10.5px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";

export interface Hit {
  row: Row;
  t: number;
}

export class Timeline {
  readonly canvas = h("canvas", { class: "rows", tabindex: 0, "aria-label": "time line" });
  readonly ruler = h("canvas", { class: "ruler" });
  readonly element = h("div", { class: "picture" }, this.ruler, this.canvas);
  placed: Placed[] = []; // visible ones, in CSS pixels from the canvas' top
  spans: Span[][] = [];
  scroll = 0;
  contentHeight = 0;
  moving = false;
  hoverX: number | null = null;
  private list: RowList = { pinned: [], rows: [], byId: new Map() };
  private image: ImageData | null = null;
  private ratio = 1;
  private frame = 0;
  private readonly painter: Painter;
  exits: Exits | null = null;
  /** How long the last pictures took, in ms: for tests and for the bench. */
  readonly took: number[] = [];
  afterDraw: () => void = () => undefined;

  constructor(
    private readonly model: Model,
    private readonly view: View,
    private readonly data: Data,
    private readonly clock: Clock,
    private theme: Theme,
    filter: Filter,
  ) {
    this.painter = new Painter(model, theme, filter, view.look.colourBy);
  }

  restyle(theme: Theme, filter: Filter): void {
    this.theme = theme;
    this.painter.reset(theme, filter, this.view.look.colourBy);
    this.request();
  }

  setRows(list: RowList): void {
    this.list = list;
    this.request();
  }

  get rows(): RowList {
    return this.list;
  }

  get width(): number {
    return this.canvas.clientWidth;
  }

  heightOf(row: Row): number {
    return row.kind === "group" ? GROUP_HEIGHT[this.view.look.rowSize] : HEIGHTS[this.view.look.rowSize];
  }

  get gap(): number {
    return GAP[this.view.look.rowSize];
  }

  /** Draws at the next frame. */
  request(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  /** Draws now: a frame with the old picture would show it stretched to the new size. */
  resized(): void {
    cancelAnimationFrame(this.frame);
    this.draw();
  }

  /** Which rows are to be seen, and where. */
  private layout(height: number): void {
    this.placed = [];
    let y = 2;
    for (const row of this.list.pinned) {
      this.placed.push({ row, y, height: this.heightOf(row) });
      y += this.heightOf(row) + this.gap;
    }
    const top = this.list.pinned.length ? y + 3 : 0;
    let at = 2;
    for (const row of this.list.rows) {
      const own = this.heightOf(row);
      const place = top + at - this.scroll;
      if (place + own > top && place < height) this.placed.push({ row, y: place, height: own });
      at += own + this.gap;
    }
    this.contentHeight = top + at + 8;
    this.pinnedHeight = top;
  }

  pinnedHeight = 0;

  /** Attributes that must be there for the picture, with those just outside of it. */
  private attrs(height: number): number[] {
    const wanted = new Set<number>();
    let at = this.pinnedHeight - this.scroll;
    for (const row of this.list.pinned) if (row.attr !== null) wanted.add(row.attr);
    for (const row of this.list.rows) {
      const own = this.heightOf(row);
      if (row.attr !== null && at > -300 && at < height + 300) wanted.add(row.attr);
      at += own + this.gap;
    }
    return [...wanted];
  }

  x(t: number): number {
    return ((t - this.view.shown.begin) / this.view.span) * this.width;
  }

  time(x: number): number {
    return this.view.shown.begin + (x / this.width) * this.view.span;
  }

  hit(x: number, y: number): Hit | null {
    for (const p of this.placed)
      if (y >= p.y && y < p.y + p.height + this.gap)
        if (p.y >= this.pinnedHeight || this.list.pinned.includes(p.row))
          return { row: p.row, t: Math.floor(this.time(x)) };
    return null;
  }

  private draw(): void {
    const begun = performance.now();
    this.frame = 0;
    const width = this.canvas.clientWidth;
    const height = this.canvas.clientHeight;
    if (width < 2 || height < 2) return;
    this.ratio = window.devicePixelRatio || 1;
    this.layout(height);
    const { begin, end } = this.view.shown;
    this.data.want(begin, end, Math.round(width * this.ratio), this.attrs(height));
    this.drawRows(width, height);
    this.drawRuler(width);
    this.afterDraw();
    this.took.push(performance.now() - begun);
    if (this.took.length > 1000) this.took.splice(0, 500);
  }

  private drawRows(width: number, height: number): void {
    const w = Math.round(width * this.ratio);
    const hgt = Math.round(height * this.ratio);
    const { canvas } = this;
    if (canvas.width !== w || canvas.height !== hgt || !this.image) {
      canvas.width = w;
      canvas.height = hgt;
      this.image = new ImageData(w, hgt);
    }
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) return;
    const { begin, end } = this.view.shown;
    const named = this.view.look.rowSize > 0;
    const scaled = this.placed.map((p) => ({
      row: p.row, y: Math.round(p.y * this.ratio), height: Math.round(p.height * this.ratio),
    }));
    const out = new Uint32Array(this.image.data.buffer);
    this.spans = this.painter.paint(
      out, w, hgt, scaled, this.data, begin, end, named ? NAME_ROOM * this.ratio : Infinity,
    );
    context.putImageData(this.image, 0, 0);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.exits?.draw(context, this.placed, this.theme, this.clock, begin, end, width);
    if (named) this.drawNames(context);
    this.drawGrid(context, width, height);
    this.drawLosses(context);
    this.drawBounds(context);
    this.drawMarks(context, width, height);
    if (this.list.pinned.length) {
      context.fillStyle = this.theme.faint;
      context.fillRect(0, this.pinnedHeight - 3, width, 1);
    }
  }

  nameOf(row: Row, value: number): string {
    if (row.kind === "cpu") {
      const name = this.model.contextName(value - 1);
      const c = this.model.contexts[value - 1];
      if (row.mask || !c || c[0] === 0 || !name || c[3] === MODE.hypervisor) return name;
      return `${name} (${this.model.machineName(c[0])})`;
    }
    if (row.kind === "vcpu") return value === 2 ? "" : VCPU_STATES[value] ?? "";
    if (row.kind === "thread") return value === 4 ? "" : THREAD_STATES[value] ?? "";
    return this.model.threadLabel(value - 1);
  }

  private drawNames(context: CanvasRenderingContext2D): void {
    context.font = FONT;
    context.textBaseline = "middle";
    let left = this.moving ? NAMES_MOVING : NAMES_MAX;
    this.placed.forEach((p, i) => {
      for (const span of this.spans[i]) {
        if (left <= 0 || span.faded) continue;
        const x0 = span.x0 / this.ratio;
        const room = Math.floor((span.x1 - span.x0) / this.ratio) - 8;
        let name = this.nameOf(p.row, span.value);
        if (!name) continue;
        const most = Math.floor(room / 5.6);
        if (name.length > most) name = most > 8 ? `${name.slice(0, most - 1)}…` : "";
        if (!name) continue;
        context.fillStyle = this.inkFor(p.row, span.value);
        context.fillText(name, x0 + 4, p.y + p.height * (p.row.kind === "cpu" ? 0.6 : 0.53), room + 4);
        left--;
      }
    });
  }

  /** The colour of a piece; null: nothing is drawn. */
  colourOf(row: Row, value: number): Rgb | null {
    const t = this.theme;
    const by = this.view.look.colourBy;
    if (row.kind === "vcpu") return value === 5 ? null : t.vcpu[value] ?? null;
    if (row.kind === "thread") return value === 7 ? null : t.thread[value] ?? null;
    if (row.kind === "task") {
      const thread = this.model.threads[value - 1];
      return !thread || thread[1] === 0 ? t.modes[MODE.idle] : nameColour(thread[3], t.dark);
    }
    const c = this.model.contexts[value - 1];
    if (!c || by === "state" || c[3] <= MODE.idle) return t.modes[c?.[3] ?? MODE.idle];
    if (by === "machine") return machineColour(t, c[0]);
    return nameColour(this.model.threads[c[2]]?.[3] ?? "", t.dark);
  }

  /** Dark or white ink, whichever can be read on the piece. */
  private inkFor(row: Row, value: number): string {
    const [r, g, b] = this.colourOf(row, value) ?? this.theme.row;
    return r * 299 + g * 587 + b * 114 > 148000 ? "#1c232b" : "#ffffff";
  }

  /** All pieces of what is shown, however short. */
  allSpans(): Span[][] {
    const { begin, end } = this.view.shown;
    const { width } = this;
    const height = this.canvas.clientHeight;
    const out = new Uint32Array(width * height);
    return this.painter.paint(out, width, height, this.placed, this.data, begin, end, 1);
  }

  /** Where the ruler's marks stand, and what is written there. */
  ticks(): [number, string][] {
    const step = this.step();
    const digits = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(step))));
    const out: [number, string][] = [];
    for (let t = Math.ceil(this.view.shown.begin / step) * step; t < this.view.shown.end; t += step)
      out.push([Math.round(this.x(t)), this.clock.time(t, digits)]);
    return out;
  }

  private step(): number {
    return niceStep((this.view.span * 110) / Math.max(1, this.width));
  }

  private drawGrid(context: CanvasRenderingContext2D, width: number, height: number): void {
    context.fillStyle = this.theme.grid;
    for (const [x] of this.ticks()) if (x < width) context.fillRect(x, 0, 1, height);
  }

  private drawRuler(width: number): void {
    const { ruler } = this;
    ruler.width = Math.round(width * this.ratio);
    ruler.height = Math.round(RULER * this.ratio);
    const context = ruler.getContext("2d", { alpha: false });
    if (!context) return;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = css(this.theme.page);
    context.fillRect(0, 0, width, RULER);
    context.font = "10.5px ui-monospace, 'DejaVu Sans Mono', monospace";
    context.textBaseline = "middle";
    for (const [x, text] of this.ticks()) {
      context.fillStyle = this.theme.grid;
      context.fillRect(x, 0, 1, RULER);
      context.fillStyle = this.theme.faint;
      context.fillText(text, x + 4, 12);
    }
    const { range, cursor, notes } = this.view.shown;
    if (range) this.drawRangeHead(context, range);
    for (const note of notes) this.drawFlag(context, this.x(note.t));
    if (cursor !== null) {
      context.fillStyle = this.theme.accent;
      const x = this.x(cursor);
      context.beginPath();
      context.moveTo(x - 4.5, RULER - 7);
      context.lineTo(x + 4.5, RULER - 7);
      context.lineTo(x, RULER);
      context.fill();
    }
  }

  private drawRangeHead(context: CanvasRenderingContext2D, range: [number, number]): void {
    const x0 = this.x(range[0]);
    const x1 = this.x(range[1]);
    const text = this.clock.length(range[1] - range[0]);
    context.fillStyle = this.theme.accent;
    context.globalAlpha = 0.16;
    context.fillRect(x0, 0, x1 - x0, RULER);
    context.globalAlpha = 1;
    const wide = context.measureText(text).width + 10;
    const at = Math.max(2, Math.min(this.width - wide, (x0 + x1 - wide) / 2));
    context.fillRect(at, 4, wide, 16);
    context.fillStyle = this.theme.dark ? "#0d1116" : "#fff";
    context.fillText(text, at + 5, 12.5);
  }

  private drawFlag(context: CanvasRenderingContext2D, x: number): void {
    context.fillStyle = this.theme.dark ? "#f0b84a" : "#c47f00";
    context.beginPath();
    context.moveTo(x, RULER);
    context.lineTo(x, RULER - 13);
    context.lineTo(x + 9, RULER - 9.500);
    context.lineTo(x, RULER - 6);
    context.fill();
  }

  /** Places where events were lost: what stands there is less than what was. */
  private drawLosses(context: CanvasRenderingContext2D): void {
    context.fillStyle = this.theme.dark ? "rgba(255,90,80,.75)" : "rgba(200,30,20,.7)";
    for (const [machine, cpu, begin, end] of this.model.run.losses) {
      const x0 = this.x(begin);
      const x1 = Math.max(x0 + 2, this.x(end));
      if (x1 < 0 || x0 > this.width) continue;
      for (const p of this.placed) {
        const r = p.row;
        if (r.kind === "group") continue;
        const number = r.cpu >= 0 ? this.model.run.cpus[r.cpu].number : -1;
        const physical = r.kind === "cpu" && machine === 0;
        const own = r.machine === machine && r.kind !== "cpu";
        if ((physical || own) && (cpu < 0 || number < 0 || number === cpu || r.kind === "thread"))
          context.fillRect(x0, p.y + p.height - 2, x1 - x0, 2);
      }
    }
  }

  /** Where a change of what a guest does may lie, when the screen can show it. */
  private drawBounds(context: CanvasRenderingContext2D): void {
    const perPixel = this.view.span / this.width;
    context.fillStyle = this.theme.text;
    this.placed.forEach((p, i) => {
      if (p.row.kind !== "cpu" && p.row.kind !== "task") return;
      let drawnTo = -1;
      for (const span of this.spans[i]) {
        const machine = p.row.kind === "task" ? p.row.machine : this.model.contexts[span.value - 1]?.[0];
        if (!machine || span.faded) continue;
        const x = span.x0 / this.ratio;
        const bound = this.model.clockBound(machine, this.time(x));
        const wide = bound / perPixel;
        if (bound <= 0 || wide < 2.5) continue;
        const from = Math.max(drawnTo, x - wide);
        const to = x + wide;
        context.globalAlpha = 0.5;
        context.fillRect(from, p.y + p.height - 1.5, to - from, 1.5);
        context.fillRect(x - wide, p.y + p.height - 5, 1, 5);
        context.fillRect(to - 1, p.y + p.height - 5, 1, 5);
        drawnTo = to;
      }
    });
    context.globalAlpha = 1;
  }

  private drawMarks(context: CanvasRenderingContext2D, width: number, height: number): void {
    const { range, cursor, notes, row } = this.view.shown;
    const accent = this.theme.accent;
    const selected = this.placed.find((p) => p.row.id === row);
    if (selected) {
      context.strokeStyle = accent;
      context.globalAlpha = 0.55;
      context.strokeRect(-1.5, selected.y - 1.5, width + 3, selected.height + 3);
      context.globalAlpha = 1;
    }
    if (range) {
      const x0 = this.x(range[0]);
      const x1 = this.x(range[1]);
      context.fillStyle = accent;
      context.globalAlpha = 0.1;
      context.fillRect(x0, 0, x1 - x0, height);
      context.globalAlpha = 0.8;
      context.fillRect(x0, 0, 1, height);
      context.fillRect(x1 - 1, 0, 1, height);
      context.globalAlpha = 1;
    }
    context.fillStyle = this.theme.dark ? "#f0b84a" : "#c47f00";
    for (const note of notes) context.fillRect(this.x(note.t), 0, 1, height);
    if (cursor !== null) {
      context.fillStyle = accent;
      context.fillRect(Math.round(this.x(cursor)), 0, 1, height);
    }
    if (this.hoverX !== null) {
      context.fillStyle = this.theme.faint;
      context.globalAlpha = 0.5;
      context.fillRect(this.hoverX, 0, 1, height);
      context.globalAlpha = 1;
    }
  }
}
