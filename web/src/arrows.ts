// SPDX-License-Identifier: Apache-2.0
// Arrows between rows: from who woke a thread to that thread, and from a preempted vCPU to the
// physical CPU where another runs instead.  Asked for what is in view once the picture rests; where
// there would be more than can be told apart, none are drawn but the chosen row's.
import type { Api, Arrows as Answer } from "./api";
import type { Artist, Scene } from "./artist";
import { Rested } from "./artist";
import { h } from "./dom";
import type { Clock } from "./format";
import { MODE, MODE_NAMES, type Model } from "./model";
import type { Row } from "./rows";

const REST_MS = 160;
const ROWS_MAX = 256;
const APART = 5; // pixels between arrows that join the same two rows
const DRAWN_MAX = 400;
const NEAR = 4;

export interface Drawn {
  x: number;
  from: number;
  to: number;
  kind: "wake" | "preemption";
  says: () => HTMLElement[];
}

export class Arrows implements Artist {
  /** What was drawn last: for tooltips and for tests. */
  drawn: Drawn[] = [];
  /** True when there were more than could be drawn. */
  more = false;
  on = true;
  private answer: Answer | null = null;
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
    this.rested.want(`${begin} ${end} ${threads} ${cpus}`, () => this.api.arrows(begin, end, threads, cpus));
  }

  over(scene: Scene): void {
    this.drawn = [];
    this.more = false;
    if (!this.on || !this.ready()) return;
    this.want(scene);
    if (!this.answer) return;
    const place = new Map<string, number>();
    for (const p of scene.placed) if (p.y + p.height / 2 > scene.top || !place.has(p.row.id)) place.set(p.row.id, p.y + p.height / 2);
    this.wakes(scene, place, this.answer);
    this.preemptions(scene, place, this.answer);
    this.more = this.drawn.length > DRAWN_MAX || this.answer.wakes_more || this.answer.preemptions_more;
    if (this.drawn.length > DRAWN_MAX) this.drawn = [];
    for (const d of this.drawn) this.draw(scene, d);
  }

  /** The row of what a CPU does: the physical one, or the vCPU's thread or state. */
  private cpuRow(machine: number, cpu: number, place: Map<string, number>): number | undefined {
    if (machine === 0) return place.get(`p/${cpu}`);
    const name = `${this.model.machineName(machine)}/${cpu}`;
    return place.get(`k:${name}`) ?? place.get(`v:${name}`);
  }

  private add(scene: Scene, last: Map<string, number>, id: string, t: number, from: number, to: number,
    kind: Drawn["kind"], says: Drawn["says"]): void {
    const x = scene.x(t);
    if (x < 0 || x > scene.width || from === to) return;
    const key = `${from} ${to}`;
    if (x - (last.get(key) ?? -APART) < APART && id !== scene.chosen) return;
    last.set(key, x);
    this.drawn.push({ x, from, to, kind, says });
  }

  private wakes(scene: Scene, place: Map<string, number>, answer: Answer): void {
    const last = new Map<string, number>();
    for (const [t, thread, by, machine, cpu, mode, ran] of answer.wakes) {
      const to = place.get(`t:${thread}`);
      const upon = mode === MODE.irq || mode === MODE.softirq;
      const from = (upon ? undefined : place.get(`t:${by}`)) ?? this.cpuRow(machine, cpu, place);
      if (to === undefined || from === undefined) continue;
      this.add(scene, last, `t:${thread}`, t, from, to, "wake", () => {
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
    const last = new Map<string, number>();
    const { cpus } = this.model.run;
    for (const [t, length, vcpu, victim, on, machine, thread, had] of answer.preemptions) {
      const id = `v:${this.model.cpuLabel(vcpu)}`;
      const from = place.get(id);
      const to = on < 0 ? undefined : place.get(`p/${cpus[on].number}`);
      if (from === undefined || to === undefined) continue;
      if (scene.x(t + length) - scene.x(t) < 2 && id !== scene.chosen) continue;
      this.add(scene, last, id, t, from, to, "preemption", () => {
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
    pen.globalAlpha = 0.85;
    pen.fillRect(x, Math.min(d.from, d.to), 1, Math.abs(d.to - d.from));
    pen.beginPath();
    pen.moveTo(x + 0.5, d.to);
    pen.lineTo(x - 3, d.to + (down ? -6 : 6));
    pen.lineTo(x + 4, d.to + (down ? -6 : 6));
    pen.fill();
    pen.fillRect(x - 1, d.from - 1, 3, 3);
    pen.globalAlpha = 1;
  }

  tip(x: number, y: number): HTMLElement[] | null {
    let best: Drawn | null = null;
    for (const d of this.drawn) {
      if (y < Math.min(d.from, d.to) - 2 || y > Math.max(d.from, d.to) + 2) continue;
      if (Math.abs(d.x - x) <= NEAR && (!best || Math.abs(d.x - x) < Math.abs(best.x - x))) best = d;
    }
    return best ? best.says() : null;
  }
}

function line(name: string, text: string): HTMLElement {
  return h("div", { class: "line" }, h("span", { class: "quiet" }, name), h("span", {}, text));
}
