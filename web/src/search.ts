// SPDX-License-Identifier: Apache-2.0
// The box that jumps: to threads, machines, CPUs and containers by name or number, to times in all
// forms that the commands take.
import type { Api } from "./api";
import { fill, h } from "./dom";
import type { Model } from "./model";

export interface Found {
  title: string;
  note: string;
  go: () => void;
}

export interface SearchActions {
  toThread(row: number): void;
  toRow(id: string, machine: number): void;
  toTime(t: number): void;
}

const FOUND_MAX = 14;

export class Search {
  readonly input = h("input", {
    type: "search", placeholder: "Jump to a thread, machine, time …   /", "aria-label": "search",
    autocomplete: "off", spellcheck: "false",
  });
  private readonly list = h("div", { class: "found", hidden: true });
  readonly element = h("div", { class: "search" }, this.input, this.list);
  private found: Found[] = [];
  private chosen = 0;

  constructor(
    private readonly model: Model,
    private readonly api: Api,
    private readonly actions: SearchActions,
  ) {
    this.input.addEventListener("input", () => this.look());
    this.input.addEventListener("focus", () => {
      this.input.select();
      this.look();
    });
    this.input.addEventListener("blur", () => window.setTimeout(() => (this.list.hidden = true), 150));
    this.input.addEventListener("keydown", (e) => this.key(e));
  }

  private key(e: KeyboardEvent): void {
    const by = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
    if (by && this.found.length) {
      this.chosen = (this.chosen + by + this.found.length) % this.found.length;
      this.draw();
    } else if (e.key === "Enter") this.go(this.chosen);
    else if (e.key === "Escape") {
      this.input.value = "";
      this.input.blur();
    } else return;
    e.preventDefault();
  }

  private go(i: number): void {
    const text = this.input.value.trim();
    const found = this.found[i];
    if (found) {
      found.go();
      this.input.blur();
    } else if (text) void this.time(text);
  }

  private async time(text: string): Promise<void> {
    try {
      this.actions.toTime(await this.api.time(text));
      this.input.blur();
    } catch (e) {
      this.list.hidden = false;
      fill(this.list, h("div", { class: "quiet item" }, e instanceof Error ? e.message : String(e)));
    }
  }

  private look(): void {
    const text = this.input.value.trim().toLowerCase();
    this.found = text ? this.find(text) : [];
    this.chosen = 0;
    this.draw();
  }

  private find(text: string): Found[] {
    const exact: Found[] = []; // called just so, before those that have the text in their name
    const out: Found[] = [];
    const m = this.model;
    const add = (title: string, note: string, go: () => void) => {
      const list = title.toLowerCase().replace(/:?\[.*$/, "") === text ? exact : out;
      if (list.length < FOUND_MAX) list.push({ title, note, go });
    };
    m.run.machines.forEach((machine, row) => {
      if (machine.name.toLowerCase().includes(text))
        add(machine.name, "machine", () => this.actions.toRow(`m:${machine.name}`, row));
    });
    m.run.cpus.forEach((cpu, row) => {
      const label = m.cpuLabel(row);
      if (cpu.state !== null && label.toLowerCase().includes(text))
        add(label, "vCPU", () => this.actions.toRow(`v:${label}`, cpu.machine));
    });
    m.run.pid_ns.forEach((ns, row) => {
      if (m.isContainer(row) && ns.label.toLowerCase().includes(text))
        add(ns.label, `container in ${m.machineName(ns.machine)}`, () => this.actions.toRow(`c:${row}`, ns.machine));
    });
    for (let row = 0; row < m.threads.length && exact.length < FOUND_MAX; row++) {
      const t = m.threads[row];
      if (!t || t[6] === null) continue;
      const label = m.threadLabel(row);
      if (label.toLowerCase().includes(text))
        add(label, `thread in ${m.machineName(t[0])}`, () => this.actions.toThread(row));
    }
    return [...exact, ...out].slice(0, FOUND_MAX);
  }

  private draw(): void {
    const items = this.found.map((f, i) =>
      h("div", {
        class: i === this.chosen ? "item on" : "item", role: "option",
        onpointerdown: (e: Event) => {
          e.preventDefault();
          this.go(i);
        },
      }, h("span", {}, f.title), h("span", { class: "quiet" }, f.note)));
    if (!items.length && this.input.value.trim())
      items.push(h("div", { class: "quiet item" },
        "nothing has that name; Enter takes it for a time: 12.5, +1.5s, 50%, 120ms, 13:00:00.5"));
    fill(this.list, ...items);
    this.list.hidden = !items.length;
  }
}
