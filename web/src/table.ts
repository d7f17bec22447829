// SPDX-License-Identifier: Apache-2.0
// Facts as a table: every time is a way to its place, every machine and thread a way to look at it.
import type { Column, Facts } from "./api";
import { h } from "./dom";
import { term } from "./filter";
import { type Clock, count, ppm, sentence } from "./format";
import { MODE_NAMES, type Model } from "./model";

/** Whom a sentence is about: rows of the model's tables, -1 none. */
export interface Whom {
  machine: number;
  cpu: number;
  thread: number;
}

export interface TableActions {
  jump(t: number, length: number, whom?: Whom): void;
  highlight(word: string): void;
}

const LONG = 40; // letters that are too many for one line of a cell
const VERDICTS_SHOWN = 8;
const RIGHT = new Set(["int", "signed", "ns", "ppm", "time"]);

export class FactTable {
  constructor(
    private readonly model: Model,
    private readonly clock: Clock,
    private readonly actions: TableActions,
  ) {}

  private word(type: string, row: number): string {
    if (row < 0) return "";
    if (type === "machine") return term("machine", this.model.machineName(row));
    if (type === "cpu") return term("cpu", this.model.cpuLabel(row));
    if (type === "thread") return term("thread", this.model.threadLabel(row).replace(/=.*$/, ""));
    if (type === "pid_ns" && this.model.isContainer(row)) return term("container", this.model.containerLabel(row));
    return "";
  }

  text(type: string, cell: number | string): string {
    if (typeof cell === "string") return sentence(cell);
    switch (type) {
      case "ns":
        return cell < 0 ? "" : this.clock.length(cell);
      case "time":
        return this.clock.time(cell);
      case "ppm":
        return ppm(cell);
      case "bool":
        return cell ? "yes" : "no";
      case "machine":
        return cell < 0 ? "" : this.model.machineName(cell);
      case "cpu":
        return cell < 0 ? "" : this.model.cpuLabel(cell);
      case "thread":
        return cell < 0 ? "" : this.model.threadLabel(cell);
      case "pid_ns":
        return cell < 0 ? "" : this.model.containerLabel(cell);
      case "mode":
        return MODE_NAMES[cell] ?? "";
      case "int":
        return cell < 0 ? "" : count(cell);
      default:
        return count(cell);
    }
  }

  private cell(column: Column, value: number | string, length: number): HTMLElement {
    const text = this.text(column.type, value);
    const long = typeof value === "string" && value.length > LONG;
    const td = h("td", { class: RIGHT.has(column.type) ? "number" : long ? "text" : "" });
    const word = typeof value === "number" ? this.word(column.type, value) : "";
    if (column.type === "time" && typeof value === "number")
      td.append(h("button", {
        type: "button", class: "link", title: "show this moment",
        onclick: () => this.actions.jump(value, length),
      }, text));
    else if (word && text)
      td.append(h("button", {
        type: "button", class: "link", title: "highlight", onclick: () => this.actions.highlight(word),
      }, text));
    else if (column.type === "ppm" && typeof value === "number") {
      const bar = h("span", { class: "bar" });
      bar.style.width = `${Math.min(100, value / 10000)}%`;
      td.append(bar, h("span", { class: "over" }, text));
    } else td.append(text);
    return td;
  }

  /** Verdicts: what each costs, the sentence, and the way to its worst stretch and whom it is about. */
  sentences(facts: Facts): HTMLElement {
    const at = (name: string) => facts.columns.findIndex((c) => c.name === name);
    const [why, cost, share, from, to] = ["text", "cost", "share", "begin", "end"].map(at);
    if (why < 0 || cost < 0) return this.element(facts);
    const [machineAt, cpuAt, threadAt] = ["machine", "vcpu", "thread"].map(at);
    const rowAt = (row: (number | string)[], i: number) => (i < 0 ? -1 : Number(row[i]));
    const item = (row: (number | string)[]) => {
      const bar = h("span", { class: "bar" });
      bar.style.width = `${share < 0 ? 0 : Math.min(100, Number(row[share]) / 10000)}%`;
      const begin = Number(row[from]);
      const whom = { machine: rowAt(row, machineAt), cpu: rowAt(row, cpuAt), thread: rowAt(row, threadAt) };
      const show = () => this.actions.jump(begin, Number(row[to]) - begin, whom);
      return h("li", {},
        h("span", { class: "cost" }, bar, h("span", { class: "over" }, this.text("ns", row[cost]))),
        from < 0 || to < 0 ? h("span", {}, this.text("text", row[why]))
          : h("button", { type: "button", class: "link", title: "show the worst case", onclick: show },
            this.text("text", row[why])));
    };
    // The costliest; what stands below the list is not to be far away.
    const list = h("ol", {}, ...facts.rows.slice(0, VERDICTS_SHOWN).map(item));
    const rest = facts.rows.slice(VERDICTS_SHOWN);
    const more = rest.length > 0 && h("button", {
      type: "button", class: "link more", onclick: (e: Event) => {
        list.append(...rest.map(item));
        (e.target as HTMLElement).remove();
      },
    }, `${count(rest.length)} more that cost less`);
    return h("div", { class: "facts verdicts" },
      h("h3", { title: facts.help }, "What cost the most"),
      facts.rows.length ? list : h("p", { class: "quiet" }, "nothing worth a word was found"),
      more);
  }

  /** Columns that say nothing in any row are left out; so is what stands in @drop. */
  element(facts: Facts, max = 200, drop: readonly string[] = []): HTMLElement {
    const used = facts.columns
      .map((column, i) => ({ column, i }))
      .filter(({ column, i }) =>
        !drop.includes(column.name) &&
        facts.rows.some((r) => r[i] !== 0 && r[i] !== -1 && r[i] !== "" &&
          (column.type !== "pid_ns" || this.model.isContainer(Number(r[i])))));
    const lengthAt = facts.columns.findIndex((c) => c.type === "ns");
    const head = h("tr", {}, ...used.map(({ column }) =>
      h("th", { title: column.help, class: RIGHT.has(column.type) ? "number" : "" },
        column.title.toLowerCase())));
    const body = facts.rows.slice(0, max).map((row) => {
      const length = lengthAt < 0 ? 0 : Number(row[lengthAt]);
      return h("tr", {}, ...used.map(({ column, i }) => this.cell(column, row[i], length)));
    });
    const more = facts.total - Math.min(max, facts.rows.length);
    return h("div", { class: "facts" },
      h("h3", { title: facts.help }, facts.title),
      facts.rows.length
        ? h("table", {}, h("thead", {}, head), h("tbody", {}, ...body))
        : h("p", { class: "quiet" }, "nothing in this window"),
      more > 0 ? h("p", { class: "quiet" }, `${count(more)} more rows`) : null);
  }
}
