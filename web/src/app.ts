// SPDX-License-Identifier: Apache-2.0
// Puts the page together: what is shown follows from the run, the data that has come, and the view.
import { type Api, loadAll, type Names, type Runs } from "./api";
import { Arrows } from "./arrows";
import { commands } from "./commands";
import { CritPath } from "./critpath";
import { Data } from "./data";
import { button, fill, h, icon } from "./dom";
import { Exits } from "./exits";
import { Filter, term } from "./filter";
import { Clock, digitsFor } from "./format";
import { help, legend } from "./help";
import { listenKeys, Pointer } from "./input";
import { Labels, rowTerm } from "./labels";
import { Missing } from "./missing";
import { type Model, THREAD_RUNNING } from "./model";
import { Overview } from "./overview";
import { makeTheme, type Theme } from "./palette";
import { Panel } from "./panel";
import { Phases } from "./phases";
import { buildRows, type Row } from "./rows";
import { Search } from "./search";
import type { Whom } from "./table";
import { Timeline } from "./timeline";
import { Tooltip } from "./tooltip";
import { View } from "./view";

const LOAD_BUCKETS = 400;

export class App {
  readonly view: View;
  readonly clock: Clock;
  readonly data: Data;
  readonly timeline: Timeline;
  readonly pointer: Pointer;
  readonly search: Search;
  readonly exits: Exits;
  readonly arrows: Arrows;
  readonly phases: Phases;
  readonly path: CritPath;
  readonly helpBox = h("div", { class: "help", hidden: true });
  theme: Theme;
  filter: Filter;
  private readonly busy = new Map<number, number>();
  private readonly extra = new Set<number>();
  private readonly labels: Labels;
  private readonly overview: Overview;
  private readonly panel: Panel;
  private readonly tooltip: Tooltip;
  private readonly missing: Missing;
  private readonly labelHead = h("div", { class: "label-head" });
  private readonly scroller = h("div", { class: "scroller" });
  private readonly scrolled = h("div");
  private readonly filterInput = h("input", {
    type: "search", placeholder: "Highlight: machine:vm-a state:user -idle …   f",
    "aria-label": "highlight filter", autocomplete: "off", spellcheck: "false",
  });
  private readonly legendBox = h("div", { class: "legend" });
  private readonly span = h("span", { class: "span mono" });
  private readonly status = h("span", { class: "status", role: "status" });
  private readonly darkQuery = window.matchMedia("(prefers-color-scheme: dark)");
  private rowsKey = "";
  private legendDue = false;
  private ready = false;
  private filterText = "";

  constructor(
    readonly model: Model,
    readonly api: Api,
  ) {
    this.view = new View(model.run.length, model.run.traced);
    this.clock = new Clock(model.run);
    this.theme = this.makeTheme();
    this.filter = new Filter(this.view.shown.filter);
    const redraw = () => this.timeline.request();
    this.data = new Data(api, model.run.length, redraw, (e) => this.say(e), {
      wanted: () => !model.loaded,
      learn: (names) => this.learn(names),
      complete: (rows) => this.complete(rows),
    });
    this.timeline = new Timeline(model, this.view, this.data, this.clock, this.theme, this.filter);
    this.exits = new Exits(api, redraw, this.clock, this.settled);
    this.arrows = new Arrows(model, api, this.clock, redraw, () => this.settled() && this.view.look.arrows);
    this.phases = new Phases(model, this.clock);
    this.path = new CritPath(model, this.clock, () => {
      this.rebuild();
      redraw();
    });
    this.timeline.artists = [this.exits, this.phases, this.path, this.arrows];
    this.tooltip = new Tooltip(model, api, this.clock, () => this.theme);
    this.pointer = new Pointer(this.view, this.timeline, this.tooltip, (y) => this.scrollTo(y),
      (id, t) => this.view.setCursor(t, id));
    this.labels = new Labels(model, this.view, this.timeline, {
      toggle: (row) => this.toggle(row),
      pin: (row) => this.pin(row),
      hide: (row) => this.hide(row),
      only: (row) => this.setFilter(this.filter.toggled(rowTerm(model, row))),
      select: (row) => this.view.setCursor(this.view.shown.cursor, row.id),
    });
    this.labels.openOf = (row) => this.isOpen(row.id);
    this.overview = new Overview(model, this.view);
    this.panel = new Panel(model, this.view, api, this.clock, this.path, this.phases, () => this.theme, {
      jump: (t, length, whom) => this.jump(t, length, whom),
      highlight: (word) => this.setFilter(this.filter.toggled(word)),
    });
    this.missing = new Missing(model, () => this.view.setLook({ panel: "history" }));
    this.search = new Search(model, api, {
      toThread: (row) => void this.toThread(row),
      toRow: (id, machine) => this.toRow(id, machine),
      toTime: (t) => this.view.reveal(t),
    });
  }

