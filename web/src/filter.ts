// SPDX-License-Identifier: Apache-2.0
// The highlight filter: what it does not match fades under a white band.
//
//   machine:vm-a cpu:vm-a/1 container:web process:1234 thread:burn state:preempted text -text
//
// Terms are joined by "and", values behind one colon, split by commas, by "or"; "-" turns a term
// around; "=" for ":" wants the whole word; text without a colon is looked for everywhere; "..."
// keeps blanks.
import { MODE_NAMES, type Model, THREAD_STATES, VCPU_STATES } from "./model";
import type { Row } from "./rows";

const KEYS = ["machine", "cpu", "container", "process", "thread", "state"] as const;
type Key = (typeof KEYS)[number];
export const FILTER_KEYS: readonly string[] = KEYS;

/** What something is, for a filter: all texts that a term may match. */
interface Facets {
  machine: string[];
  cpu: string[];
  container: string[];
  process: string[];
  thread: string[];
  state: string[];
}

interface Term {
  key: Key | null;
  values: string[];
  not: boolean;
  whole: boolean;
}

function words(text: string): string[] {
  return text.match(/(?:[^\s"]|"[^"]*"?)+/g) ?? [];
}

function parseTerm(word: string): Term | null {
  const not = word.startsWith("-") && word.length > 1;
  const body = not ? word.slice(1) : word;
  const match = /^([a-z]+)([:=])(.*)$/s.exec(body);
  const key = match && KEYS.find((k) => k === match[1] || k.startsWith(match[1]));
  const text = (key ? match[3] : body).replace(/"/g, "").toLowerCase();
  const values = (key ? text.split(",") : [text]).filter(Boolean);
  if (!values.length) return null;
  return { key: key || null, values, not, whole: Boolean(key) && match?.[2] === "=" };
}

export class Filter {
  private readonly terms: Term[];

  constructor(readonly text: string) {
    this.terms = words(text)
      .map(parseTerm)
      .filter((t): t is Term => t !== null);
  }

  get empty(): boolean {
    return !this.terms.length;
  }

  private matches(f: Facets): boolean {
    return this.terms.every((term) => {
      const texts = term.key ? f[term.key] : KEYS.flatMap((k) => f[k]);
      const hit = term.values.some((v) =>
        texts.some((t) => (term.whole ? t.toLowerCase() === v : t.toLowerCase().includes(v))),
      );
      return hit !== term.not;
    });
  }

  context(model: Model, row: number): boolean {
    const c = model.contexts[row];
    if (!c) return false;
    const f = threadFacets(model, c[2], c[0]);
    f.cpu = [`${model.machineName(c[0])}/${c[1]}`];
    f.state = [MODE_NAMES[c[3]], c[5]].filter(Boolean);
    if (c[4] >= 0) f.cpu.push(model.cpuLabel(c[4]));
    return this.matches(f);
  }

  thread(model: Model, row: number): boolean {
    return this.matches(threadFacets(model, row, model.threads[row]?.[0] ?? 0));
  }

  vcpuState(model: Model, row: Row, state: number): boolean {
    const f = threadFacets(model, -1, row.machine);
    f.cpu = [model.cpuLabel(row.cpu)];
    f.state = [VCPU_STATES[state] ?? ""];
    return this.matches(f);
  }

  threadState(model: Model, row: Row, state: number): boolean {
    const f = threadFacets(model, row.thread, row.machine);
    f.state = [THREAD_STATES[state] ?? ""];
    return this.matches(f);
  }

  /** The same filter with a term added, or taken out if it was there. */
  toggled(term: string): string {
    const all = words(this.text);
    const rest = all.filter((w) => w !== term);
    return (rest.length < all.length ? rest : [...all, term]).join(" ");
  }

  has(term: string): boolean {
    return words(this.text).includes(term);
  }
}

function threadFacets(model: Model, row: number, machine: number): Facets {
  const t = model.threads[row];
  const facets: Facets = {
    machine: [model.machineName(machine)],
    cpu: [],
    container: [],
    process: [],
    thread: [],
    state: [],
  };
  if (!t) return facets;
  facets.thread = [model.threadLabel(row), t[3], String(t[1])];
  facets.process = [t[3], String(t[2])];
  facets.container = model.containers(t[4]).map((ns) => model.containerLabel(ns));
  if (t[5] >= 0) facets.cpu.push(model.cpuLabel(t[5]));
  return facets;
}

/** A term that matches exactly that text. */
export function term(key: Key, value: string): string {
  return `${key}=${/[\s,]/.test(value) ? `"${value}"` : value}`;
}
