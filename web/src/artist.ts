// SPDX-License-Identifier: Apache-2.0
// What is drawn beside rows of pixels: rows of another kind (exits, phases, the critical path) and
// what lies over all rows (arrows).  Each draws with a pen, on the screen or into an SVG.
import type { Clock } from "./format";
import type { Placed } from "./paint";
import type { Theme } from "./palette";

/** The part of a canvas' context that is drawn with; svg.ts has another one. */
export type Pen = Pick<CanvasRenderingContext2D,
  "fillStyle" | "strokeStyle" | "globalAlpha" | "lineWidth" | "font" | "textBaseline" | "fillRect" |
  "strokeRect" | "fillText" | "measureText" | "beginPath" | "moveTo" | "lineTo" | "fill" | "stroke">;

export interface Scene {
  pen: Pen;
  placed: Placed[];
  theme: Theme;
  clock: Clock;
  begin: number;
  end: number;
  width: number;
  height: number;
  top: number; // below pinned rows
  chosen: string | null; // a row's id
  x(t: number): number;
}

export interface Artist {
  /** Rows of its own kind. */
  rows?(scene: Scene): void;
  /** Over all rows. */
  over?(scene: Scene): void;
  /** What it says of a place, null when nothing of its is there. */
  tip?(x: number, y: number, hit: { kind: string; id: string; cpu: number; t: number } | null): HTMLElement[] | null;
}

/** What is asked when the picture has come to rest; only the newest answer counts. */
export class Rested<T> {
  private asked = "";
  private timer = 0;

  constructor(
    private readonly restMs: number,
    private readonly take: (answer: T | null, error: unknown) => void,
  ) {}

  want(key: string, ask: () => Promise<T>): void {
    if (key === this.asked) return;
    this.asked = key;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.run(key, ask), this.restMs);
  }

  private async run(key: string, ask: () => Promise<T>): Promise<void> {
    try {
      const answer = await ask();
      if (key === this.asked) this.take(answer, null);
    } catch (e) {
      if (key === this.asked) this.take(null, e);
    }
  }

  /** The next wish is asked for even if it is the same. */
  forget(): void {
    clearTimeout(this.timer);
    this.asked = "";
  }
}