  /** First names, ruler and tools, which need nothing that is still to come; then the rows. */
  begin(): void {
    this.data.expect(this.api.first());
    fill(document.body, ...this.layOut());
    this.timeline.afterDraw = () => this.afterDraw();
    this.view.listen((what) => this.changed(what));
    listenKeys(commands(this));
    this.scroller.addEventListener("scroll", () => {
      this.timeline.scroll = this.scroller.scrollTop;
      this.timeline.request();
    });
    this.labels.element.addEventListener("wheel", (e) => this.scrollTo(this.timeline.scroll + e.deltaY));
    this.darkQuery.addEventListener("change", () => this.changed("look"));
    new ResizeObserver(() => this.timeline.resized()).observe(this.timeline.canvas);
    window.addEventListener("resize", () => this.drawStrips());
    this.changed("look");
    // Now, not at the next frame: it asks for what the first picture needs.
    this.timeline.resized();
    void this.load();
  }

  /** Whether what is not needed for the first picture may be asked for. */
  private readonly settled = (): boolean => this.ready;

  /** Tables and analyses come by and by: the first picture brings the names that it needs. */
  private async load(): Promise<void> {
    const { run } = this.model;
    await this.data.first;
    try {
      // These wait in one line, in this order: the strip, the verdicts, and then what artists ask for.
      this.api.load(0, run.length, LOAD_BUCKETS).then((load) => {
        this.overview.setLoad(load);
        this.drawStrips();
      }).catch((e: unknown) => this.say(e));
      this.panel.ahead();
      this.missing.load(this.api, ...this.panel.all()).catch((e: unknown) => this.say(e));
      this.ready = true;
      await Promise.all([
        (this.model.fewContexts || this.api.wholeOnly) &&
          loadAll(run.nr_contexts, this.model.contexts, (f) => this.api.contexts(f)),
        loadAll(run.nr_threads, this.model.threads, (f) => this.api.threads(f)),
      ]);
      this.model.allLoaded();
      this.timeline.restyle(this.theme, this.filter);
      this.rowsArrived();
      this.drawLegend();
      this.panel.update();
      await this.phases.load(this.api, run.length);
      this.rowsArrived();
      this.panel.update();
      const busy = await this.api.facts("thread_time", ...this.panel.all(), 2000, "busy");
      const thread = busy.columns.findIndex((c) => c.name === "thread");
      const total = busy.columns.findIndex((c) => c.name === "total");
      for (const row of busy.rows) this.busy.set(Number(row[thread]), Number(row[total]));
      this.rowsArrived();
    } catch (e) {
      this.say(e);
    }
  }

  /** Names of what is to be drawn next; the tables they are of come later. */
  private learn(names: Names): void {
    if (!this.model.learn(names)) return;
    this.timeline.restyle(this.theme, this.filter);
    this.drawLegend();
  }

  private async complete(rows: Map<number, Runs>): Promise<void> {
    const contexts = await this.api.contextsOf(this.model.unknownContexts(rows));
    if (contexts.length) this.learn({ contexts, threads: [] });
  }

