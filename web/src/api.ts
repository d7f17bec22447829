// SPDX-License-Identifier: Apache-2.0
// Questions to the server; docs/serve.md has them all.  Paths are relative: the key is in the URL.
import type { Context, RunModel, Thread } from "./model";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    text: string,
  ) {
    super(text);
  }
}

export type Params = Record<string, string | number | undefined>;

/** Where answers come from: the server, or what a self-contained report carries. */
export interface Source {
  /** Only the whole history is known to analyses. */
  wholeOnly: boolean;
  json<T>(name: string, params: Params): Promise<T>;
  /** The first picture, which was asked for with the page; null: it is to be asked for. */
  first(): First | null;
  rows(begin: number, end: number, px: number, attrs: number[], names: boolean): Promise<RowsAnswer>;
}

/** What values in rows stand for, for a page that has not loaded the tables yet: row, then cells. */
export interface Names {
  contexts: [number, ...Context][];
  threads: [number, ...Thread][];
}

/** The whole run, of the first rows. */
export interface First {
  end: number;
  px: number;
  answer: Promise<RowsAnswer>;
}

export interface RowsAnswer {
  rows: Map<number, Runs>;
  names: Names | null;
}

function get(name: string, params: Params): Promise<Response> {
  const query = Object.entries(params)
    .filter(([, v]) => v !== undefined)
    .map(([k, v]) => `${k}=${encodeURIComponent(String(v))}`)
    .join("&");
  return getAt(`api/${name}${query && "?" + query}`);
}

async function getAt(url: string): Promise<Response> {
  const response = await fetch(url);
  if (response.ok) return response;
  let text = response.statusText;
  try {
    text = ((await response.json()) as { error?: string }).error ?? text;
  } catch {
    // An answer without JSON has only its status to tell.
  }
  throw new ApiError(response.status, text);
}

/** The model that came with the page; asked for when there is none. */
function modelInside(): unknown {
  const inside = document.getElementById("sonde-model");
  return inside ? JSON.parse(inside.textContent ?? "") : null;
}

/** The browser asks what the page's head names at once: here its answer is taken. */
function firstInside(): First | null {
  const link = document.getElementById("sonde-first") as HTMLLinkElement | null;
  if (!link) return null;
  const asked = new URL(link.href).searchParams;
  const attrs = (asked.get("attrs") ?? "").split(",").map(Number);
  const answer = getAt(link.href).then(async (r) => decodeRows(await r.arrayBuffer(), attrs, true));
  return { end: Number(asked.get("end")), px: Number(asked.get("px")), answer };
}

export const server: Source = {
  wholeOnly: false,
  async json<T>(name: string, params: Params) {
    const inside = name === "model" ? modelInside() : null;
    if (inside) return inside as T;
    return (await (await get(name, params)).json()) as T;
  },
  first: firstInside,
  async rows(begin: number, end: number, px: number, attrs: number[], names: boolean) {
    const params = { begin, end, px, attrs: attrs.join(","), names: names ? 1 : undefined };
    return decodeRows(await (await get("rows", params)).arrayBuffer(), attrs, names);
  },
};

// One row of a window: run i covers pixels first[i] .. first[i] + nr[i] - 1.
export interface Runs {
  value: Uint32Array;
  first: Uint16Array;
  nr: Uint16Array;
  share: Uint8Array;
}

export interface StackFrame {
  machine: number;
  cpu: number | null;
  thread: { row: number | null; label: string };
  containers: { row: number; label: string }[];
}

export interface At {
  begin: number;
  end: number;
  mode?: number;
  detail?: string;
  serves?: number | null;
  bound_ns?: number | null;
  stack?: StackFrame[];
  state?: number;
  host_thread?: { row: number | null; label: string };
  on?: number;
  cpu?: number;
  task?: { row: number | null; label: string };
  thread?: { row: number | null; label: string };
  instead?: { row: number | null; label: string };
  instead_machine?: number | null;
  why_off?: string;
  woken?: {
    t: number;
    by: { row: number | null; label: string };
    machine: number;
    cpu: number;
    mode: number;
    detail: string;
  };
  wake?: { cause: string; irq: string; from: number | null; evidence: string };
  containers?: { row: number; label: string }[];
}

export interface Column {
  name: string;
  title: string;
  type: string;
  help: string;
}

export interface Facts {
  name: string;
  title: string;
  help: string;
  columns: Column[];
  total: number;
  rows: (number | string)[][];
}

export interface Exits {
  begin?: number;
  end?: number;
  /** about: estimated from the first part of each bucket. */
  vcpus: { cpu: number; about: boolean; counts: number[] }[];
}

export interface Load {
  cpus: number;
  buckets: number;
  parts: { machine: number; mode: number; time: number[] }[];
}

/** wakes: [t, thread, waker's thread, its machine, its CPU, its mode, when the thread ran];
 * preemptions: [t, length, vCPU, victim, CPU, machine and thread that had it longest, how long] */
