// SPDX-License-Identifier: Apache-2.0
// Arrows between rows: from who woke a thread to that thread, and from a preempted vCPU to the
// physical CPU where another runs instead.  Asked for what is in view once the picture rests.  An
// arrow is drawn where it has room; where it has not, its row gets a strip that says how many there
// are.  The chosen row's arrows are always drawn.
import type { Api, Arrows as Answer } from "./api";
import type { Artist, Scene } from "./artist";
import { Rested } from "./artist";
import { h } from "./dom";
import type { Clock } from "./format";
import { MODE, MODE_NAMES, type Model } from "./model";
import type { Row } from "./rows";

const REST_MS = 160;
const ROWS_MAX = 256;
const ROOM = 28; // pixels of the picture for each arrow of a kind, on average
const CELL = 32; // a part of the picture as wide as this
const IN_CELL = 4; // has as many at most
const CHOSEN_MAX = 400;
const STRIP = 3; // pixels, high
const BUCKET = 4; // of a strip, wide
const NEAR = 4;

type Kind = "wake" | "preemption";

export interface Drawn {
  x: number;
  from: number;
  to: number;
  kind: Kind;
  says: () => HTMLElement[];
}

interface Found extends Drawn {
  id: string; // of the row that was woken or preempted
}

/** How many there are in a bucket of a row, where there is no room for arrows. */
interface Dense {
  kind: Kind;
  id: string;
  x: number;
  nr: number;
}

const NAMES: Record<Kind, string> = { wake: "wake-ups", preemption: "preemptions" };

export class Arrows implements Artist {
  /** What was drawn last: for tooltips and for tests. */
  drawn: Drawn[] = [];
  /** What has no room: strips. */
  dense: Dense[] = [];
  on = true;
  private answer: Answer | null = null;
  private found: Found[] = [];
  private crowded = ""; // the window and rows of which there are more than the server tells
  private readonly rested: Rested<Answer>;

  constructor(
    private readonly model: Model,
    private readonly api: Api,
    private readonly clock: Clock,
    changed: () => void,
    ready: () => boolean,
  ) {
    this.ready = ready;
    this.rested = new Rested(REST_MS, (answer) => {
      this.answer = answer;
      changed();
    });
  }

  private readonly ready: () => boolean;

  private want(scene: Scene): void {
    const rows = scene.placed.map((p) => p.row);
    const list = (kind: Row["kind"], of: (row: Row) => number) =>
      [...new Set(rows.filter((r) => r.kind === kind).map(of))].slice(0, ROWS_MAX);
    const threads = list("thread", (r) => r.thread);
    const cpus = list("vcpu", (r) => r.cpu);
    if (!threads.length && !cpus.length) return;
    const begin = Math.floor(scene.begin);
    const end = Math.ceil(scene.end);
    const all = `${begin} ${end} ${threads} ${cpus}`;
    if (this.crowded !== all)
      this.rested.want(all, async () => {
        const answer = await this.api.arrows(begin, end, threads, cpus);
        // The first of many would look as if there were none later.
        if (answer.wakes_more || answer.preemptions_more) this.crowded = all;
        return {
          ...answer, wakes: answer.wakes_more ? [] : answer.wakes,
          preemptions: answer.preemptions_more ? [] : answer.preemptions,
        };
      });
    else this.wantChosen(scene, begin, end);
  }

  /** Of so many only the chosen row's. */
  private wantChosen(scene: Scene, begin: number, end: number): void {
    const row = scene.placed.find((p) => p.row.id === scene.chosen)?.row;
    if (row?.kind !== "thread" && row?.kind !== "vcpu") return;
    const threads = row.kind === "thread" ? [row.thread] : [];
    const cpus = row.kind === "vcpu" ? [row.cpu] : [];
    this.rested.want(`${begin} ${end} of ${row.id}`, () => this.api.arrows(begin, end, threads, cpus));
  }

  over(scene: Scene): void {
    this.drawn = [];
    this.dense = [];
    this.found = [];
    if (!this.on || !this.ready()) return;
    this.want(scene);
    if (!this.answer) return;
    const place = new Map<string, number>();
    for (const p of scene.placed) if (p.y + p.height / 2 > scene.top || !place.has(p.row.id)) place.set(p.row.id, p.y + p.height / 2);
    this.wakes(scene, place, this.answer);
    this.preemptions(scene, place, this.answer);
    this.sort(scene);
    this.strips(scene);
    for (const d of this.drawn) this.draw(scene, d);
  }

  /** Which have room: few of their kind in the picture, and few where they are. */
  private sort(scene: Scene): void {
    for (const kind of ["wake", "preemption"] as const) {
      const all = this.found.filter((f) => f.kind === kind);
      const cell = (f: Found) => Math.floor(f.x / CELL);
      const inCell = new Map<number, number>();
      for (const f of all) inCell.set(cell(f), (inCell.get(cell(f)) ?? 0) + 1);
      const few = all.length * ROOM <= scene.width;
      const chosen = all.filter((f) => f.id === scene.chosen).slice(0, CHOSEN_MAX);
      const buckets = new Map<string, Dense>();
      for (const f of all) {
        if ((few && (inCell.get(cell(f)) ?? 0) <= IN_CELL) || (f.id === scene.chosen && chosen.includes(f))) {
          this.drawn.push(f);
          continue;
        }
        const x = Math.floor(f.x / BUCKET) * BUCKET;
        const key = `${f.id} ${x}`;
        const bucket = buckets.get(key);
        if (bucket) bucket.nr++;
        else buckets.set(key, { kind, id: f.id, x, nr: 1 });
      }
      this.dense.push(...buckets.values());
    }
  }