  /** Says that there are hidden rows, and shows them again. */
  private drawHidden(): void {
    const n = this.view.shown.hidden.length;
    fill(this.labelHead, n > 0 && h("button", {
      type: "button", class: "hidden-rows", title: "show them again (H)",
      onclick: () => this.view.set({ hidden: [] }),
    }, `${n} hidden ${n === 1 ? "row" : "rows"}`));
  }

  say(e: unknown): void {
    this.status.textContent = e instanceof Error ? e.message : String(e ?? "");
  }

  private layOut(): HTMLElement[] {
    const colourBy = h("select", {
      "aria-label": "colour by", title: "colour by",
      onchange: (e: Event) =>
        this.view.setLook({ colourBy: (e.target as HTMLSelectElement).value as "state" }),
    }, ...["state", "machine", "process"].map((v) =>
      h("option", { value: v, selected: v === this.view.look.colourBy }, `by ${v}`)));
    const top = h("header", { class: "top" },
      h("span", { class: "brand" }, "Sonde"), h("span", { class: "file" }, this.model.run.file),
      this.missing.element, this.search.element, this.span, this.status, h("span", { class: "grow" }), colourBy,
      button("undo (u)", icon("undo"), () => this.view.undo()),
      button("the whole history (0)", icon("fit"), () => this.view.show(0, this.view.length)),
      button("bookmark at the cursor (b)", icon("mark"), () => this.addNote()),
      button("light or dark (t)", icon("sun"), () => this.nextTheme()),
      button("keys and help (?)", icon("help"), () => this.toggleHelp()));
    const filterBar = h("div", { class: "filterbar" }, this.filterInput, this.legendBox);
    this.filterInput.value = this.view.shown.filter;
    this.filterInput.addEventListener("input", () => this.view.set({ filter: this.filterInput.value }, false));
    this.filterInput.addEventListener("keydown", (e) => {
      if (e.key === "Escape" || e.key === "Enter") this.filterInput.blur();
    });
    this.scroller.append(this.scrolled);
    const labelColumn = h("div", { class: "label-column" }, this.labelHead, this.labels.element);
    const stage = h("main", { class: "stage" }, labelColumn, this.timeline.element, this.scroller);
    return [
      h("div", { class: "page" }, top, this.overview.canvas, filterBar, stage, this.splitter(), this.panel.element),
      this.tooltip.element, this.helpBox,
    ];
  }

  /** Between picture and panel: drag makes one larger. */
  private splitter(): HTMLElement {
    const bar = h("div", {
      class: "splitter", role: "separator", tabindex: 0, "aria-label": "size of the panel",
      "aria-orientation": "horizontal", title: "drag, or arrow keys",
    });
    const size = (px: number) => {
      const high = Math.max(60, Math.min(innerHeight - 220, px));
      document.documentElement.style.setProperty("--panel", `${high}px`);
    };
    bar.addEventListener("keydown", (e) => {
      const by = e.key === "ArrowUp" ? 30 : e.key === "ArrowDown" ? -30 : 0;
      if (!by) return;
      e.preventDefault();
      e.stopPropagation();
      size(this.panel.element.clientHeight + by);
    });
    bar.addEventListener("pointerdown", (e) => bar.setPointerCapture(e.pointerId));
    bar.addEventListener("pointermove", (e) => {
      if (!bar.hasPointerCapture(e.pointerId)) return;
      size(innerHeight - e.clientY);
    });
    return bar;
  }

  private makeTheme(): Theme {
    const { theme, safe } = this.view.look;
    return makeTheme(theme === "dark" || (theme === "auto" && this.darkQuery.matches), safe);
  }

  nextTheme(): void {
    this.view.setLook({ theme: this.theme.dark ? "light" : "dark" });
  }

  toggleHelp(): void {
    if (!this.helpBox.firstChild) fill(this.helpBox, help(commands(this), () => this.toggleHelp()));
    this.helpBox.hidden = !this.helpBox.hidden;
  }