export interface Arrows {
  wakes: [number, number, number, number, number, number, number | null][];
  wakes_more: boolean;
  preemptions: [number, number, number, number, number, number, number, number][];
  preemptions_more: boolean;
}

/** [t, machine, cpu, tid, name, fields] */
export type EventLine = [number, number, number, number, string, string];

/** All that was asked for between from and to, if no more than fit; gave_up: it was not looked further. */
export interface Events {
  events: EventLine[];
  from: number;
  to: number;
  gave_up: boolean;
}

const CHUNK = 16384;
const LIST = 1024; // rows named one by one in a question: its length is limited
const ARROWS_MAX = 1500;

export class Api {
  constructor(private readonly source: Source) {}

  get wholeOnly(): boolean {
    return this.source.wholeOnly;
  }

  model(): Promise<RunModel> {
    return this.source.json("model", {});
  }

  contexts(first: number): Promise<Context[]> {
    return this.source.json("contexts", { first, nr: CHUNK });
  }

  /** Those, each behind its row. */
  async contextsOf(rows: number[]): Promise<Names["contexts"]> {
    const parts: number[][] = [];
    for (let i = 0; i < rows.length; i += LIST) parts.push(rows.slice(i, i + LIST));
    const told = await Promise.all(
      parts.map((part) => this.source.json<Context[]>("contexts", { rows: part.join(",") })));
    return told.flatMap((list, i) => list.map((c, k): [number, ...Context] => [parts[i][k], ...c]));
  }

  first(): First | null {
    return this.source.first();
  }

  threads(first: number): Promise<Thread[]> {
    return this.source.json("threads", { first, nr: CHUNK });
  }

  rows(begin: number, end: number, px: number, attrs: number[], names = false): Promise<RowsAnswer> {
    return this.source.rows(begin, end, px, attrs, names);
  }

  at(kind: string, row: number, t: number): Promise<At> {
    return this.source.json("at", { kind, row, t });
  }

  async step(attr: number, t: number, back: boolean, want: Params = {}): Promise<number | null> {
    const params = { attr, t, back: back ? 1 : 0, ...want };
    return (await this.source.json<{ t: number | null }>("step", params)).t;
  }

  async time(text: string): Promise<number> {
    return (await this.source.json<{ t: number }>("time", { text })).t;
  }

  load(begin: number, end: number, nr: number): Promise<Load> {
    return this.source.json("load", { begin, end, nr, slot: `load${begin === 0 ? "" : "-part"}` });
  }

  facts(name: string, begin: number, end: number, max: number, slot?: string): Promise<Facts> {
    return this.source.json("table", { name, begin, end, max, slot });
  }

  path(thread: number, begin: number, end: number): Promise<Facts> {
    return this.source.json("path", { thread, begin, end, max: 500, slot: "path" });
  }

  /** @begin and @end in the answer, if there: what was counted instead. */
  exits(begin: number, end: number, nr: number): Promise<Exits> {
    return this.source.json("exits", { begin, end, nr, slot: "exits" });
  }

  arrows(begin: number, end: number, threads: number[], cpus: number[]): Promise<Arrows> {
    const rows = { threads: threads.join(","), cpus: cpus.join(",") };
    return this.source.json("arrows", { begin, end, ...rows, max: ARROWS_MAX, slot: "arrows" });
  }

  events(t: number, nr: number, want: Params): Promise<Events> {
    return this.source.json("events", { t, nr, ...want, slot: "events" });
  }
}

function decodeRows(buffer: ArrayBuffer, attrs: number[], names: boolean): RowsAnswer {
  const head = new Uint32Array(buffer, 0, 3);
  if (head[0] !== 1 || head[1] !== attrs.length) throw new Error("rows in an unknown form");
  const rows = new Map<number, Runs>();
  let at = 12;
  for (const attr of attrs) {
    const n = new Uint32Array(buffer, at, 1)[0];
    at += 4;
    const value = new Uint32Array(buffer, at, n);
    at += 4 * n;
    const first = new Uint16Array(buffer, at, n);
    at += 2 * n;
    const nr = new Uint16Array(buffer, at, n);
    at += 2 * n;
    const share = new Uint8Array(buffer, at, n);
    at += (n + 3) & ~3;
    rows.set(attr, { value, first, nr, share });
  }
  const text = names ? new TextDecoder().decode(new Uint8Array(buffer, at)) : "";
  return { rows, names: names ? (JSON.parse(text) as Names) : null };
}

/** All rows of a chunked table, chunk by chunk. */
export async function loadAll<T>(nr: number, into: T[], get: (first: number) => Promise<T[]>): Promise<void> {
  for (let first = 0; first < nr; ) {
    const chunk = await get(first);
    if (!chunk.length) return;
    for (const row of chunk) into[first++] = row;
  }
}