  /** Along the lower edge of a row: the stronger, the more. */
  private strips(scene: Scene): void {
    const { pen, theme } = scene;
    const placed = new Map(scene.placed.map((p) => [p.row.id, p]));
    const most = { wake: 1, preemption: 1 };
    for (const d of this.dense) most[d.kind] = Math.max(most[d.kind], d.nr);
    for (const d of this.dense) {
      const p = placed.get(d.id);
      if (!p || p.y + p.height <= scene.top) continue;
      pen.globalAlpha = 0.35 + (0.65 * d.nr) / most[d.kind];
      pen.fillStyle = d.kind === "wake" ? theme.wake : theme.taken;
      const high = Math.min(STRIP, Math.floor(p.height / 4));
      pen.fillRect(d.x, p.y + p.height - high, BUCKET - 1, high);
    }
    pen.globalAlpha = 1;
  }

  /** The row of what a CPU does: the physical one, or the vCPU's thread or state. */
  private cpuRow(machine: number, cpu: number, place: Map<string, number>): number | undefined {
    if (machine === 0) return place.get(`p/${cpu}`);
    const name = `${this.model.machineName(machine)}/${cpu}`;
    return place.get(`k:${name}`) ?? place.get(`v:${name}`);
  }

  private add(scene: Scene, id: string, t: number, from: number, to: number, kind: Kind,
    says: Drawn["says"]): void {
    const x = scene.x(t);
    if (x >= 0 && x <= scene.width && from !== to) this.found.push({ id, x, from, to, kind, says });
  }

  private wakes(scene: Scene, place: Map<string, number>, answer: Answer): void {
    for (const [t, thread, by, machine, cpu, mode, ran] of answer.wakes) {
      const to = place.get(`t:${thread}`);
      const upon = mode === MODE.irq || mode === MODE.softirq;
      const from = (upon ? undefined : place.get(`t:${by}`)) ?? this.cpuRow(machine, cpu, place);
      if (to === undefined || from === undefined) continue;
      this.add(scene, `t:${thread}`, t, from, to, "wake", () => {
        const who = by < 0 ? "unknown" : this.model.threadLabel(by);
        return [
          line("woken", this.model.threadLabel(thread)),
          line("by", upon ? `${MODE_NAMES[mode]} upon ${who}` : who),
          line("on", `${this.model.machineName(machine)} CPU ${cpu}`),
          line("at", this.clock.time(t)),
          ran === null ? line("ran", "not in this window") : line("ran", `${this.clock.length(ran - t)} later`),
        ];
      });
    }
  }

  private preemptions(scene: Scene, place: Map<string, number>, answer: Answer): void {
    const { cpus } = this.model.run;
    for (const [t, length, vcpu, victim, on, machine, thread, had] of answer.preemptions) {
      const id = `v:${this.model.cpuLabel(vcpu)}`;
      const from = place.get(id);
      const to = on < 0 ? undefined : place.get(`p/${cpus[on].number}`);
      if (from === undefined || to === undefined) continue;
      if (scene.x(t + length) - scene.x(t) < 2 && id !== scene.chosen) continue;
      this.add(scene, id, t, from, to, "preemption", () => {
        const who = thread < 0 ? "interrupts" : this.model.threadLabel(thread);
        return [
          line("preempted", this.model.cpuLabel(vcpu)),
          victim >= 0 ? line("would run", this.model.threadLabel(victim)) : line("would run", "unknown"),
          line("for", this.clock.length(length)),
          line("most of it", `${who}${machine < 0 ? "" : ` of ${this.model.machineName(machine)}`}, ${this.clock.length(had)}`),
          line("at", this.clock.time(t)),
        ];
      });
    }
  }

  private draw(scene: Scene, d: Drawn): void {
    const { pen, theme } = scene;
    const down = d.to > d.from;
    const x = Math.round(d.x);
    pen.fillStyle = d.kind === "wake" ? theme.wake : theme.taken;
    pen.globalAlpha = 0.8;
    pen.fillRect(x, Math.min(d.from, d.to), 1, Math.abs(d.to - d.from));
    pen.beginPath();
    pen.moveTo(x + 0.5, d.to);
    pen.lineTo(x - 3, d.to + (down ? -6 : 6));
    pen.lineTo(x + 4, d.to + (down ? -6 : 6));
    pen.fill();
    pen.fillRect(x - 1, d.from - 1, 3, 3);
    pen.globalAlpha = 1;
  }

  tip(x: number, y: number, hit: { id: string } | null): HTMLElement[] | null {
    let best: Drawn | null = null;
    for (const d of this.drawn) {
      if (y < Math.min(d.from, d.to) - 2 || y > Math.max(d.from, d.to) + 2) continue;
      if (Math.abs(d.x - x) <= NEAR && (!best || Math.abs(d.x - x) < Math.abs(best.x - x))) best = d;
    }
    return best ? best.says() : this.stripTip(x, hit);
  }

  private stripTip(x: number, hit: { id: string } | null): HTMLElement[] | null {
    const dense = this.dense.find((d) => d.id === hit?.id && x >= d.x && x < d.x + BUCKET);
    if (!dense || dense.nr < 2) return null;
    return [line(`${dense.nr} ${NAMES[dense.kind]}`, "zoom in, or choose the row, to see their arrows")];
  }
}

function line(name: string, text: string): HTMLElement {
  return h("div", { class: "line" }, h("span", { class: "quiet" }, name), h("span", {}, text));
}
