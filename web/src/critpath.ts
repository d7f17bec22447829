// SPDX-License-Identifier: Apache-2.0
// The critical path, drawn: a row of its own with every step, and a line that follows it through
// the rows of threads and physical CPUs that are in view.
import type { Facts } from "./api";
import type { Artist, Scene } from "./artist";
import { h } from "./dom";
import type { Clock } from "./format";
import { MODE, type Model } from "./model";
import { css, inkOn, type Rgb, type Theme } from "./palette";

export interface Step {
  begin: number;
  end: number;
  thread: number;
  kind: string;
  what: string;
  on: number; // CPU row, -1 unknown
}

const NAME_ROOM = 30;

/** The kinds of steps (analysis/critpath/critpath_rows.c) and their colours. */
export const PATH_KINDS: readonly string[] = ["runs", "hypervisor", "irq", "queued", "steal", "waits", "unknown"];

export function pathColour(theme: Theme, kind: string): Rgb {
  switch (kind) {
    case "runs":
      return theme.modes[MODE.user];
    case "hypervisor":
      return theme.modes[MODE.hypervisor];
    case "irq":
      return theme.modes[MODE.irq];
    case "queued":
      return theme.thread[3];
    case "steal":
      return theme.vcpu[3];
    case "waits":
      return theme.vcpu[4];
    default:
      return theme.modes[MODE.unknown];
  }
}

export class CritPath implements Artist {
  steps: Step[] = [];
  thread = -1;
  /** How many rows and CPUs the line touched when it was drawn last: for tests. */
  touched = 0;

  constructor(
    private readonly model: Model,
    private readonly clock: Clock,
    private readonly changed: () => void,
  ) {}

  set(thread: number, facts: Facts): void {
    const at = (name: string) => facts.columns.findIndex((c) => c.name === name);
    const [t, length, who, kind, what, on] = ["at", "length", "thread", "kind", "what", "on"].map(at);
    this.thread = thread;
    this.steps = facts.rows.map((r) => ({
      begin: Number(r[t]), end: Number(r[t]) + Number(r[length]), thread: Number(r[who]),
      kind: String(r[kind]), what: String(r[what]), on: Number(r[on]),
    }));
    this.changed();
  }

  clear(): void {
    if (this.thread < 0) return;
    this.thread = -1;
    this.steps = [];
    this.changed();
  }

  /** Steps that are in the window. */
  private visible(scene: Scene): Step[] {
    return this.steps.filter((s) => s.end > scene.begin && s.begin < scene.end);
  }

  private name(s: Step): string {
    const who = s.thread < 0 ? "" : this.model.threadLabel(s.thread);
    return s.kind === "runs" ? `${who} ${s.what}` : `${who} ${s.kind}${s.what ? ` ${s.what}` : ""}`;
  }

  rows(scene: Scene): void {
    const p = scene.placed.find((q) => q.row.kind === "path");
    if (!p) return;
    const { pen, theme } = scene;
    pen.fillStyle = css(theme.row);
    pen.fillRect(0, p.y, scene.width, p.height);
    pen.font = "10.5px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";
    pen.textBaseline = "middle";
    for (const s of this.visible(scene)) {
      const x0 = Math.max(0, scene.x(s.begin));
      const x1 = Math.min(scene.width, scene.x(s.end));
      const colour = pathColour(theme, s.kind);
      pen.fillStyle = css(colour);
      pen.fillRect(x0, p.y, Math.max(1, x1 - x0), p.height);
      if (x1 - x0 < NAME_ROOM || p.height < 14) continue;
      const most = Math.floor((x1 - x0 - 6) / 5.6);
      const text = this.name(s);
      pen.fillStyle = inkOn(colour);
      pen.fillText(text.length > most ? `${text.slice(0, most - 1)}…` : text, x0 + 4, p.y + p.height / 2 + 0.5);
    }
  }

  over(scene: Scene): void {
    this.touched = 0;
    if (this.thread < 0) return;
    const middle = new Map<string, number>();
    for (const p of scene.placed) middle.set(p.row.id, p.y + p.height - 3);
    const { pen, theme } = scene;
    pen.fillStyle = theme.path;
    let before: number | null = null;
    const seen = new Set<number>();
    for (const s of this.visible(scene)) {
      const cpu = this.model.run.cpus[s.on];
      const y = middle.get(`t:${s.thread}`) ?? (cpu && s.kind !== "waits" ? middle.get(`p/${cpu.number}`) : undefined);
      if (y === undefined) continue;
      const x0 = Math.max(0, scene.x(s.begin));
      const x1 = Math.min(scene.width, scene.x(s.end));
      pen.globalAlpha = s.kind === "waits" ? 0.45 : 1;
      pen.fillRect(x0, y, Math.max(1, x1 - x0), 3);
      pen.globalAlpha = 1;
      if (before !== null && before !== y) pen.fillRect(Math.round(x0), Math.min(before, y), 1, Math.abs(y - before) + 3);
      before = y;
      seen.add(y);
    }
    this.touched = seen.size;
  }

  tip(_x: number, _y: number, hit: { kind: string; t: number } | null): HTMLElement[] | null {
    if (hit?.kind !== "path") return null;
    const s = this.steps.find((q) => hit.t >= q.begin && hit.t < q.end);
    if (!s) return null;
    return [
      h("div", { class: "what" }, h("b", {}, s.thread < 0 ? "unknown thread" : this.model.threadLabel(s.thread)),
        h("span", {}, s.kind)),
      s.what ? h("div", {}, s.what) : h("div", { class: "quiet" }, "nothing more is known"),
      h("div", { class: "when" }, h("span", { class: "mono" }, this.clock.time(s.begin)),
        h("span", {}, this.clock.length(s.end - s.begin))),
    ];
  }
}