  private changed(what: "shown" | "look"): void {
    if (what === "look") {
      this.theme = this.makeTheme();
      this.clock.format = this.clock.formats.includes(this.view.look.time) ? this.view.look.time : "trace";
      document.documentElement.dataset.theme = this.theme.dark ? "dark" : "light";
      this.drawLegend();
    }
    const text = this.view.shown.filter;
    if (what === "look" || text !== this.filterText) {
      this.filterText = text;
      this.filter = new Filter(text);
      if (document.activeElement !== this.filterInput) this.filterInput.value = text;
      this.timeline.restyle(this.theme, this.filter);
      this.drawLegend();
    }
    this.rebuild();
    this.timeline.request();
    this.panel.update();
  }

  /** The tree, when something that shapes it has changed. */
  private rebuild(): void {
    const { hidden, pinned, toggled } = this.view.shown;
    const key = JSON.stringify([hidden, pinned, toggled, this.model.loaded, [...this.extra], this.busy.size,
      this.phases.list.length, this.path.thread]);
    if (key === this.rowsKey) return;
    this.rowsKey = key;
    this.timeline.setRows(buildRows(this.model, {
      open: (id, byDefault) => this.remember(id, byDefault),
      hidden: new Set(hidden), pinned, extra: this.extra, busy: this.busy,
      phases: (machine, what) => this.phases.has(machine, what),
      path: this.path.thread < 0 ? null : this.model.threadLabel(this.path.thread),
    }));
    this.drawHidden();
    this.drawLegend();
  }

  /** Rows that come in above the chosen one do not push it out of view. */
  private rowsArrived(): void {
    const { row } = this.view.shown;
    const seen = row !== null && this.inView(row);
    this.rowsKey = "";
    this.rebuild();
    if (seen) this.scrollToRow(row);
  }

  private readonly defaults = new Map<string, boolean>();

  private remember(id: string, byDefault: boolean): boolean {
    this.defaults.set(id, byDefault);
    return this.isOpen(id);
  }

  private isOpen(id: string): boolean {
    return (this.defaults.get(id) ?? true) !== this.view.shown.toggled.includes(id);
  }

  private afterDraw(): void {
    // Before anything is changed: it asks for its size.
    this.drawStrips();
    this.labels.update(this.theme, this.filter);
    this.scrolled.style.height = `${this.timeline.contentHeight}px`;
    const { begin, end } = this.view.shown;
    // As many digits as tell one pixel from the next.
    const pixel = 10 ** Math.floor(Math.log10(Math.max(1, (end - begin) / Math.max(1, this.timeline.width))));
    const from = this.clock.time(this.clock.roundUp(begin, pixel), digitsFor(pixel));
    this.span.textContent = `from ${from} for ${this.clock.length(end - begin)}`;
    if (this.legendDue) this.makeLegend();
    this.tellOfMatches();
  }

  private tellOfMatches(): void {
    const nothing = this.timeline.matchesNothing;
    if (nothing === (this.filterInput.ariaInvalid === "true")) return;
    this.filterInput.ariaInvalid = String(nothing);
    this.say(nothing ? "nothing that is shown matches the highlight filter" : "");
  }

  private drawStrips(): void {
    this.overview.draw(this.theme);
  }

  /** With the next picture. */
  private drawLegend(): void {
    this.legendDue = true;
    this.timeline.request();
  }

  private makeLegend(): void {
    this.legendDue = false;
    const threads = this.timeline.rows.rows.some((r) => r.kind === "thread") || this.timeline.rows.pinned.some((r) => r.kind === "thread");
    const focus = [...this.legendBox.children].indexOf(document.activeElement as Element);
    fill(this.legendBox, ...legend(this.model, this.theme, this.filter, this.view.look.colourBy, threads,
      (word) => this.setFilter(this.filter.toggled(word))));
    if (focus >= 0) (this.legendBox.children[focus] as HTMLElement | undefined)?.focus();
  }

  scrollTo(y: number): void {
    this.scroller.scrollTop = y;
    this.timeline.scroll = this.scroller.scrollTop;
    this.timeline.request();
  }

