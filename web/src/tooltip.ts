// SPDX-License-Identifier: Apache-2.0
// What is under the pointer: at once what the picture knows, and after a moment's rest all layers,
// from the host's thread to the innermost one, exactly.
import type { Api, At, StackFrame } from "./api";
import { fill, h } from "./dom";
import type { Clock } from "./format";
import { MODE, MODE_NAMES, type Model, THREAD_STATES, VCPU_STATES } from "./model";
import { css, machineColour, type Theme } from "./palette";
import type { Hit } from "./timeline";

const REST_MS = 45;

export class Tooltip {
  readonly element = h("div", { class: "tooltip", role: "status", hidden: true });
  private timer = 0;
  private asked = 0;
  private shownFor: { id: string; at: At } | null = null;

  constructor(
    private readonly model: Model,
    private readonly api: Api,
    private readonly clock: Clock,
    private readonly theme: () => Theme,
  ) {}

  hide(): void {
    clearTimeout(this.timer);
    this.asked++;
    this.element.hidden = true;
  }

  /** What is known without asking. */
  say(content: HTMLElement[], x: number, y: number): void {
    clearTimeout(this.timer);
    this.asked++;
    this.shownFor = null;
    fill(this.element, ...content);
    this.place(x, y);
  }

  show(hit: Hit, x: number, y: number): void {
    clearTimeout(this.timer);
    if (hit.row.kind === "group" || hit.row.attr === null) {
      this.hide();
      return;
    }
    const known = this.shownFor;
    if (known && known.id === hit.row.id && hit.t >= known.at.begin && hit.t < known.at.end) {
      this.place(x, y);
      return;
    }
    this.timer = window.setTimeout(() => void this.ask(hit, x, y), REST_MS);
  }

  private async ask(hit: Hit, x: number, y: number): Promise<void> {
    const asked = ++this.asked;
    const { row } = hit;
    const kind = row.kind === "cpu" ? "cpu" : row.kind === "thread" ? "thread" : "vcpu";
    try {
      const at = await this.api.at(kind, row.kind === "thread" ? row.thread : row.cpu, hit.t);
      if (asked !== this.asked) return;
      this.shownFor = { id: row.id, at };
      fill(this.element, ...this.content(hit, at));
    } catch (e) {
      if (asked !== this.asked) return;
      this.shownFor = null;
      fill(this.element, h("div", { class: "quiet" }, e instanceof Error ? e.message : String(e)));
    }
    this.place(x, y);
  }

  private place(x: number, y: number): void {
    const e = this.element;
    e.hidden = false;
    const { offsetWidth: w, offsetHeight: hgt } = e;
    const left = x + 18 + w > innerWidth ? x - w - 12 : x + 18;
    const top = y + 18 + hgt > innerHeight ? Math.max(4, innerHeight - hgt - 6) : y + 18;
    e.style.transform = `translate(${Math.max(4, left)}px, ${top}px)`;
  }

  private content(hit: Hit, at: At): HTMLElement[] {
    const length = at.end - at.begin;
    const when = h("div", { class: "when" },
      h("span", { class: "mono" }, this.clock.time(at.begin)),
      h("span", {}, this.clock.length(length)));
    if (at.stack) return [...this.stack(at), when, ...this.bound(hit, at)];
    return [...this.state(hit, at), when];
  }

  private swatch(colour: string): HTMLElement {
    const e = h("span", { class: "swatch" });
    e.style.background = colour;
    return e;
  }

  private frame(f: StackFrame, depth: number): HTMLElement {
    const machine = this.model.machine(f.machine);
    const e = h("div", { class: "frame" },
      this.swatch(css(machineColour(this.theme(), f.machine))),
      h("span", { class: "level" }, `L${machine?.level ?? depth}`),
      h("span", { class: "machine" }, this.model.machineName(f.machine)),
      f.cpu === null ? null : h("span", { class: "quiet" }, depth === 0 ? `CPU ${f.cpu}` : `vCPU ${f.cpu}`),
      f.thread.row === null ? h("span", { class: "quiet" }, "thread unknown") : h("b", {}, f.thread.label),
      ...f.containers.map((c) => h("span", { class: "box" }, c.label)));
    e.style.paddingLeft = `${depth * 12}px`;
    return e;
  }

