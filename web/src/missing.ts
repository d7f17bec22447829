// SPDX-License-Identifier: Apache-2.0
// What is missing of the run, in a word beside its name; pressed, it opens the list.
import type { Api } from "./api";
import { fill, h } from "./dom";
import { count, ppm } from "./format";
import type { Model } from "./model";

/** So much unknown time is worth a colour. */
const MUCH_PPM = 10000;

export class Missing {
  readonly element: HTMLElement;
  private unknown = 0; // ppm

  constructor(private readonly model: Model, open: () => void) {
    this.element = h("button", { type: "button", class: "missing", title: "what is missing: the tab Run lists it", onclick: open });
    this.draw();
  }

  /** How much of the host's CPU time nobody knows; asked for when the first picture is there. */
  async load(api: Api, begin: number, end: number): Promise<void> {
    const times = await api.facts("machine_time", begin, end, 1000, "missing");
    const sum = (name: string) => {
      const column = times.columns.findIndex((c) => c.name === name);
      return times.rows.reduce((s, row) => s + Number(row[column]), 0);
    };
    const unknown = sum("unknown");
    this.unknown = (unknown / sum("total")) * 1e6 || 0;
    this.draw();
  }

  private draw(): void {
    const { nr_left_out, nr_gaps } = this.model.run;
    const parts = [
      nr_left_out > 0 && `${count(nr_left_out)} ${nr_left_out === 1 ? "trace" : "traces"} left out`,
      nr_gaps > 0 && `${count(nr_gaps)} ${nr_gaps === 1 ? "gap" : "gaps"}`,
      this.unknown > 0 && `${ppm(this.unknown)} of the CPU time unknown`,
    ].filter(Boolean);
    this.element.hidden = !parts.length;
    this.element.classList.toggle("warn", nr_left_out > 0 || nr_gaps > 0 || this.unknown >= MUCH_PPM);
    fill(this.element, parts.join(", "));
  }
}
