// SPDX-License-Identifier: Apache-2.0
// What is shown and how: kept in the URL's fragment, so that a link shows the same to others; with
// a way back.  Everything else in the page follows from the run and this.
import type { TimeFormat } from "./format";

export interface Note {
  t: number;
  text: string;
}

export interface Shown {
  begin: number;
  end: number;
  cursor: number | null;
  range: [number, number] | null;
  row: string | null;
  filter: string;
  hidden: string[];
  pinned: string[];
  toggled: string[]; // groups that are not as they are by default
  notes: Note[];
}

export interface Look {
  theme: "auto" | "light" | "dark";
  safe: boolean;
  colourBy: "state" | "machine" | "process";
  rowSize: number; // 0 small, 1 usual, 2 large
  time: TimeFormat;
  panel: string; // "" closed
  arrows: boolean;
}

export const LEAST_NS = 50;
const UNDO_MAX = 100;
const SETTLED_MS = 600;

type Listener = (what: "shown" | "look") => void;

export class View {
  shown: Shown;
  look: Look;
  private readonly listeners: Listener[] = [];
  private readonly past: string[] = [];
  private readonly future: string[] = [];
  private changedAt = Number.NEGATIVE_INFINITY;
  private urlTimer = 0;
  private newStep = false; // since the URL was written last

  /** @home: what is shown unless a link says otherwise. */
  constructor(readonly length: number, readonly home: [number, number] = [0, length]) {
    this.shown = {
      begin: home[0], end: home[1], cursor: null, range: null, row: null, filter: "", hidden: [],
      pinned: [], toggled: [], notes: [],
    };
    this.look = {
      theme: "auto", safe: false, colourBy: "state", rowSize: 1, time: "trace", panel: "verdicts",
      arrows: true,
    };
    this.read();
    window.addEventListener("hashchange", () => {
      if (location.hash !== this.hash()) {
        this.remember(true);
        this.newStep = false; // the browser has it
        this.read();
        this.tell("shown");
        this.tell("look");
      }
    });
  }

  listen(f: Listener): void {
    this.listeners.push(f);
  }

  private tell(what: "shown" | "look"): void {
    for (const f of this.listeners) f(what);
    clearTimeout(this.urlTimer);
    this.urlTimer = window.setTimeout(() => this.write(), 250);
  }

  /** Keeps what is shown for undo; changes that follow each other at once are one step. */
  private remember(step: boolean): void {
    const now = performance.now();
    if (step || now - this.changedAt > SETTLED_MS) {
      this.past.push(JSON.stringify(this.shown));
      if (this.past.length > UNDO_MAX) this.past.shift();
      this.future.length = 0;
      this.newStep = true;
    }
    this.changedAt = now;
  }

  /** @step: a step of its own for undo; else part of a movement. */
  set(change: Partial<Shown>, step = true): void {
    this.remember(step);
    Object.assign(this.shown, change);
    this.clamp();
    this.tell("shown");
  }

  setLook(change: Partial<Look>): void {
    Object.assign(this.look, change);
    this.tell("look");
  }

  /** The pointer's or the keyboard's place: no step for undo. */
  setCursor(cursor: number | null, row?: string | null): void {
    if (cursor !== null) this.shown.cursor = Math.max(0, Math.min(this.length - 1, cursor));
    else this.shown.cursor = null;
    if (row !== undefined) this.shown.row = row;
    this.tell("shown");
  }

  undo(): boolean {
    return this.swap(this.past, this.future);
  }

  redo(): boolean {
    return this.swap(this.future, this.past);
  }

  private swap(from: string[], to: string[]): boolean {
    const text = from.pop();
    if (!text) return false;
    to.push(JSON.stringify(this.shown));
    this.shown = JSON.parse(text) as Shown;
    this.changedAt = Number.NEGATIVE_INFINITY;
    this.newStep = true;
    this.tell("shown");
    return true;
  }

  get span(): number {
    return this.shown.end - this.shown.begin;
  }

  private clamp(): void {
    const s = this.shown;
    const span = Math.max(LEAST_NS, Math.min(this.length, s.end - s.begin));
    const begin = Math.max(0, Math.min(this.length - span, s.begin));
    s.begin = begin;
    s.end = begin + span;
  }

  zoom(factor: number, at: number): void {
    const s = this.shown;
    const span = Math.max(LEAST_NS, Math.min(this.length, this.span * factor));
    const share = (at - s.begin) / this.span;
    this.set({ begin: at - share * span, end: at + (1 - share) * span }, false);
  }