  private stack(at: At): HTMLElement[] {
    const frames = (at.stack ?? []).map((f, i) => this.frame(f, i));
    const mode = at.mode ?? 0;
    const what = h("div", { class: "what" },
      this.swatch(css(this.theme().modes[mode])),
      h("span", {}, MODE_NAMES[mode] + (at.detail ? ` ${at.detail}` : "")),
      mode !== MODE.hypervisor || at.serves === undefined
        ? null
        : h("span", { class: "quiet" }, at.serves === null
          ? "for a nested guest, not known which"
          : `for ${this.model.cpuLabel(at.serves)}`));
    return [...frames, what];
  }

  private bound(hit: Hit, at: At): HTMLElement[] {
    if (at.bound_ns === 0 || at.bound_ns === undefined) return [];
    if (at.bound_ns === null)
      return [h("div", { class: "warn" }, "nothing limits the error of its clock")];
    const near = Math.min(hit.t - at.begin, at.end - hit.t) < at.bound_ns;
    return [
      h("div", { class: near ? "warn" : "quiet" },
        `clock ± ${this.clock.length(at.bound_ns)}` +
          (near ? ": a change is nearer than that, it may be the other side" : "")),
    ];
  }

  private woken(woken: NonNullable<At["woken"]>,
    line: (name: string, text: string) => HTMLDivElement): HTMLDivElement[] {
    const upon = woken.mode === MODE.irq || woken.mode === MODE.softirq;
    const how = MODE_NAMES[woken.mode] + (woken.detail ? ` ${woken.detail}` : "");
    const who = woken.by.row === null ? this.model.machineName(woken.machine) : woken.by.label;
    return [
      line("woken by", upon ? `${how} upon ${who}` : who),
      line("woken at", this.clock.time(woken.t)),
    ];
  }

  private state(hit: Hit, at: At): HTMLElement[] {
    const t = this.theme();
    const thread = hit.row.kind === "thread";
    const state = at.state ?? 0;
    const names = thread ? THREAD_STATES : VCPU_STATES;
    const line = (name: string, text: string) =>
      h("div", { class: "line" }, h("span", { class: "quiet" }, name), h("span", {}, text));
    const out = [
      h("div", { class: "what" },
        this.swatch(css((thread ? t.thread : t.vcpu)[state] ?? t.row)),
        h("b", {}, thread ? at.thread?.label ?? hit.row.label : this.model.cpuLabel(hit.row.cpu)),
        h("span", {}, names[state] ?? "")),
    ];
    if (at.instead) {
      const where = at.instead_machine ?? null;
      out.push(line("instead ran", at.instead.row === null ? "an interrupt" : at.instead.label));
      if (where !== null) out.push(line("in", this.model.machineName(where)));
    }
    if (at.why_off) out.push(line("because", at.why_off));
    if (at.wake) {
      const { cause, irq, from, evidence } = at.wake;
      const by = from === null ? "" : ` from ${this.model.cpuLabel(from)}`;
      out.push(line("waits for", `${cause}${irq ? ` (${irq})` : ""}${by}`));
      if (evidence) out.push(line("as known from", evidence));
    }
    if (at.woken) out.push(...this.woken(at.woken, line));
    if (at.on !== undefined) out.push(line("on CPU", String(at.on)));
    if (at.cpu !== undefined) out.push(line("last on CPU", String(at.cpu)));
    if (at.host_thread?.row !== null && at.host_thread) out.push(line("host's thread", at.host_thread.label));
    if (at.task) out.push(line("guest's thread", at.task.label));
    for (const c of at.containers ?? []) out.push(line("container", c.label));
    return out;
  }
}
