// SPDX-License-Identifier: Apache-2.0
// How VMs started and ended: a row of phases in the picture, and a chart of what each phase was
// made of in the panel.
import type { Api, Facts } from "./api";
import type { Artist, Scene } from "./artist";
import { h } from "./dom";
import { type Clock, sentence } from "./format";
import { MODE, type Model } from "./model";
import { css, inkOn, nameColour, type Rgb, type Theme } from "./palette";

export interface Phase {
  vm: number;
  what: "boot" | "shutdown";
  name: string;
  begin: number;
  length: number;
  parts: number[]; // as PARTS
  waitsFor: string;
  doubt: number; // its end may have been this much earlier
  evidence: string;
}

/** Columns of the analyses boot and shutdown that add up to a stage's length. */
const PARTS: readonly { column: string; title: string; colour: (t: Theme) => Rgb }[] = [
  { column: "guest_mode", title: "guest mode", colour: (t) => t.modes[MODE.user] },
  { column: "kvm", title: "KVM", colour: (t) => t.modes[MODE.hypervisor] },
  { column: "vmm", title: "VMM", colour: (t) => t.modes[MODE.syscall] },
  { column: "host", title: "the host's doing", colour: (t) => t.vcpu[3] },
  { column: "waits", title: "waits", colour: (t) => t.vcpu[4] },
  { column: "unknown", title: "unknown", colour: (t) => t.vcpu[5] },
];

function read(facts: Facts, what: Phase["what"]): Phase[] {
  const at = (name: string) => facts.columns.findIndex((c) => c.name === name);
  const [vm, phase, begin, length, waitsFor, doubt, evidence] =
    ["vm", "stage", "begin", "length", "blocked_on", "doubt", "evidence"].map(at);
  const parts = PARTS.map((p) => at(p.column));
  return facts.rows.map((r) => ({
    vm: Number(r[vm]), what, name: String(r[phase]), begin: Number(r[begin]), length: Number(r[length]),
    parts: parts.map((i) => Math.max(0, Number(r[i]))), waitsFor: String(r[waitsFor]),
    doubt: Math.max(0, Number(r[doubt])), evidence: sentence(String(r[evidence])),
  }));
}

function swatch(colour: Rgb): HTMLElement {
  const e = h("span", { class: "swatch" });
  e.style.background = css(colour);
  return e;
}

export class Phases implements Artist {
  list: Phase[] = [];

  constructor(
    private readonly model: Model,
    private readonly clock: Clock,
  ) {}

  async load(api: Api, length: number): Promise<void> {
    const list: Phase[] = [];
    for (const what of ["boot", "shutdown"] as const)
      if (this.model.run.tables.some((a) => a.name === what))
        list.push(...read(await api.facts(what, 0, length, 1000, `phases-${what}`), what));
    this.list = list.filter((p) => p.length > 0);
  }

  has(machine: number, what: Phase["what"]): boolean {
    return this.list.some((p) => p.vm === machine && p.what === what);
  }

  rows(scene: Scene): void {
    const { pen, theme } = scene;
    for (const placed of scene.placed) {
      if (placed.row.kind !== "stages") continue;
      pen.fillStyle = css(theme.row);
      pen.fillRect(0, placed.y, scene.width, placed.height);
      for (const p of this.list) {
        if (placed.row.id === rowId(p.what, this.model.machineName(p.vm)))
          this.piece(scene, p, placed.y, placed.height);
      }
    }
  }