  setFilter(text: string): void {
    this.view.set({ filter: text });
  }

  focusFilter(): void {
    this.filterInput.focus();
    this.filterInput.select();
  }

  private flip(list: string[], id: string): string[] {
    return list.includes(id) ? list.filter((x) => x !== id) : [...list, id];
  }

  toggle(row: Row): void {
    this.view.set({ toggled: this.flip(this.view.shown.toggled, row.id) });
  }

  pin(row: Row): void {
    this.view.set({ pinned: this.flip(this.view.shown.pinned, row.id) });
  }

  hide(row: Row): void {
    this.view.set({ hidden: [...this.view.shown.hidden, row.id] });
  }

  get chosenRow(): Row | null {
    const { pinned, rows } = this.timeline.rows;
    return [...pinned, ...rows].find((r) => r.id === this.view.shown.row) ?? null;
  }

  jump(t: number, length: number, whom?: Whom): void {
    const span = Math.max(length * 2.5, Math.min(this.view.span, this.view.length / 50));
    const mid = t + length / 2;
    this.view.set({
      begin: mid - span / 2, end: mid + span / 2, cursor: t,
      range: length > 0 ? [t, Math.min(this.view.length, t + length)] : this.view.shown.range,
    });
    if (!whom || whom.machine < 0) return;
    const { machine, cpu, thread } = whom;
    this.open(typeof this.model.threads[thread]?.[6] === "number" ? `t:${thread}`
      : cpu >= 0 ? `v:${this.model.cpuLabel(cpu)}` : `m:${this.model.machineName(machine)}`, machine);
  }

  toRow(id: string, machine: number): void {
    this.view.set({ row: id });
    this.open(id, machine);
  }

  /** Chooses a machine's row, opens what is closed or hidden above it, and brings it into view; no step for undo. */
  private open(id: string, machine: number): void {
    const { machines } = this.model.run;
    const above: string[] = [];
    for (let m = machine; above.length < machines.length && machines[m]; m = machines[m].parent)
      above.unshift(`m:${machines[m].name}`);
    if (id.startsWith("c:")) above.push(id);
    if (id.startsWith("t:")) {
      above.push(`T:${this.model.machineName(machine)}`);
      this.extra.add(Number(id.slice(2)));
    }
    const hidden = this.view.shown.hidden.filter((x) => x !== id && !above.includes(x));
    this.view.set({ row: id, hidden }, false);
    for (const group of above) {
      this.rebuild(); // how a group is by default is known when those around it are open
      if (!this.isOpen(group)) this.view.set({ toggled: this.flip(this.view.shown.toggled, group) }, false);
    }
    this.rebuild();
    this.scrollToRow(id);
  }

  /** Where a row that is not pinned stands in the list, in pixels from its top; null: nowhere. */
  private place(id: string): { at: number; high: number } | null {
    let at = 2;
    for (const row of this.timeline.rows.rows) {
      const high = this.timeline.heightOf(row) + this.timeline.gap;
      if (row.id === id) return { at, high };
      at += high;
    }
    return null;
  }

  private get roomForRows(): number {
    return this.timeline.canvas.clientHeight - this.timeline.pinnedHeight;
  }

  private inView(id: string): boolean {
    const place = this.place(id);
    const { scroll } = this.timeline;
    return place !== null && place.at >= scroll && place.at + place.high <= scroll + this.roomForRows;
  }

  scrollToRow(id: string): void {
    const place = this.place(id);
    if (!place || this.inView(id)) return;
    const room = this.roomForRows;
    // The list may have grown since it was drawn.
    this.scrolled.style.height = `${Math.max(this.timeline.contentHeight, place.at + room)}px`;
    this.scrollTo(place.at - room / 3);
  }

  /** To the next time the thread runs, from the cursor on; else to its first. */
  async toThread(row: number): Promise<void> {
    const thread = this.model.threads[row];
    if (!thread || thread[6] === null) return;
    const { cursor } = this.view.shown;
    const want = { value: THREAD_RUNNING };
    const t = (await this.api.step(thread[6], cursor ?? 0, false, want)) ??
      (await this.api.step(thread[6], 0, false, want));
    this.openThread(row, t ?? cursor ?? this.view.shown.begin);
  }