  pan(by: number): void {
    const { begin, end } = this.shown;
    const least = -begin;
    const most = this.length - end;
    const d = Math.max(least, Math.min(most, by));
    this.set({ begin: begin + d, end: end + d }, false);
  }

  show(begin: number, end: number): void {
    this.set({ begin, end });
  }

  /** Brings @t into view, in the middle if it is not there. */
  reveal(t: number, row?: string | null): void {
    const { begin, end } = this.shown;
    const margin = this.span * 0.05;
    this.remember(true);
    if (t < begin + margin || t > end - margin) {
      Object.assign(this.shown, { begin: t - this.span / 2, end: t + this.span / 2 });
      this.clamp();
    }
    this.setCursor(t, row);
  }

  private hash(): string {
    const s = this.shown;
    const p = new URLSearchParams();
    if (s.begin !== this.home[0] || s.end !== this.home[1]) p.set("t", `${Math.round(s.begin)}-${Math.round(s.end)}`);
    if (s.cursor !== null) p.set("c", String(Math.round(s.cursor)));
    if (s.range) p.set("s", s.range.map(Math.round).join("-"));
    if (s.row) p.set("r", s.row);
    if (s.filter) p.set("f", s.filter);
    for (const id of s.hidden) p.append("h", id);
    for (const id of s.pinned) p.append("p", id);
    for (const id of s.toggled) p.append("o", id);
    for (const n of s.notes) p.append("n", `${Math.round(n.t)}~${n.text}`);
    const l = this.look;
    if (l.theme !== "auto") p.set("theme", l.theme);
    if (l.safe) p.set("safe", "1");
    if (l.colourBy !== "state") p.set("by", l.colourBy);
    if (l.rowSize !== 1) p.set("z", String(l.rowSize));
    if (l.time !== "trace") p.set("clock", l.time);
    if (l.panel !== "verdicts") p.set("panel", l.panel);
    if (!l.arrows) p.set("arrows", "0");
    const text = p.toString();
    return text ? `#${text}` : "";
  }

  /** The browser's Back goes back by the steps of undo. */
  write(): void {
    const hash = this.hash();
    const url = hash || location.pathname;
    const step = this.newStep;
    this.newStep = false; // one that was undone before it was written, too
    if (hash === location.hash) return;
    if (step) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
  }

  /** Links are input: whatever does not fit the run is left out. */
  private read(): void {
    const p = new URLSearchParams(location.hash.slice(1));
    const number = (text: string | null) => {
      const n = text === null || text === "" ? Number.NaN : Number(text);
      return Number.isFinite(n) && n >= 0 && n <= this.length ? n : null;
    };
    const pair = (text: string | null): [number, number] | null => {
      const [a, b] = (text ?? "").split("-").map((x) => number(x));
      return a !== null && b !== null && a !== undefined && b !== undefined && a < b ? [a, b] : null;
    };
    const one = <T extends string>(text: string | null, all: readonly T[]): T =>
      all.includes(text as T) ? (text as T) : all[0];
    const window = pair(p.get("t")) ?? this.home;
    this.shown = {
      begin: window[0],
      end: window[1],
      cursor: number(p.get("c")),
      range: pair(p.get("s")),
      row: p.get("r"),
      filter: (p.get("f") ?? "").slice(0, 500),
      hidden: p.getAll("h").slice(0, 1000),
      pinned: p.getAll("p").slice(0, 64),
      toggled: p.getAll("o").slice(0, 1000),
      notes: p.getAll("n").slice(0, 500).flatMap((n) => {
        const [at, ...text] = n.split("~");
        const t = number(at);
        return t === null ? [] : [{ t, text: text.join("~").slice(0, 500) }];
      }),
    };
    this.clamp();
    this.look = {
      theme: one(p.get("theme"), ["auto", "light", "dark"] as const),
      safe: p.get("safe") === "1",
      colourBy: one(p.get("by"), ["state", "machine", "process"] as const),
      rowSize: p.get("z") === "0" ? 0 : p.get("z") === "2" ? 2 : 1,
      time: one(p.get("clock"), ["trace", "relative", "wall"] as const),
      arrows: p.get("arrows") !== "0",
      panel: p.has("panel") ? (p.get("panel") ?? "") : "verdicts",
    };
  }
}
