// SPDX-License-Identifier: Apache-2.0
// Below the picture: verdicts, statistics of the range, events at the cursor, every analysis,
// bookmarks, and what is to be known of the run itself.
import { type Api, ApiError, type EventLine, type Facts } from "./api";
import type { CritPath } from "./critpath";
import { button, fill, h } from "./dom";
import { type Clock, count } from "./format";
import type { Model } from "./model";
import type { Theme } from "./palette";
import type { Phases } from "./phases";
import { FactTable, type TableActions } from "./table";
import type { View } from "./view";

const TABS = [
  ["verdicts", "Verdicts"],
  ["range", "Statistics"],
  ["events", "Events"],
  ["path", "Critical path"],
  ["stages", "Start and end"],
  ["tables", "Tables"],
  ["notes", "Bookmarks"],
  ["history", "History"],
] as const;

const LEFT_OUT_NAMED = 5;
const RANGE_FACTS = ["machine_time", "process_time", "vcpu_time", "container_time", "wait", "hypervisor", "exits"];
const SETTLE_MS = 250;
const TOO_MANY = "; there are too many others to look further";

export class Panel {
  readonly body = h("div", { class: "panel-body" });
  private readonly tabs = h("div", { class: "tabs", role: "tablist" });
  readonly element = h("section", { class: "panel", "aria-label": "details" }, this.tabs, this.body);
  private readonly table: FactTable;
  private shownKey = "";
  private timer = 0;
  private analysis = "";

  constructor(
    private readonly model: Model,
    private readonly view: View,
    private readonly api: Api,
    private readonly clock: Clock,
    private readonly critical: CritPath,
    private readonly phases: Phases,
    private readonly theme: () => Theme,
    private readonly actions: TableActions,
  ) {
    this.table = new FactTable(model, clock, actions);
    this.analysis = model.run.tables[0]?.name ?? "";
    fill(this.tabs, ...TABS.map(([name, title]) =>
      h("button", {
        type: "button", role: "tab", class: "tab", "data-tab": name,
        onclick: () => view.setLook({ panel: name === view.look.panel ? "" : name }),
      }, title)));
  }

  private verdictsAsked: Promise<Facts> | null = null;

  /** The page begins with its verdicts, and who asks late waits behind everything else that takes long. */
  ahead(): void {
    if (this.view.look.panel !== "verdicts" || !this.has("why")) return;
    this.verdictsAsked = this.why();
    this.verdictsAsked.catch(() => undefined); // said when they are to be shown
  }

  private why(): Promise<Facts> {
    return this.facts_("why", ...this.all(), 200);
  }

  /** What analyses are of unless a range is chosen; one file carries those of all that it has. */
  all(): readonly [number, number] {
    return this.api.wholeOnly ? [0, this.view.length] : this.model.run.traced;
  }

  private has(name: string): boolean {
    return this.model.run.tables.some((a) => a.name === name);
  }

  /** What is counted: the chosen range, else what is shown. */
  private window(): { begin: number; end: number; what: string } {
    const { range, begin, end } = this.view.shown;
    if (this.api.wholeOnly) return { begin: 0, end: this.view.length, what: "all that this report has" };
    if (range) return { begin: Math.floor(range[0]), end: Math.ceil(range[1]), what: "the chosen range" };
    const [from, to] = this.model.run.traced;
    const what = begin <= 0 && end >= this.view.length ? "the whole history"
      : begin === from && end === to ? `where ${this.model.machineName(0)} was traced` : "what is shown";
    return { begin: Math.floor(begin), end: Math.ceil(end), what };
  }

