// SPDX-License-Identifier: Apache-2.0
// From runs of values to pixels.  All drawing of rows is writing numbers into one array: a browser
// without a graphics card draws a hundred thousand pieces this way in milliseconds.
import type { Runs } from "./api";
import type { Data, Layer } from "./data";
import { Filter } from "./filter";
import { MODE, type Model } from "./model";
import { machineColour, nameColour, pixel, type Rgb, type Theme } from "./palette";
import type { Mask, Row } from "./rows";

/** What a piece that held only part of its pixels looks like: nearer to the ground. */
const LEVELS = 4;
const LEVEL_ALPHA = [0.5, 0.68, 0.84, 1];

/** A run's share is the least of its pixels': where it is long, that of its first or last one. */
function level(share: number, pixels: number): number {
  const own = share >= 224 ? 3 : share >= 150 ? 2 : share >= 80 ? 1 : 0;
  return pixels >= 8 ? 3 : pixels >= 3 && own < 2 ? 2 : own;
}

/** How values are drawn, each found when it is first drawn: a long run has many more values than are
 * seen.  slot[value] is its place in the other lists, of body times LEVELS; 0: not found yet. */
interface Lut {
  slot: Uint32Array;
  body: number[];
  stripe: number[] | null;
  hatch: number[]; // 1: unknown, drawn hatched; 2: and faded
  faded: boolean[];
  ground: number;
  find: (v: number) => number; // makes a value known, returns its slot
}

interface Masked {
  bySlot: number[];
  shows: (v: number) => boolean;
}

function isShown(mask: Masked, slot: number, value: number): boolean {
  const { bySlot } = mask;
  while (bySlot.length <= slot) bySlot.push(0);
  if (!bySlot[slot]) bySlot[slot] = mask.shows(value) ? 2 : 1;
  return bySlot[slot] === 2;
}

export interface Span {
  x0: number;
  x1: number;
  value: number;
  faded: boolean;
}

export interface Placed {
  row: Row;
  y: number;
  height: number;
}

export class Painter {
  private luts = new Map<string, Lut>();
  private masks = new Map<string, Masked>();
  private readonly plain = new Map<Rgb, number[]>();
  private readonly fadedLevels = new Map<Rgb, number[]>();
  private readonly byName = new Map<string, Rgb>();
  private values = new Uint32Array(0);
  private colours = new Uint32Array(0);
  private stripes = new Uint32Array(0);
  private drawnIn: Theme | null = null;
  private matched = { some: false, none: false };

  constructor(
    private readonly model: Model,
    private theme: Theme,
    private filter: Filter,
    private colourBy: string,
  ) {}

  /** After new contexts or threads, or another look. */
  reset(theme: Theme, filter: Filter, colourBy: string): void {
    this.theme = theme;
    this.filter = filter;
    this.colourBy = colourBy;
    if (theme !== this.drawnIn) {
      this.drawnIn = theme;
      for (const memo of [this.plain, this.fadedLevels, this.byName]) memo.clear();
    }
    this.luts.clear();
    this.masks.clear();
    this.matched = { some: false, none: false };
  }

  /** Something was drawn, and nothing of it is what the filter asks for. */
  get matchesNothing(): boolean {
    return this.matched.none && !this.matched.some;
  }

  /** A colour's pixels at every level, as it is and faded: few colours, many values. */
  private levelsOf(c: Rgb, keep: number): number[] {
    const memo = keep === 1 ? this.plain : this.fadedLevels;
    let levels = memo.get(c);
    if (!levels) {
      levels = LEVEL_ALPHA.map((alpha) => pixel(c, this.theme.row, alpha * keep));
      memo.set(c, levels);
    }
    return levels;
  }

  private colourOfName(name: string): Rgb {
    let c = this.byName.get(name);
    if (!c) this.byName.set(name, (c = nameColour(name, this.theme.dark)));
    return c;
  }

  private makeLut(size: number, colour: (v: number) => Rgb | null, match: (v: number) => boolean,
    unknown: (v: number) => boolean, stripe?: (v: number) => Rgb | null): Lut {
    const row = this.theme.row;
    const ground = pixel(row, row, 1);
    const lut: Lut = {
      slot: new Uint32Array(size),
      body: new Array<number>(LEVELS).fill(ground),
      stripe: stripe ? [ground] : null,
      hatch: [0],
      faded: [false],
      ground,
      find: (v) => {
        const c = v ? colour(v) : null;
        const kept = !c || this.filter.empty || match(v);
        if (c) this.matched[kept ? "some" : "none"] = true;
        const keep = kept ? 1 : 1 - this.theme.fade;
        const levels = c ? this.levelsOf(c, keep) : null;
        for (let l = 0; l < LEVELS; l++) lut.body.push(levels ? levels[l] : ground);
        if (lut.stripe && stripe) {
          const s = v ? stripe(v) : null;
          lut.stripe.push(s ? this.levelsOf(s, keep)[LEVELS - 1] : lut.body[lut.body.length - 1]);
        }
        lut.faded.push(!kept);
        return (lut.slot[v] = lut.hatch.push(v && c && unknown(v) ? (kept ? 1 : 2) : 0) - 1);
      },
    };
    return lut;
  }

