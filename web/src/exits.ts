// SPDX-License-Identifier: Apache-2.0
// How often each vCPU left its guest: bars in a row of its own, counted anew when the picture rests.
import type { Api } from "./api";
import type { Clock } from "./format";
import type { Placed } from "./paint";
import { css, type Theme } from "./palette";

const BUCKETS = 300;
const REST_MS = 220;

interface Counted {
  begin: number;
  end: number;
  most: number;
  byCpu: Map<number, number[]>;
}

export class Exits {
  private counted: Counted | null = null;
  private asked = "";
  private timer = 0;
  private why = "";

  constructor(
    private readonly api: Api,
    private readonly changed: () => void,
  ) {}

  private want(begin: number, end: number): void {
    const key = `${begin} ${end}`;
    if (key === this.asked) return;
    this.asked = key;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.ask(key, begin, end), REST_MS);
  }

  private async ask(key: string, begin: number, end: number): Promise<void> {
    try {
      const { vcpus } = await this.api.exits(Math.floor(begin), Math.ceil(end), BUCKETS);
      if (key !== this.asked) return;
      const byCpu = new Map(vcpus.map((v) => [v.cpu, v.counts]));
      const most = Math.max(1, ...vcpus.map((v) => Math.max(...v.counts)));
      this.counted = { begin, end, most, byCpu };
      this.why = "";
    } catch (e) {
      this.counted = null;
      this.why = e instanceof Error ? e.message : String(e);
    }
    this.changed();
  }

  draw(context: CanvasRenderingContext2D, placed: Placed[], theme: Theme, clock: Clock, begin: number,
    end: number, width: number): void {
    const rows = placed.filter((p) => p.row.kind === "exits");
    if (!rows.length) return;
    this.want(begin, end);
    for (const p of rows) {
      context.fillStyle = css(theme.row);
      context.fillRect(0, p.y, width, p.height);
      this.bars(context, p, theme, begin, end, width);
    }
    this.legend(context, rows[0], theme, clock);
  }

  private bars(context: CanvasRenderingContext2D, p: Placed, theme: Theme, begin: number, end: number,
    width: number): void {
    const c = this.counted;
    const counts = c?.byCpu.get(p.row.cpu);
    if (!c || !counts) return;
    const scale = width / (end - begin);
    const wide = ((c.end - c.begin) / counts.length) * scale;
    context.fillStyle = css(theme.modes[6]);
    counts.forEach((n, i) => {
      const x = (c.begin - begin) * scale + i * wide;
      const high = (n / c.most) * (p.height - 1);
      if (n && x + wide > 0 && x < width) context.fillRect(x, p.y + p.height - high, Math.max(1, wide), high);
    });
  }

  /** What the highest bar stands for. */
  private legend(context: CanvasRenderingContext2D, p: Placed, theme: Theme, clock: Clock): void {
    const c = this.counted;
    const text = c
      ? `highest: ${c.most} in ${clock.length((c.end - c.begin) / BUCKETS)}`
      : this.why;
    if (!text || p.height < 18) return;
    context.font = "10px system-ui, 'DejaVu Sans', sans-serif";
    context.textBaseline = "top";
    const wide = context.measureText(text).width;
    context.globalAlpha = 0.8;
    context.fillStyle = css(theme.row);
    context.fillRect(2, p.y + 1, wide + 6, 12);
    context.globalAlpha = 1;
    context.fillStyle = theme.faint;
    context.fillText(text, 5, p.y + 2);
  }
}
