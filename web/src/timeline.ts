// SPDX-License-Identifier: Apache-2.0
// The picture: rows of pixels, names on them, the ruler, and what lies over them (cursor, range,
// bookmarks, losses, the bounds of clocks).
import type { Artist, Pen, Scene } from "./artist";
import type { Data } from "./data";
import { h } from "./dom";
import type { Filter } from "./filter";
import { type Clock, digitsFor, niceStep } from "./format";
import { MODE, type Model, THREAD_STATES, VCPU_STATES } from "./model";
import { Painter, type Placed, type Span } from "./paint";
import { css, inkOn, machineColour, nameColour, type Rgb, type Theme } from "./palette";
import { drawBounds, drawGrid, drawLosses, drawMarks } from "./overlay";
import type { Row, RowList } from "./rows";
import type { View } from "./view";

const HEIGHTS = [9, 20, 30];
const GROUP_HEIGHT = [14, 22, 28];
const GAP = [1, 3, 4];
const NAME_ROOM = 34;
const BAND = 128;
const NAMES_MAX = 500;
const NAMES_MOVING = 160;
export const RULER = 24;
const TICK_ROOM = 110; // pixels between marks of the ruler, at least
const DIGIT_WIDE = 6.4;
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
  private image: ImageData | null = null; // of a band of lines
  private drawn = { width: 0, height: 0 }; // in CSS pixels
  private ratio = 1;
  private frame = 0;
  private readonly painter: Painter;
  artists: Artist[] = [];
  /** When the first picture of all visible rows, as sharp as the screen, had been drawn: for the bench. */
  firstDrawn = 0;
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

  /** As it was drawn: to ask the browser for it, after anything was changed, has all laid out again. */
  get width(): number {
    return this.drawn.width || this.canvas.clientWidth;
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

  get matchesNothing(): boolean {
    return this.painter.matchesNothing;
  }

  /** Draws now: a frame with the old picture would show it stretched to the new size. */
  resized(): void {
    const { clientWidth, clientHeight } = this.canvas;
    if (clientWidth === this.drawn.width && clientHeight === this.drawn.height) return;
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
      // A row that is half under the pinned ones would be painted over them.
      const seen = top ? place >= top : place + own > 0;
      if (seen && place < height) this.placed.push({ row, y: place, height: own });
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
      if (y >= p.y && y < p.y + p.height + this.gap) return { row: p.row, t: Math.floor(this.time(x)) };
    return null;
  }

  private draw(): void {
    const begun = performance.now();
    this.frame = 0;
    const width = this.canvas.clientWidth;
    const height = this.canvas.clientHeight;
    if (width < 2 || height < 2) return;
    this.drawn = { width, height };
    this.ratio = window.devicePixelRatio || 1;
    this.layout(height);
    const { begin, end } = this.view.shown;
    const attrs = this.attrs(height);
    const pixels = Math.round(width * this.ratio);
    this.data.want(begin, end, pixels, attrs);
    const anything = this.data.fine !== null || this.data.base !== null;
    if (anything) this.drawRows(width, height);
    this.drawRuler(width);
    this.afterDraw();
    if (!this.firstDrawn && this.data.has(begin, end, pixels, attrs)) this.firstDrawn = performance.now();
    this.took.push(performance.now() - begun);
    if (this.took.length > 1000) this.took.splice(0, 500);
  }

  /** The canvas has lines as far as there are rows: empty ones would be handed over to the screen, too. */
  private drawRows(width: number, visible: number): void {
    const height = Math.min(visible, Math.ceil(this.contentHeight));
    const w = Math.round(width * this.ratio);
    const hgt = Math.round(height * this.ratio);
    const { canvas } = this;
    if (canvas.width !== w || canvas.height !== hgt) {
      canvas.width = w;
      canvas.height = hgt;
    }
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) return;
    const scaled = this.placed.map((p) => ({
      row: p.row, y: Math.round(p.y * this.ratio), height: Math.round(p.height * this.ratio),
    }));
    const room = this.view.look.rowSize > 0 ? NAME_ROOM * this.ratio : Infinity;
    this.spans = [];
    let to = 0;
    for (let i = 0; i < scaled.length; ) {
      const from = Math.max(0, Math.min(to, scaled[i].y));
      const first = i;
      to = from + 1;
      do to = Math.max(to, scaled[i].y + scaled[i].height);
      while (++i < scaled.length && scaled[i].y + scaled[i].height <= from + BAND);
      to = Math.min(to, hgt);
      const band = scaled.slice(first, i).map((p) => ({ ...p, y: p.y - from }));
      this.spans.push(...this.drawBand(context, w, from, to - from, band, room));
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = css(this.theme.page);
    context.fillRect(0, to, w, hgt - to);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.drawOver(context, width, height);
  }

  /** Some lines at a time: they stay where the processor has them at hand. */
  private drawBand(context: CanvasRenderingContext2D, width: number, from: number, lines: number, rows: Placed[],
    room: number): Span[][] {
    const { begin, end } = this.view.shown;
    if (!this.image || this.image.width !== width || this.image.height < lines)
      this.image = new ImageData(width, Math.max(BAND, lines));
    const out = new Uint32Array(this.image.data.buffer, 0, width * lines);
    const spans = this.painter.paint(out, width, lines, rows, this.data, begin, end, room);
    context.putImageData(this.image, 0, from, 0, 0, width, lines);
    return spans;
  }

  scene(pen: Pen, width: number, height: number): Scene {
    const { begin, end, row } = this.view.shown;
    return {
      pen, placed: this.placed, theme: this.theme, clock: this.clock, begin, end, width, height,
      top: this.pinnedHeight, chosen: row, x: (t) => ((t - begin) / (end - begin)) * width,
    };
  }

  /** All that is not pixels of values. */
  drawOver(pen: Pen, width: number, height: number): void {
    const scene = this.scene(pen, width, height);
    for (const artist of this.artists) artist.rows?.(scene);
    if (this.view.look.rowSize > 0) this.drawNames(pen);
    drawGrid(scene, this.ticks());
    drawLosses(scene, this.model);
    drawBounds(scene, this.model, this.spans, this.ratio);
    for (const artist of this.artists) artist.over?.(scene);
    drawMarks(scene, this.view.shown, this.hoverX);
    if (this.list.pinned.length) {
      pen.fillStyle = this.theme.faint;
      pen.fillRect(0, this.pinnedHeight - 3, width, 1);
    }
  }

  /** What artists say of a place of the picture. */
  tip(x: number, y: number): HTMLElement[] | null {
    const hit = this.hit(x, y);
    const place = hit && { kind: hit.row.kind, id: hit.row.id, cpu: hit.row.cpu, t: hit.t };
    for (const artist of this.artists) {
      const says = artist.tip?.(x, y, place);
      if (says) return says;
    }
    return null;
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

  private drawNames(context: Pen): void {
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
    return inkOn(this.colourOf(row, value) ?? this.theme.row);
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
    const { begin, end } = this.view.shown;
    let step = niceStep((this.view.span * TICK_ROOM) / Math.max(1, this.width));
    // Long times need more room.
    for (let i = 0; i < 3; i++) {
      const wide = this.clock.time(end, digitsFor(step)).length * DIGIT_WIDE + 14;
      step = niceStep((this.view.span * Math.max(wide, TICK_ROOM)) / Math.max(1, this.width));
    }
    const digits = digitsFor(step);
    const past = this.clock.past(step);
    const out: [number, string][] = [];
    for (let t = Math.ceil((begin + past) / step) * step - past; t < end; t += step)
      out.push([Math.round(this.x(t)), this.clock.time(t, digits)]);
    return out;
  }

  private drawRuler(width: number): void {
    const { ruler } = this;
    const w = Math.round(width * this.ratio);
    const hgt = Math.round(RULER * this.ratio);
    if (ruler.width !== w || ruler.height !== hgt) {
      ruler.width = w;
      ruler.height = hgt;
    }
    const context = ruler.getContext("2d", { alpha: false });
    if (!context) return;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = css(this.theme.page);
    context.fillRect(0, 0, width, RULER);
    this.drawRulerWith(context, width);
  }

  drawRulerWith(pen: Pen, width: number): void {
    pen.font = "10.5px ui-monospace, 'DejaVu Sans Mono', monospace";
    pen.textBaseline = "middle";
    const digit = pen.measureText("0").width;
    for (const [x, text] of this.ticks()) {
      pen.fillStyle = this.theme.grid;
      pen.fillRect(x, 0, 1, RULER);
      pen.fillStyle = this.theme.faint;
      // A time that is cut off reads as another one.
      if (x + 4 + text.length * digit <= width) pen.fillText(text, x + 4, 12);
    }
    const { range, cursor, notes } = this.view.shown;
    if (range) this.drawRangeHead(pen, range, width);
    const flags = [...notes].sort((a, b) => a.t - b.t).map((note) => ({ x: this.x(note.t), text: note.text }));
    flags.forEach(({ x, text }, i) => this.drawFlag(pen, x, text, (flags[i + 1]?.x ?? Infinity) - x));
    if (cursor !== null) {
      pen.fillStyle = this.theme.accent;
      const x = this.x(cursor);
      pen.beginPath();
      pen.moveTo(x - 4.5, RULER - 7);
      pen.lineTo(x + 4.5, RULER - 7);
      pen.lineTo(x, RULER);
      pen.fill();
    }
  }

  private drawRangeHead(pen: Pen, range: [number, number], width: number): void {
    const x0 = Math.max(-2, this.x(range[0]));
    const x1 = Math.min(width + 2, this.x(range[1]));
    const text = this.clock.length(range[1] - range[0]);
    pen.fillStyle = this.theme.accent;
    pen.globalAlpha = 0.16;
    pen.fillRect(x0, 0, Math.max(0, x1 - x0), RULER);
    pen.globalAlpha = 1;
    if (x1 < 0 || x0 > width) return;
    const wide = pen.measureText(text).width + 10;
    const at = Math.max(2, Math.min(width - wide, (x0 + x1 - wide) / 2));
    pen.fillRect(at, 4, wide, 16);
    pen.fillStyle = this.theme.dark ? "#0d1116" : "#fff";
    pen.fillText(text, at + 5, 12.5);
  }

  /** A bookmark's flag, with as much of what is written on it as has room before the next one. */
  private drawFlag(pen: Pen, x: number, text: string, room: number): void {
    if (x < -200 || x > this.width) return;
    pen.fillStyle = this.theme.note;
    pen.beginPath();
    pen.moveTo(x, RULER);
    pen.lineTo(x, RULER - 13);
    pen.lineTo(x + 9, RULER - 9.5);
    pen.lineTo(x, RULER - 6);
    pen.fill();
    const fits = Math.min(24, Math.floor((room - 18) / pen.measureText("0").width));
    if (!text || fits < Math.min(3, text.length)) return;
    const shown = text.length > fits ? `${text.slice(0, fits - 1)}…` : text;
    const wide = pen.measureText(shown).width + 8;
    pen.fillStyle = css(this.theme.page);
    pen.fillRect(x + 10, 5, wide, 14);
    pen.fillStyle = this.theme.note;
    pen.fillText(shown, x + 13, 12.5);
  }
}
