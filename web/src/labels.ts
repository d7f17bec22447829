// SPDX-License-Identifier: Apache-2.0
// The column of names beside the picture: the tree, opened and closed here, and what can be done
// with a row (pin it, hide it, look at nothing else).
import { button, fill, h, icon } from "./dom";
import { type Filter, term } from "./filter";
import type { Model } from "./model";
import { css, machineColour, type Theme } from "./palette";
import type { Row } from "./rows";
import type { Timeline } from "./timeline";
import type { View } from "./view";

export interface RowActions {
  toggle(row: Row): void;
  pin(row: Row): void;
  hide(row: Row): void;
  only(row: Row): void;
  select(row: Row): void;
}

/** The filter's term for what a row stands for; "" when it has none. */
export function rowTerm(model: Model, row: Row): string {
  if (row.mask?.pidNs !== undefined) return term("container", model.containerLabel(row.mask.pidNs));
  if (row.id.startsWith("c:")) return term("container", row.label);
  if (row.kind === "thread") return term("thread", `${row.label}[${row.note}]`);
  if (row.kind === "vcpu" || row.kind === "task" || row.kind === "exits") return term("cpu", model.cpuLabel(row.cpu));
  if (row.id.startsWith("m:") || row.mask?.machine !== undefined)
    return term("machine", model.machineName(row.machine));
  return "";
}

export class Labels {
  readonly element = h("div", { class: "labels", role: "tree", "aria-label": "rows" });
  private signature = "";

  constructor(
    private readonly model: Model,
    private readonly view: View,
    private readonly timeline: Timeline,
    private readonly actions: RowActions,
  ) {}

  /** Follows the picture; only what has changed is made anew. */
  update(theme: Theme, filter: Filter): void {
    const { placed, list } = { placed: this.timeline.placed, list: this.timeline.rows };
    const chosen = this.view.shown.row;
    const signature = [
      this.view.look.rowSize, chosen, filter.text, theme.dark, this.timeline.gap,
      ...placed.map((p) => `${p.row.id}@${p.y}@${p.row.label}@${p.row.note}@${this.isOpen(p.row)}`),
    ].join("|");
    if (signature === this.signature) return;
    this.signature = signature;
    const rows = placed.map((p) => this.rowElement(p.row, p.y, p.height, theme, filter,
      list.pinned.includes(p.row)));
    fill(this.element, ...rows);
  }

  private isOpen(row: Row): boolean {
    return row.kind === "group" && this.openOf(row);
  }

  openOf: (row: Row) => boolean = () => true;

  private rowElement(row: Row, y: number, height: number, theme: Theme, filter: Filter,
    pinned: boolean): HTMLElement {
    const indent = 6 + row.depth * 13;
    const group = row.kind === "group";
    const word = rowTerm(this.model, row);
    const classes = ["label", row.kind, pinned && "pinned", height < 14 && "small", row.id === this.view.shown.row && "chosen"];
    const e = h(
      "div",
      {
        class: classes.filter(Boolean).join(" "), role: "treeitem", "data-row": row.id,
        "aria-expanded": group ? String(this.openOf(row)) : undefined,
        title: row.label + (row.note ? ` (${row.note})` : ""),
        onclick: () => (group ? this.actions.toggle(row) : this.actions.select(row)),
      },
      group && h("span", { class: this.openOf(row) ? "caret open" : "caret" }),
      row.id.startsWith("m:") && this.swatch(css(machineColour(theme, row.machine))),
      h("span", { class: "name" }, row.label),
      row.note ? h("span", { class: "note" }, row.note) : null,
    );
    // A small row is less high than its letters: its name has the gap, too.
    const high = height < 14 ? height + this.timeline.gap : height;
    e.style.cssText = `top:${y}px;height:${high}px;padding-left:${indent}px`;
    if (height >= 18 && row.kind !== "path") {
      // Seen when the pointer is here, or something is switched on: most are never made.
      const add = () => e.append(this.tools(row, word, filter, group, pinned));
      if (pinned || (word && filter.has(word))) add();
      else e.addEventListener("pointerenter", add, { once: true });
    }
    return e;
  }

  private swatch(colour: string): HTMLElement {
    const e = h("span", { class: "swatch" });
    e.style.background = colour;
    return e;
  }

  private tools(row: Row, word: string, filter: Filter, group: boolean, pinned: boolean): HTMLElement {
    const act = (f: (row: Row) => void) => (e: MouseEvent) => {
      e.stopPropagation();
      f(row);
    };
    const tools = h("span", { class: "tools" });
    if (word) {
      const only = button(filter.has(word) ? "no longer highlight" : "highlight", icon("only"),
        act(this.actions.only));
      if (filter.has(word)) only.classList.add("on");
      tools.append(only);
    }
    if (!group) {
      const pin = button(pinned ? "unpin" : "pin to the top", icon("pin"), act(this.actions.pin));
      if (pinned) pin.classList.add("on");
      tools.append(pin);
    }
    if (!pinned) tools.append(button("hide", icon("hide"), act(this.actions.hide)));
    return tools;
  }
}