  /** Follows the view, once it has come to rest. */
  update(): void {
    const open = this.view.look.panel;
    for (const tab of this.tabs.children) {
      const on = (tab as HTMLElement).dataset.tab === open;
      tab.classList.toggle("on", on);
      tab.setAttribute("aria-selected", String(on));
    }
    this.element.classList.toggle("closed", !open);
    if (open !== "path") this.critical.clear();
    if (!open || !this.model.loaded) return;
    const w = this.window();
    const key = [
      open,
      open === "range" || open === "tables" ? `${w.begin}-${w.end}-${this.analysis}` : "",
      open === "path" ? `${w.begin}-${w.end}-${this.view.shown.row}-${this.view.shown.cursor}` : "",
      open === "events" ? `${this.view.shown.cursor} ${this.eventsMachine} ${this.eventsNamed}` : "",
      open === "stages" ? `${this.phases.list.length} ${this.theme().dark}` : "",
      open === "notes" ? JSON.stringify(this.view.shown.notes) : "",
      this.clock.format, this.model.loaded,
    ].join("|");
    if (key === this.shownKey) return;
    const sameTab = this.shownKey.split("|", 1)[0] === open;
    this.shownKey = key;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.show(open, key), sameTab ? SETTLE_MS : 0);
  }

  private async show(tab: string, key: string): Promise<void> {
    const put = (...children: HTMLElement[]) => {
      if (key === this.shownKey) {
        const at = this.body.scrollTop;
        fill(this.body, ...children);
        this.body.scrollTop = at;
      }
    };
    try {
      if (tab === "verdicts") await this.verdicts(put);
      else if (tab === "range") await this.range(put);
      else if (tab === "events") await this.events(put);
      else if (tab === "path") await this.path(put);
      else if (tab === "stages") put(...this.phases.chart(this.theme(), (t, n) => this.actions.jump(t, n)));
      else if (tab === "tables") await this.facts(put);
      else if (tab === "notes") put(this.notes());
      else put(...this.run());
    } catch (e) {
      if (e instanceof ApiError && e.status === 409) return;
      put(h("p", { class: "warn" }, e instanceof Error ? e.message : String(e)));
    }
  }

  private facts_(name: string, begin: number, end: number, max: number): Promise<Facts> {
    return this.api.facts(name, begin, end, max, `panel-${name}`);
  }

  private async verdicts(put: (...e: HTMLElement[]) => void): Promise<void> {
    const all = this.all();
    const out: HTMLElement[] = [];
    const gaps = this.model.run.nr_gaps;
    if (gaps)
      out.push(h("p", { class: "warn" },
        `Events are missing in ${count(gaps)} ${gaps === 1 ? "place" : "places"}: what is shown there is not all that happened. The tab History lists them.`));
    const leftOut = this.model.run.nr_left_out;
    if (leftOut) {
      const names = this.model.run.left_out.slice(0, LEFT_OUT_NAMED).map((l) => l.name || l.path).join(", ");
      out.push(h("p", { class: "warn" }, `${count(leftOut)} ${leftOut === 1 ? "trace is" : "traces are"} left out: ${names}` +
        `${leftOut > LEFT_OUT_NAMED ? ", …" : "."} The tab Run says why.`));
    }
    if (!this.model.run.complete)
      out.push(h("p", { class: "warn" }, "The file is not complete: the history is shown as far as it goes."));
    const whole = all[1] - all[0] >= this.view.length;
    out.push(h("p", { class: "quiet" }, whole ? `Shares are of ${this.clock.length(this.view.length)}.`
      : `Shares are of the ${this.clock.length(all[1] - all[0])} in which ${this.model.machineName(0)} was traced; ` +
        `the history has ${this.clock.length(this.view.length)}.`));
    if (!this.body.childElementCount) put(h("p", { class: "quiet" }, "looking through the history…"));
    if (this.has("why")) {
      const asked = this.verdictsAsked ?? this.why();
      this.verdictsAsked = null;
      const why = await asked;
      out.push(this.table.sentences(why));
      put(...out);
    }
    const lost = await this.facts_("preemption", ...all, 60);
    out.push(this.table.element(lost, 14));
    put(...out);
    const hv = await this.facts_("hypervisor", ...all, 60);
    out.push(this.table.element(hv));
    put(...out);
  }

  private async range(put: (...e: HTMLElement[]) => void): Promise<void> {
    const { begin, end, what } = this.window();
    const out: HTMLElement[] = [h("p", { class: "quiet" }, `${this.clock.length(end - begin)}: ${what}, from ${this.clock.time(begin)}`)];
    for (const name of RANGE_FACTS) {
      if (!this.has(name)) continue;
      out.push(this.table.element(await this.facts_(name, begin, end, 100), 25));
      put(...out);
    }
  }

  private async facts(put: (...e: HTMLElement[]) => void): Promise<void> {
    const select = h("select", {
      "aria-label": "table",
      onchange: (e: Event) => {
        this.analysis = (e.target as HTMLSelectElement).value;
        this.update();
      },
    }, ...this.model.run.tables.map((a) =>
      h("option", { value: a.name, selected: a.name === this.analysis }, a.title)));
    const { begin, end, what } = this.window();
    const bar = h("p", {}, select, h("span", { class: "quiet" }, ` in ${what}`));
    put(bar, h("p", { class: "quiet" }, "…"));
    const facts = await this.facts_(this.analysis, begin, end, 1000);
    put(bar, this.table.element(facts, 1000));
  }

  /** The thread that is meant: the chosen row's, or what runs there at the cursor. */
  private async chosenThread(): Promise<number> {
    const { row, cursor } = this.view.shown;
    if (row?.startsWith("t:")) return Number(row.slice(2));
    const kind = row?.[0];
    const number = Number(row?.split("/").pop());
    if (cursor === null || !row) return -1;
    const { cpus } = this.model.run;
    if (kind === "k" || kind === "v") {
      const at = cpus.findIndex((c, i) => c.state !== null && row.slice(2) === this.model.cpuLabel(i));
      return at < 0 ? -1 : (await this.api.at("vcpu", at, Math.floor(cursor))).task?.row ?? -1;
    }
    const physical = cpus.findIndex((c) => c.machine === 0 && c.number === number);
    if (physical < 0) return -1;
    const { stack } = await this.api.at("cpu", physical, Math.floor(cursor));
    return stack?.length ? stack[stack.length - 1].thread.row ?? -1 : -1;
  }

  private async path(put: (...e: HTMLElement[]) => void): Promise<void> {
    const { begin, end, what } = this.window();
    const thread = await this.chosenThread();
    if (thread < 0) {
      this.critical.clear();
      put(h("p", { class: "quiet" },
        "Choose a thread (a row, or a place where it runs): what it waited for is followed back through wake-ups, interrupts, vCPUs and hosts."));
      return;
    }
    const name = this.model.threadLabel(thread);
    put(h("p", { class: "quiet" }, `following ${name} back…`));
    const facts = await this.api.path(thread, begin, end);
    if (this.view.look.panel === "path") this.critical.set(thread, facts);
    put(h("p", { class: "quiet" }, `${name} in ${what}; the steps add up to ${this.clock.length(end - begin)}`),
      this.table.element(facts, 500));
  }

  private eventsMachine = -1;
  private eventsNamed = "";

  /** Of all machines or of one, all events or those of a name. */
  private eventsBar(): HTMLElement {
    const { machines } = this.model.run;
    const select = h("select", {
      "aria-label": "of machine",
      onchange: (e: Event) => {
        this.eventsMachine = Number((e.target as HTMLSelectElement).value);
        this.update();
      },
    }, ...[-1, ...machines.keys()].filter((m) => m < 0 || machines[m].traced).map((m) =>
      h("option", { value: m, selected: m === this.eventsMachine }, m < 0 ? "all machines" : machines[m].name)));
    const named = h("input", {
      type: "search", placeholder: "name has …", "aria-label": "event's name", value: this.eventsNamed,
      onchange: (e: Event) => {
        this.eventsNamed = (e.target as HTMLInputElement).value.trim();
        this.update();
      },
    });
    return h("p", {}, select, " ", named);
  }

  private async events(put: (...e: HTMLElement[]) => void): Promise<void> {
    const { cursor } = this.view.shown;
    if (cursor === null) {
      put(h("p", { class: "quiet" }, "Click a place in the picture: the events around it are read from the traces."));
      return;
    }
    const bar = this.eventsBar();
    if (!this.body.querySelector(".events")) put(bar, h("p", { class: "quiet" }, "reading the traces…"));
    const { events, from, to, gave_up } = await this.api.events(Math.round(cursor), 300, {
      machine: this.eventsMachine < 0 ? undefined : this.eventsMachine, named: this.eventsNamed || undefined,
    });
    if (!events.length) {
      const looked = `No such event in ${this.clock.length(to - from)} around the cursor`;
      put(bar, h("p", { class: "quiet events" }, `${looked}${gave_up ? TOO_MANY : ""}.`));
      return;
    }
    if (gave_up) bar.append(h("span", { class: "warn" }, `${this.clock.length(to - from)} around the cursor${TOO_MANY}`));
    const row = (e: EventLine) =>
      h("tr", { class: e[0] < cursor ? "past" : "" },
        h("td", { class: "number" }, h("button", {
          type: "button", class: "link", onclick: () => this.actions.jump(e[0], 0),
        }, this.clock.time(e[0]))),
        h("td", { class: "number quiet" }, (e[0] < cursor ? "−" : "+") + this.clock.length(Math.abs(e[0] - cursor))),
        h("td", {}, this.model.machineName(e[1])),
        h("td", { class: "number" }, e[2] < 0 ? "" : String(e[2])),
        h("td", { class: "number" }, e[3] < 0 ? "" : String(e[3])),
        h("td", {}, h("b", {}, e[4])),
        h("td", { class: "fields" }, e[5]));
    const body = h("tbody", {}, ...events.map(row));
    const after = events.findIndex((e) => e[0] >= cursor);
    if (after >= 0) body.children[after].classList.add("now");
    const titles = ["at", "from cursor", "machine", "cpu", "tid", "event", "fields"];
    put(bar, h("div", { class: "facts events" }, h("table", {},
      h("thead", {}, h("tr", {}, ...titles.map((t, i) => h("th", { class: [0, 1, 3, 4].includes(i) ? "number" : "" }, t)))),
      body)));
    const now = (body.querySelector(".now") ?? body.lastElementChild) as HTMLElement | null;
    if (now) this.scrollToMiddle(now, [...body.children], bar);
    this.body.scrollLeft = 0;
  }

  /** As near to the middle as whole lines allow: the uppermost, below the bar, is not cut. */
  private scrollToMiddle(line: HTMLElement, lines: Element[], bar: HTMLElement): void {
    const { body } = this;
    const top = (e: Element) => e.getBoundingClientRect().top;
    body.scrollTop += top(line) - top(body) - body.clientHeight / 2;
    const edge = bar.getBoundingClientRect().bottom;
    const first = lines.find((e) => top(e) >= edge);
    if (first && body.scrollTop) body.scrollTop += top(first) - edge;
  }

  private notes(): HTMLElement {
    const { notes } = this.view.shown;
    if (!notes.length)
      return h("p", { class: "quiet" }, "No bookmarks. Put the cursor somewhere and press b. They are kept in the URL.");
    const change = (i: number, text: string | null) =>
      this.view.set({
        notes: notes.flatMap((n, k) => (k !== i ? [n] : text === null ? [] : [{ ...n, text }])),
      });
    return h("table", { class: "notes" }, h("tbody", {}, ...notes.map((n, i) =>
      h("tr", {},
        h("td", { class: "number" }, h("button", {
          type: "button", class: "link", onclick: () => this.actions.jump(n.t, 0),
        }, this.clock.time(n.t))),
        h("td", { class: "wide" }, h("input", {
          value: n.text, placeholder: "note", "aria-label": "note",
          onchange: (e: Event) => change(i, (e.target as HTMLInputElement).value),
        })),
        h("td", {}, button("remove", "×", () => change(i, null)))))));
  }

  private run(): HTMLElement[] {
    const { run } = this.model;
    const machines = run.machines.map((m, i) =>
      h("tr", {},
        h("td", {}, m.name), h("td", { class: "number" }, `L${m.level}`),
        h("td", {}, m.parent < 0 ? "" : this.model.machineName(m.parent)),
        h("td", {}, m.traced ? m.tracer : "no trace of its own"), h("td", {}, m.release),
        h("td", { class: "number" }, i === 0 ? "" : this.worstBound(i)),
        h("td", { class: "fields" }, m.evidence)));
    const titles = ["machine", "level", "in", "tracer", "kernel", "clock ±, worst", "how it was found"];
    const out: HTMLElement[] = [
      h("p", { class: "quiet" },
        `${run.file}: ${this.clock.length(run.length)}, ${count(run.machines.length)} machines, ` +
        `${count(run.nr_threads)} threads; sonde ${run.version}`),
      h("div", { class: "facts" }, h("h3", {}, "Machines"), h("table", {},
        h("thead", {}, h("tr", {}, ...titles.map((t) => h("th", {}, t)))), h("tbody", {}, ...machines))),
    ];
    if (run.gaps.length) out.push(this.gaps());
    if (run.left_out.length)
      out.push(h("div", { class: "facts" }, h("h3", {}, "Traces left out"), h("table", {},
        h("thead", {}, h("tr", {}, ...["name", "trace", "reason"].map((t) => h("th", {}, t)))),
        h("tbody", {}, ...run.left_out.map((l) =>
          h("tr", {}, h("td", {}, l.name), h("td", {}, l.path), h("td", { class: "fields" }, l.reason)))))));
    if (run.problems.length)
      out.push(h("div", { class: "facts" }, h("h3", {}, "What was wrong with the input"),
        h("ul", {}, ...run.problems.map((p) =>
          h("li", {}, `${p.machine >= 0 ? `${this.model.machineName(p.machine)}: ` : ""}${p.text}` +
            (p.count > 1 ? ` (${count(p.count)} times)` : ""))))));
    return out;
  }

  private worstBound(machine: number): string {
    const bounds = this.model.run.clocks.filter((c) => c[0] === machine).map((c) => c[3]);
    if (!bounds.length) return "";
    return bounds.some((b) => b < 0) ? "unknown" : this.clock.length(Math.max(...bounds));
  }

  private gaps(): HTMLElement {
    const rows = this.model.run.gaps.slice(0, 100).map(([m, cpu, begin, end, events]) =>
      h("tr", {},
        h("td", { class: "number" }, h("button", {
          type: "button", class: "link", onclick: () => this.actions.jump(begin, end - begin),
        }, this.clock.time(begin))),
        h("td", { class: "number" }, end > begin ? this.clock.length(end - begin) : "unknown"),
        h("td", {}, this.model.machineName(m)),
        h("td", { class: "number" }, cpu < 0 ? "all" : String(cpu)),
        h("td", { class: "number" }, events < 0 ? "not counted" : count(events))));
    return h("div", { class: "facts" }, h("h3", {}, "Gaps"), h("table", {},
      h("thead", {}, h("tr", {}, ...["at", "for", "machine", "cpu", "events"].map((t) => h("th", {}, t)))),
      h("tbody", {}, ...rows)));
  }
}