  /** The next or last change of the chosen row; @sameTask: of the thread that is at the cursor. */
  async step(back: boolean, sameTask: boolean): Promise<void> {
    const row = this.chosenRow ?? this.timeline.rows.rows.find((r) => r.attr !== null);
    if (!row || row.attr === null) return;
    const from = this.view.shown.cursor ?? this.view.shown.begin;
    const want = sameTask ? await this.taskAt(row, from) : {};
    const t = await this.api.step(row.attr, Math.floor(from), back, want);
    if (t === null) this.say(back ? "nothing before" : "nothing after");
    else {
      this.say("");
      this.view.reveal(t, row.id);
    }
  }

  private async taskAt(row: Row, t: number): Promise<{ thread?: number; value?: number }> {
    if (row.kind === "thread") return { value: THREAD_RUNNING };
    if (row.kind !== "cpu") return {};
    const at = await this.api.at("cpu", row.cpu, Math.floor(t));
    const inner = at.stack?.at(-1)?.thread.row;
    return inner === null || inner === undefined ? {} : { thread: inner };
  }

  moveRow(by: number): void {
    const rows = [...this.timeline.rows.pinned, ...this.timeline.rows.rows];
    const at = rows.findIndex((r) => r.id === this.view.shown.row);
    const next = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
    if (!next) return;
    this.view.setCursor(this.view.shown.cursor, next.id);
    this.scrollToRow(next.id);
  }

  /** Along the arrow that ends at the cursor: to the waker, or to who has the vCPU's CPU. */
  async follow(): Promise<void> {
    const row = this.chosenRow;
    const { cursor } = this.view.shown;
    if (!row || cursor === null || (row.kind !== "thread" && row.kind !== "vcpu")) {
      this.say("choose a place in the row of a thread or of a vCPU's state first");
      return;
    }
    const at = await this.api.at(row.kind, row.kind === "thread" ? row.thread : row.cpu, Math.floor(cursor));
    const to = at.woken?.by.row ?? at.instead?.row ?? null;
    this.say(to === null ? "nothing is known of who did it" : "");
    if (to !== null) this.openThread(to, at.woken?.t ?? cursor);
  }

  private openThread(row: number, t: number): void {
    const thread = this.model.threads[row];
    if (!thread || thread[6] === null) return;
    this.view.reveal(t, `t:${row}`);
    this.open(`t:${row}`, thread[0]);
  }

  /** The bookmark after or before the cursor. */
  toNote(by: number): void {
    const { notes, cursor, begin, end } = this.view.shown;
    const from = cursor ?? (begin + end) / 2;
    const ahead = notes.filter((n) => (by > 0 ? n.t > from : n.t < from));
    const note = by > 0 ? ahead[0] : ahead[ahead.length - 1];
    if (note) this.view.reveal(note.t);
    else this.say("no bookmark there");
  }

  addNote(): void {
    const { cursor, begin, end, notes } = this.view.shown;
    const t = Math.round(cursor ?? (begin + end) / 2);
    this.view.set({ notes: [...notes, { t, text: "" }].sort((a, b) => a.t - b.t) });
    this.view.setLook({ panel: "notes" });
  }

  /** Highlights what runs at the cursor in the chosen row. */
  async highlightTask(): Promise<void> {
    const row = this.chosenRow;
    const { cursor } = this.view.shown;
    if (!row || cursor === null) return;
    const want = row.kind === "cpu" ? await this.taskAt(row, cursor) : { thread: row.thread };
    const thread = want.thread === undefined ? undefined : this.model.threads[want.thread];
    if (!thread) return;
    const label = thread[1] < 0 ? thread[3] : `${thread[3]}[${thread[1]}]`;
    this.setFilter(this.filter.toggled(term("thread", label)));
  }
}
