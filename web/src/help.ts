// SPDX-License-Identifier: Apache-2.0
// What colours and keys mean.
import { h } from "./dom";
import { type Filter, FILTER_KEYS, term } from "./filter";
import type { Command } from "./input";
import { MODE_NAMES, type Model, THREAD_STATES, VCPU_STATES } from "./model";
import { css, machineColour, type Rgb, type Theme } from "./palette";

export interface LegendItem {
  name: string;
  colour: Rgb;
  word: string; // the filter's term, "" when there is none
  hatched: boolean;
  group: number;
}

/** What the colours in the picture stand for. */
export function legendItems(model: Model, theme: Theme, colourBy: string, threads = false): LegendItem[] {
  const item = (group: number, name: string, colour: Rgb, word: string, hatched = false): LegendItem =>
    ({ name, colour, word, hatched, group });
  // Before the first picture any may come: lines that are added later would push it down.
  const known = (m: number) => !model.modes.size || model.modes.has(m);
  const modes = colourBy === "process" ? [] : [2, 3, 8, 9, 4, 5, 6, 7, 1, 0].filter(known);
  const states = threads ? [3, 5] : [];
  return [
    ...model.run.machines.map((m, i) => item(0, m.name, machineColour(theme, i), term("machine", m.name))),
    ...modes.map((m) => item(1, MODE_NAMES[m], theme.modes[m], term("state", MODE_NAMES[m]), m === 0)),
    ...(model.hasVcpus ? [3, 4] : []).map((s) => item(2, VCPU_STATES[s], theme.vcpu[s], term("state", VCPU_STATES[s]))),
    ...states.map((s) => item(3, THREAD_STATES[s], theme.thread[s], term("state", THREAD_STATES[s]))),
  ];
}

/** Colours and their names; a click highlights. */
export function legend(model: Model, theme: Theme, filter: Filter, colourBy: string, threads: boolean,
  toggle: (word: string) => void): HTMLElement[] {
  const out: HTMLElement[] = [];
  let group = 0;
  for (const { name, colour, word, hatched, group: own } of legendItems(model, theme, colourBy, threads)) {
    if (own !== group) out.push(h("span", { class: "gap" }));
    group = own;
    const swatch = h("span", { class: hatched ? "swatch hatched" : "swatch" });
    swatch.style.background = hatched ? "" : css(colour);
    out.push(h("button", {
      type: "button", class: filter.has(word) ? "key on" : "key", title: `highlight ${name}`,
      "aria-pressed": String(filter.has(word)), onclick: () => toggle(word),
    }, swatch, name));
  }
  return out;
}

const KEY_WORDS: Record<string, string> = {
  ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc", PageUp: "PgUp",
  PageDown: "PgDn",
};

function keyText(key: string): string {
  return key.split("+").map((k) => KEY_WORDS[k] ?? (k.length > 1 ? k[0].toUpperCase() + k.slice(1) : k || "+")).join(" ");
}

export function help(all: Command[], close: () => void): HTMLElement {
  const rows = all.map((c) =>
    h("div", { class: "keyrow" },
      h("span", { class: "keys" }, ...c.keys.slice(0, 2).map((k) => h("kbd", {}, k === "+" ? "+" : keyText(k)))),
      h("span", {}, c.what)));
  const hands = [
    ["wheel", "zoom at the pointer"],
    ["shift wheel", "to the left and right"],
    ["alt wheel, wheel over names", "up and down"],
    ["drag", "move"],
    ["shift drag, drag on the ruler", "choose a range"],
    ["double click", "a piece fills the picture"],
    ["click", "cursor and row"],
  ].map(([keys, what]) =>
    h("div", { class: "keyrow" }, h("span", { class: "keys" }, h("kbd", {}, keys)), h("span", {}, what)));
  return h("div", { class: "sheet", role: "dialog", "aria-label": "help" },
    h("div", { class: "sheet-head" }, h("b", {}, "Hands and keys"),
      h("button", { type: "button", "aria-label": "close", onclick: close }, "×")),
    h("div", { class: "columns" }, ...hands, ...rows),
    h("p", { class: "quiet" },
      `Highlight filter: ${FILTER_KEYS.map((k) => `${k}:`).join(" ")} and plain text; a, b is either, ` +
      "blanks are “and”, - turns a term around, = wants the whole word. What is not meant fades; hide and pin rows " +
      "with the buttons beside their names. All of it is in the URL."),
    h("p", { class: "quiet" },
      "Each piece: the narrow stripe is the machine, the body what it does. Paler pieces held only part of their " +
      "pixels. Hatched: unknown. Red below a row: events were lost. Brackets below a change: where it may lie, " +
      "by the error bound of its machine's clock. Thin arrows: from who woke a thread to that thread. Red ones: from a " +
      "preempted vCPU to the CPU where another ran instead. Where they have no room, a strip below the row says how " +
      "many there are. Rest the pointer on one to read it."));
}