  private contextLut(): Lut {
    const m = this.model;
    const t = this.theme;
    const by = this.colourBy;
    const calm = (mode: number) => mode === MODE.idle || mode === MODE.unknown;
    const colour = (v: number): Rgb => {
      const c = m.contexts[v - 1];
      if (!c) return t.modes[MODE.idle];
      if (by === "machine" && !calm(c[3])) return machineColour(t, c[0]);
      if (by === "process" && !calm(c[3]))
        return c[2] >= 0 ? this.colourOfName(m.threads[c[2]]?.[3] ?? "") : t.modes[c[3]];
      return t.modes[c[3]] ?? t.modes[0];
    };
    const stripe = (v: number): Rgb | null => {
      const c = m.contexts[v - 1];
      if (!c || calm(c[3])) return null;
      return by === "machine" ? t.modes[c[3]] : machineColour(t, c[0]);
    };
    return this.makeLut(
      m.run.nr_contexts + 1, colour, (v) => this.filter.context(m, v - 1),
      (v) => m.contexts[v - 1]?.[3] === MODE.unknown, stripe,
    );
  }

  private lut(row: Row): Lut {
    const m = this.model;
    const t = this.theme;
    // With a filter, states of vCPUs and threads match row by row.
    const own = this.filter.empty ? "" : row.id;
    const key = row.kind === "cpu" || row.kind === "task" ? row.kind : row.kind + own;
    let lut = this.luts.get(key);
    if (lut) return lut;
    if (row.kind === "cpu") lut = this.contextLut();
    else if (row.kind === "vcpu")
      lut = this.makeLut(t.vcpu.length, (v) => (v === 5 ? null : t.vcpu[v]),
        (v) => this.filter.vcpuState(m, row, v), (v) => v === 1);
    else if (row.kind === "thread")
      lut = this.makeLut(t.thread.length, (v) => (v === 7 ? null : t.thread[v]),
        (v) => this.filter.threadState(m, row, v), (v) => v === 1);
    else
      lut = this.makeLut(m.run.nr_threads + 1,
        (v) => {
          const thread = m.threads[v - 1];
          return !thread || thread[1] === 0 ? t.modes[MODE.idle] : this.colourOfName(thread[3]);
        },
        (v) => this.filter.thread(m, v - 1), () => false);
    this.luts.set(key, lut);
    return lut;
  }

  /** Which contexts a machine's or a container's row shows, by slot: 0 not found out yet, 1 no, 2 yes. */
  private mask(mask: Mask): Masked {
    const key = `${mask.machine ?? ""}:${mask.pidNs ?? ""}`;
    let made = this.masks.get(key);
    if (made) return made;
    const m = this.model;
    const shows = (v: number): boolean => {
      const c = m.contexts[v - 1];
      if (!c) return v === 0 && mask.machine === 0;
      return mask.pidNs !== undefined
        ? m.containers(m.threads[c[2]]?.[4] ?? -1).includes(mask.pidNs)
        : c[0] === mask.machine;
    };
    made = { bySlot: [], shows };
    this.masks.set(key, made);
    return made;
  }

  /** What stands in each pixel of a row: into this.values and this.colours. */
  private scan(row: Row, layers: Layer[], begin: number, end: number, width: number): Lut {
    const lut = this.lut(row);
    const mask = row.mask ? this.mask(row.mask) : null;
    const { ground } = lut;
    const { values, colours, stripes } = this;
    const scale = width / (end - begin);
    values.fill(0, 0, width);
    colours.fill(ground, 0, width);
    if (lut.stripe) stripes.fill(ground, 0, width);
    for (const layer of layers) {
      const runs = row.attr === null ? undefined : layer.rows.get(row.attr);
      if (!runs) continue;
      const step = ((layer.end - layer.begin) / layer.px) * scale;
      const origin = (layer.begin - begin) * scale;
      const from = Math.max(0, Math.round(origin));
      const to = Math.min(width, Math.round(origin + layer.px * step));
      if (from >= to) continue;
      values.fill(0, from, to);
      colours.fill(ground, from, to);
      if (lut.stripe) stripes.fill(ground, from, to);
      this.lay(runs, lut, mask, origin, step, width);
    }
    return lut;
  }

