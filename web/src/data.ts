// SPDX-License-Identifier: Apache-2.0
// Rows of pixels, fetched so that moving never waits: the whole history once, coarse, and around what is
// shown as sharp as the screen, half a screen beyond both edges.
import type { Api, First, Names, Runs } from "./api";

export interface Layer {
  begin: number;
  end: number;
  px: number;
  rows: Map<number, Runs>;
}

const BASE_PX = 2048;
const FINE_PX_MAX = 8192;
const ATTRS_MAX = 512; // in one question
const FIRST_WAIT_MS = 150;
/** After so many what was drawn before the first of them is on the screen, or nearly so. */
const FRAMES_TO_SCREEN = 3;

async function frames(nr: number): Promise<void> {
  for (let i = 0; i < nr; i++) await new Promise((r) => requestAnimationFrame(r));
}

export class Data {
  base: Layer | null = null;
  fine: Layer | null = null;
  private wanted: { begin: number; end: number; width: number; attrs: number[] } | null = null;
  private busy = false;
  /** When all that was asked for was there, first and last: for tests and for the bench. */
  firstAt = 0;
  /** Resolves when the first picture is on the screen, or nearly so: what can wait, waits for it. */
  readonly first: Promise<void>;
  private firstCame: () => void = () => undefined;
  private coming: Promise<void> | null = null;
  private isShown = false;
  settledAt = 0;

  constructor(
    private readonly api: Api,
    private readonly length: number,
    private readonly changed: () => void,
    private readonly failed: (e: unknown) => void,
    private readonly names: {
      wanted: () => boolean;
      learn: (names: Names) => void;
      complete: (rows: Map<number, Runs>) => Promise<void>;
    },
  ) {
    this.first = new Promise((done) => (this.firstCame = done));
  }

  private async ask(begin: number, end: number, px: number, attrs: number[]): Promise<Map<number, Runs>> {
    const { rows, names } = await this.api.rows(begin, end, px, attrs, this.names.wanted());
    if (names) this.names.learn(names);
    else await this.names.complete(rows);
    return rows;
  }

  /** The first picture, of the whole history, was asked for together with the page: nothing else is asked
   * for until it is here, but not for long. */
  expect(first: First | null): void {
    if (!first) return;
    const waited = new Promise<void>((r) => setTimeout(r, FIRST_WAIT_MS));
    this.coming = Promise.race([this.take(first), waited]);
  }

  private async take(first: First): Promise<void> {
    try {
      const { rows, names } = await first.answer;
      if (names) this.names.learn(names);
      this.base ??= { begin: 0, end: first.end, px: first.px, rows };
    } catch {
      // What the picture needs is asked for as always, and then it is said what is wrong.
    }
  }

  get idle(): boolean {
    return !this.busy && this.wanted === null;
  }

  /** The picture needs this; only the newest wish is followed. */
  want(begin: number, end: number, width: number, attrs: number[]): void {
    this.wanted = { begin, end, width, attrs };
    if (!this.busy) void this.work();
  }

  /** All of these are there, as sharp as the screen. */
  has(begin: number, end: number, width: number, attrs: number[]): boolean {
    return [this.fine, this.base].some((layer) =>
      this.sharp(layer, begin, end, width) && attrs.every((a) => layer.rows.has(a)));
  }

  private arrived(): void {
    this.settledAt = performance.now();
    this.firstAt ||= this.settledAt;
  }

  private async work(): Promise<void> {
    this.busy = true;
    try {
      if (this.coming) await this.begin(this.coming);
      while (this.wanted) {
        const w = this.wanted;
        this.wanted = null;
        await this.fetchFine(w.begin, w.end, w.width, w.attrs);
        this.arrived();
        await this.shown();
        if (!this.wanted) await this.fetchBase(w.attrs);
      }
    } catch (e) {
      this.wanted = null;
      this.firstCame();
      this.failed(e);
    } finally {
      this.busy = false;
    }
  }

  /** The very first picture is drawn of what came with the page, if that will do. */
  private async begin(coming: Promise<void>): Promise<void> {
    await coming;
    this.coming = null;
    const w = this.wanted;
    if (!w || !this.has(w.begin, w.end, w.width, w.attrs)) return;
    this.wanted = null;
    this.arrived();
    this.changed();
    await this.shown();
  }

  /** What is asked for now would take the processors from who puts the first picture on the screen. */
  private async shown(): Promise<void> {
    if (this.isShown) return;
    await frames(FRAMES_TO_SCREEN);
    this.isShown = true;
    this.firstCame();
  }

  private async fill(layer: Layer, attrs: number[]): Promise<void> {
    const missing = attrs.filter((a) => !layer.rows.has(a));
    for (let i = 0; i < missing.length; i += ATTRS_MAX) {
      const part = missing.slice(i, i + ATTRS_MAX);
      const rows = await this.ask(layer.begin, layer.end, layer.px, part);
      for (const [attr, runs] of rows) layer.rows.set(attr, runs);
    }
    if (missing.length) this.changed();
  }

  private async fetchBase(attrs: number[]): Promise<void> {
    this.base ??= { begin: 0, end: this.length, px: BASE_PX, rows: new Map() };
    await this.fill(this.base, attrs);
  }

  /** True when what is there is as sharp as the screen. */
  private sharp(layer: Layer | null, begin: number, end: number, width: number): layer is Layer {
    if (!layer || layer.begin > begin || layer.end < end) return false;
    const density = (layer.px / (layer.end - layer.begin)) * ((end - begin) / width);
    return density > 0.99 && density < 2.1;
  }

  private async fetchFine(begin: number, end: number, width: number, attrs: number[]): Promise<void> {
    if (this.sharp(this.fine, begin, end, width)) {
      await this.fill(this.fine, attrs);
      return;
    }
    // Whole numbers, and pixels that are the screen's own.
    const pad = Math.round((end - begin) / 2);
    const from = Math.floor(begin) - pad;
    const to = Math.ceil(end) + pad;
    const px = Math.min(FINE_PX_MAX, Math.ceil((width * (to - from)) / (end - begin)));
    const layer: Layer = { begin: from, end: to, px, rows: new Map() };
    const rows = await this.ask(from, to, px, attrs.slice(0, ATTRS_MAX));
    for (const [attr, runs] of rows) layer.rows.set(attr, runs);
    this.fine = layer;
    this.changed();
    await this.fill(layer, attrs);
  }
}
