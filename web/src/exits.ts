// SPDX-License-Identifier: Apache-2.0
// How often each vCPU left its guest: bars in a row of its own, counted anew when the picture rests.
import type { Api } from "./api";
import type { Artist, Scene } from "./artist";
import { Rested } from "./artist";
import { h } from "./dom";
import { type Clock, count } from "./format";
import type { Placed } from "./paint";
import { css } from "./palette";

const BUCKETS = 300;
const REST_MS = 220;

interface Counted {
  begin: number;
  end: number;
  most: number;
  buckets: number;
  about: boolean;
  byCpu: Map<number, number[]>;
}

type Answer = { begin: number; end: number; vcpus: { cpu: number; about: boolean; counts: number[] }[] };

export class Exits implements Artist {
  private counted: Counted | null = null;
  private why = "";
  private readonly rested: Rested<Answer>;

  constructor(
    private readonly api: Api,
    changed: () => void,
    private readonly clock: Clock,
    private readonly ready: () => boolean,
  ) {
    this.rested = new Rested(REST_MS, (answer, error) => {
      this.take(answer, error);
      changed();
    });
  }

  private take(answer: Answer | null, error: unknown): void {
    this.why = answer ? "" : error instanceof Error ? error.message : String(error);
    this.counted = answer && {
      begin: answer.begin,
      buckets: Math.max(1, answer.vcpus[0]?.counts.length ?? 1),
      end: answer.end,
      most: Math.max(1, ...answer.vcpus.map((v) => Math.max(...v.counts))),
      about: answer.vcpus.some((v) => v.about),
      byCpu: new Map(answer.vcpus.map((v) => [v.cpu, v.counts])),
    };
  }

  rows(scene: Scene): void {
    const rows = scene.placed.filter((p) => p.row.kind === "exits");
    if (!rows.length) return;
    const begin = Math.floor(scene.begin);
    const end = Math.ceil(scene.end);
    if (this.ready())
      this.rested.want(`${begin} ${end}`, async () => ({ begin, end, ...(await this.api.exits(begin, end, BUCKETS)) }));
    for (const p of rows) {
      scene.pen.fillStyle = css(scene.theme.row);
      scene.pen.fillRect(0, p.y, scene.width, p.height);
      this.bars(scene, p);
    }
    this.legend(scene, rows[0]);
  }

  private bars(scene: Scene, p: Placed): void {
    const c = this.counted;
    const counts = c?.byCpu.get(p.row.cpu);
    if (!c || !counts) return;
    const { pen, width } = scene;
    const wide = scene.x(c.begin + (c.end - c.begin) / counts.length) - scene.x(c.begin);
    pen.fillStyle = css(scene.theme.modes[6]);
    counts.forEach((n, i) => {
      const x = scene.x(c.begin) + i * wide;
      const high = (n / c.most) * (p.height - 1);
      if (n && x + wide > 0 && x < width) pen.fillRect(x, p.y + p.height - high, Math.max(1, wide), high);
    });
  }

  /** What the highest bar stands for. */
  private legend(scene: Scene, p: Placed): void {
    const c = this.counted;
    const { pen, theme } = scene;
    const text = c
      ? `highest: ${c.about ? "about " : ""}${count(c.most)} in ${scene.clock.length((c.end - c.begin) / c.buckets)}`
      : this.why;
    if (!text || p.height < 18) return;
    pen.font = "10px system-ui, 'DejaVu Sans', sans-serif";
    pen.textBaseline = "top";
    const wide = pen.measureText(text).width;
    pen.globalAlpha = 0.8;
    pen.fillStyle = css(theme.row);
    pen.fillRect(2, p.y + 1, wide + 6, 12);
    pen.globalAlpha = 1;
    pen.fillStyle = theme.faint;
    pen.fillText(text, 5, p.y + 2);
  }

  /** The bar at a place: how many, and how often that is. */
  tip(_x: number, _y: number, hit: { kind: string; cpu: number; t: number } | null): HTMLElement[] | null {
    const c = this.counted;
    const counts = hit?.kind === "exits" ? c?.byCpu.get(hit.cpu) : undefined;
    if (!hit || !c || !counts) return null;
    const i = Math.floor(((hit.t - c.begin) / (c.end - c.begin)) * counts.length);
    if (i < 0 || i >= counts.length) return null;
    const each = (c.end - c.begin) / counts.length;
    return [
      h("div", {}, `${c.about ? "about " : ""}${count(counts[i])} exits in ${this.clock.length(each)}`),
      h("div", { class: "quiet" }, this.clock.ticks_are_ns ? `${count(Math.round((counts[i] * 1e9) / each))} per second` : ""),
    ];
  }
}