  private lay(runs: Runs, lut: Lut, mask: Masked | null, origin: number,
    step: number, width: number): void {
    const { value, first, nr, share } = runs;
    const { values, colours, stripes } = this;
    for (let i = firstVisible(runs, -origin / step); i < value.length; i++) {
      const x0 = Math.round(origin + first[i] * step);
      if (x0 >= width) break;
      const v = value[i];
      const known = v < lut.slot.length ? v : 0;
      const slot = lut.slot[known] || lut.find(known);
      if (mask && !isShown(mask, slot, known)) continue;
      const colour = lut.body[slot * LEVELS + level(share[i], nr[i])];
      const stripe = lut.stripe ? lut.stripe[slot] : 0;
      const stop = Math.min(width, Math.round(origin + (first[i] + nr[i]) * step));
      for (let x = x0 < 0 ? 0 : x0; x < stop; x++) {
        values[x] = v;
        colours[x] = colour;
        stripes[x] = stripe;
      }
    }
  }

  /** Draws rows into @out (width × height pixels); returns for each the spans that have room for a
   * name of @room pixels. */
  paint(out: Uint32Array, width: number, height: number, placed: Placed[], data: Data,
    begin: number, end: number, room: number): Span[][] {
    if (this.values.length < width) {
      this.values = new Uint32Array(width);
      this.colours = new Uint32Array(width);
      this.stripes = new Uint32Array(width);
    }
    out.fill(pixel(this.theme.page, this.theme.page, 1));
    return placed.map(({ row, y, height: h }) => {
      if (row.kind === "group" || row.attr === null) return [];
      const layers = this.layersFor(row, data, begin, end);
      const lut = this.scan(row, layers, begin, end, width);
      this.blit(out, width, height, y, h, lut);
      return this.spans(out, width, height, y, h, lut, room);
    });
  }

  private layersFor(row: Row, data: Data, begin: number, end: number): Layer[] {
    const { base, fine } = data;
    if (fine && row.attr !== null && fine.rows.has(row.attr)) {
      if (fine.begin <= begin && fine.end >= end) return [fine];
      return base ? [base, fine] : [fine];
    }
    return base ? [base] : [];
  }

  private blit(out: Uint32Array, width: number, height: number, y: number, h: number, lut: Lut): void {
    const body = this.colours.subarray(0, width);
    const top = lut.stripe ? Math.max(1, Math.round(h * 0.18)) : 0;
    const stripe = this.stripes.subarray(0, width);
    for (let line = 0; line < h; line++) {
      const at = y + line;
      if (at >= 0 && at < height) out.set(line < top ? stripe : body, at * width);
    }
  }

  /** Walks the pieces of the row just scanned: hatches what is unknown, keeps those with room. */
  private spans(out: Uint32Array, width: number, height: number, y: number, h: number, lut: Lut,
    room: number): Span[] {
    const spans: Span[] = [];
    const { values } = this;
    let x0 = 0;
    for (let x = 1; x <= width; x++) {
      if (x < width && values[x] === values[x0]) continue;
      const v = values[x0];
      const slot = lut.slot[v] ?? 0;
      const hatch = lut.hatch[slot];
      if (hatch) this.hatch(out, width, height, x0, x, y, h, hatch === 2);
      if (v && x - x0 >= room) spans.push({ x0, x1: x, value: v, faded: lut.faded[slot] });
      x0 = x;
    }
    return spans;
  }

  private hatch(out: Uint32Array, width: number, height: number, x0: number, x1: number, y: number,
    h: number, faded: boolean): void {
    const line = pixel(this.theme.hatch, this.theme.row, faded ? 0.25 : 1);
    for (let dy = 0; dy < h; dy++) {
      const at = y + dy;
      if (at < 0 || at >= height) continue;
      for (let x = x0 + ((((6 - ((x0 + dy) % 6)) % 6) + 6) % 6); x < x1; x += 6)
        out[at * width + x] = line;
    }
  }
}

/** The first run that ends after @pixel of its layer. */
function firstVisible(runs: Runs, at: number): number {
  let low = 0;
  let high = runs.first.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (runs.first[mid] + runs.nr[mid] <= at) low = mid + 1;
    else high = mid;
  }
  return low;
}