  private piece(scene: Scene, p: Phase, y: number, height: number): void {
    const { pen, theme } = scene;
    const x0 = Math.max(0, scene.x(p.begin));
    const x1 = Math.min(scene.width, scene.x(p.begin + p.length));
    if (x1 <= 0 || x0 >= scene.width) return;
    const colour = nameColour(p.name, theme.dark);
    pen.fillStyle = css(colour);
    pen.fillRect(x0, y, Math.max(1, x1 - x0 - 1), height);
    if (p.doubt > 0) {
      pen.fillStyle = theme.text;
      pen.globalAlpha = 0.5;
      const from = scene.x(p.begin + p.length - p.doubt);
      if (x1 - from > 2) pen.fillRect(Math.max(x0, from), y + height - 2, x1 - Math.max(x0, from), 1.5);
      pen.globalAlpha = 1;
    }
    const room = Math.floor((x1 - x0 - 8) / 5.8);
    if (height < 14 || room < 3) return;
    pen.font = "10.5px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";
    pen.textBaseline = "middle";
    pen.fillStyle = inkOn(colour);
    pen.fillText(p.name.length > room ? `${p.name.slice(0, room - 1)}…` : p.name, x0 + 4, y + height / 2 + 0.5);
  }

  tip(_x: number, _y: number, hit: { kind: string; id: string; t: number } | null): HTMLElement[] | null {
    if (hit?.kind !== "stages") return null;
    const p = this.list.find((q) => hit.id === rowId(q.what, this.model.machineName(q.vm)) &&
      hit.t >= q.begin && hit.t < q.begin + q.length);
    if (!p) return null;
    const line = (name: string, text: string) =>
      h("div", { class: "line" }, h("span", { class: "quiet" }, name), h("span", {}, text));
    return [
      h("div", { class: "what" }, h("b", {}, p.name), h("span", {}, this.clock.length(p.length))),
      ...PARTS.map((part, i) => ({ part, ns: p.parts[i] })).filter(({ ns }) => ns > 0)
        .map(({ part, ns }) => line(part.title, this.clock.length(ns))),
      ...(p.waitsFor ? [line("blocked on", p.waitsFor)] : []),
      ...(p.doubt ? [line("end", `up to ${this.clock.length(p.doubt)} earlier`)] : []),
      ...(p.evidence ? [line("until", p.evidence)] : []),
    ];
  }

  /** A bar per phase, as long as it took, of what it was made of. */
  chart(theme: Theme, jump: (t: number, length: number) => void): HTMLElement[] {
    const groups = new Map<string, Phase[]>();
    for (const p of this.list) {
      const title = `${this.model.machineName(p.vm)}: ${p.what}`;
      groups.set(title, [...(groups.get(title) ?? []), p]);
    }
    if (!groups.size)
      return [h("p", { class: "quiet" }, "No VM was seen to start or to end in this history.")];
    const legend = h("p", { class: "chart-legend" },
      ...PARTS.map((part) => h("span", { class: "key" }, swatch(part.colour(theme)), part.title)));
    return [legend, ...[...groups].map(([title, phases]) => this.group(theme, title, phases, jump))];
  }

  private group(theme: Theme, title: string, phases: Phase[], jump: (t: number, length: number) => void): HTMLElement {
    const longest = Math.max(...phases.map((p) => p.length));
    const sum = phases.reduce((n, p) => n + p.length, 0);
    const rows = phases.map((p) => {
      const bar = h("div", { class: "stack", title: p.evidence });
      PARTS.forEach((part, i) => {
        if (!p.parts[i]) return;
        const e = h("span", { title: `${part.title}: ${this.clock.length(p.parts[i])}` });
        e.style.width = `${(p.parts[i] / longest) * 100}%`;
        e.style.background = css(part.colour(theme));
        bar.append(e);
      });
      return h("tr", {},
        // Its row is drawn in the colour of its name, the bar in those of its parts.
        h("td", {}, swatch(nameColour(p.name, theme.dark)), h("button", {
          type: "button", class: "link", title: "show it", onclick: () => jump(p.begin, p.length),
        }, p.name)),
        h("td", { class: "number" }, this.clock.length(p.length)),
        h("td", { class: "stack-cell" }, bar));
    });
    return h("div", { class: "facts chart" },
      h("h3", {}, title, h("span", { class: "quiet" }, ` ${this.clock.length(sum)} in all`)),
      h("table", {}, h("tbody", {}, ...rows)));
  }
}

/** The row of a VM's start or end. */
export function rowId(what: Phase["what"], machine: string): string {
  return `${what}:${machine}`;
}
