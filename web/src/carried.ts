// SPDX-License-Identifier: Apache-2.0
// A report in one file (sonde report --html) carries the answers: tables and analyses as the server
// would give them, and every change of every row, from which pictures are made here.
import { ApiError, type Arrows, type At, type EventLine, type Events, type Exits, type Params, type RowsAnswer, type Runs, type Source } from "./api";
import { type Context, type RunModel, type Thread, THREAD_RUNNABLE, THREAD_RUNNING, VCPU_PREEMPTED } from "./model";

type Answers = Record<string, unknown>;

/** Changes of one attribute: from times[i] on it has values[i]. */
interface Changes {
  times: Float64Array;
  values: Uint32Array;
}

class Carried implements Source {
  readonly wholeOnly = true;
  private readonly arrows: Arrows = { wakes: [], wakes_more: false, preemptions: [], preemptions_more: false };
  private readonly changes = new Map<number, Changes>();
  private readonly model: RunModel;
  private readonly contexts: Context[];
  private readonly threads: Thread[];

  constructor(private readonly answers: Answers) {
    this.model = answers.model as RunModel;
    this.contexts = this.table("contexts") as Context[];
    this.threads = this.table("threads") as Thread[];
    for (const [key, value] of Object.entries(answers)) {
      if (key.startsWith("arrows ")) this.addArrows(value as Arrows);
      if (!key.startsWith("changes ")) continue;
      const flat = (value as number[][])[0];
      const times = new Float64Array(flat.length / 2);
      const values = new Uint32Array(flat.length / 2);
      for (let i = 0; i < times.length; i++) {
        times[i] = flat[2 * i];
        values[i] = flat[2 * i + 1];
      }
      this.changes.set(Number(key.slice(8)), { times, values });
    }
  }

  private addArrows(part: Arrows): void {
    this.arrows.wakes.push(...part.wakes);
    this.arrows.preemptions.push(...part.preemptions);
    this.arrows.wakes_more ||= part.wakes_more;
    this.arrows.preemptions_more ||= part.preemptions_more;
  }

  private table(name: string): unknown[] {
    const parts = Object.keys(this.answers).filter((k) => k.startsWith(`${name} `));
    parts.sort((a, b) => Number(a.slice(name.length)) - Number(b.slice(name.length)));
    return parts.flatMap((k) => this.answers[k] as unknown[]);
  }

  first(): null {
    return null;
  }

  async json<T>(name: string, params: Params): Promise<T> {
    return this.answer(name, params) as T;
  }

  private answer(name: string, p: Params): unknown {
    switch (name) {
      case "model":
      case "load":
        return this.answers[name];
      case "contexts":
      case "threads":
        return this.answers[`${name} ${p.first}`] ?? [];
      case "table":
        if (Number(p.begin) > 0 || Number(p.end) < this.model.length)
          throw new ApiError(404, "this report carries the tables of its whole window only");
        return this.answers[`table ${p.name}`];
      case "at":
        return this.at(String(p.kind), Number(p.row), Number(p.t));
      case "step":
        return { t: this.step(Number(p.attr), Number(p.t), p) };
      case "time":
        return { t: this.time(String(p.text)) };
      case "arrows":
        return this.arrowsIn(p);
      case "exits":
        return this.exitsIn(Number(p.begin), Number(p.end));
      case "events":
        return this.eventsAt(p);
      case "path":
        return this.path(Number(p.thread));
      default:
        throw new ApiError(404, "a report in one file does not carry this; sonde serve has it");
    }
  }

  private arrowsIn(p: Params): Arrows {
    const [begin, end, max] = [p.begin, p.end, p.max].map(Number);
    const rows = (list: unknown) => new Set(String(list).split(",").map(Number));
    const [threads, cpus] = [rows(p.threads), rows(p.cpus)];
    const wakes = this.arrows.wakes.filter((a) => a[0] >= begin && a[0] < end && threads.has(a[1]));
    const preemptions = this.arrows.preemptions.filter((a) => a[0] >= begin && a[0] < end && cpus.has(a[2]));
    return {
      wakes: wakes.slice(0, max), wakes_more: this.arrows.wakes_more || wakes.length > max,
      preemptions: preemptions.slice(0, max),
      preemptions_more: this.arrows.preemptions_more || preemptions.length > max,
    };
  }

  /** The parts of time that were counted, as far as they are in the window. */
  private exitsIn(begin: number, end: number): Exits {
    const { vcpus } = this.answers.exits as Exits;
    const nr = vcpus[0]?.counts.length ?? 1;
    const wide = this.model.length / nr;
    const from = Math.max(0, Math.floor(begin / wide));
    const to = Math.min(nr, Math.ceil(end / wide));
    return {
      begin: from * wide, end: to * wide,
      vcpus: vcpus.map((v) => ({ cpu: v.cpu, about: v.about, counts: v.counts.slice(from, to) })),
    };
  }

  private eventsAt(p: Params): Events {
    const carried = this.answers.events as { events: EventLine[] } | undefined;
    if (!carried) throw new ApiError(404, "the traces were not there when this report was made: it has no events");
    const all = carried.events.filter((e) =>
      (p.machine === undefined || e[1] === Number(p.machine)) && (p.named === undefined || e[4].includes(String(p.named))));
    const after = all.findIndex((e) => e[0] >= Number(p.t));
    const at = after < 0 ? all.length : after;
    const half = Number(p.nr) / 2;
    return { events: all.slice(Math.max(0, at - half), at + half), from: 0, to: this.model.length, gave_up: false };
  }

  private path(thread: number): unknown {
    const path = this.answers[`path ${thread}`];
    if (path) return path;
    const all = Object.keys(this.answers).filter((k) => k.startsWith("path ")).map((k) => this.label(Number(k.slice(5))).label);
    throw new ApiError(404, `this report carries the critical paths of ${all.join(", ")}; sonde serve has all`);
  }

  private woken(thread: number, t: number): At["woken"] {
    const wake = this.arrows.wakes.filter((w) => w[1] === thread && w[0] <= t).pop();
    if (!wake) return undefined;
    const [when, , by, machine, cpu, mode] = wake;
    return { t: when, by: this.label(by), machine, cpu, mode, detail: "" };
  }

  private instead(vcpu: number, t: number): Partial<At> {
    const taken = this.arrows.preemptions.find((a) => a[2] === vcpu && t >= a[0] && t < a[0] + a[1]);
    return taken ? { instead: this.label(taken[6]), instead_machine: taken[5] } : {};
  }

  async rows(begin: number, end: number, px: number, attrs: number[]): Promise<RowsAnswer> {
    const rows = attrs.map((a) => [a, picture(this.changes.get(a), begin, end, px, this.model.length)] as const);
    return { rows: new Map(rows), names: null };
  }

  /** Seconds in the clock of the run or of the trace, percent, +seconds. */
  private time(text: string): number {
    const n = Number.parseFloat(text);
    const base = Number(this.model.begin);
    if (Number.isNaN(n)) throw new ApiError(400, `"${text}" is no time`);
    const t = text.endsWith("%") ? (n / 100) * this.model.length
      : text.startsWith("+") || n * 1e9 < base ? n * 1e9 : n * 1e9 - base;
    if (t < 0 || t > this.model.length) throw new ApiError(400, `${text} lies outside of this report`);
    return Math.round(t);
  }

  private piece(attr: number | null, t: number): { begin: number; end: number; value: number } | null {
    const c = attr === null ? undefined : this.changes.get(attr);
    if (!c) return null;
    const i = last(c.times, t);
    if (i < 0) return null;
    return { begin: c.times[i], end: i + 1 < c.times.length ? c.times[i + 1] : this.model.length, value: c.values[i] };
  }

  private step(attr: number, t: number, p: Params): number | null {
    const c = this.changes.get(attr);
    if (!c) return null;
    const back = Number(p.back) === 1;
    const fits = (v: number) =>
      (p.value === undefined || v === Number(p.value)) &&
      (p.thread === undefined || this.contexts[v - 1]?.[2] === Number(p.thread));
    for (let i = back ? last(c.times, t - 1) : last(c.times, t) + 1; i >= 0 && i < c.times.length; i += back ? -1 : 1)
      if (fits(c.values[i])) return c.times[i];
    return null;
  }

  private label(row: number): { row: number | null; label: string } {
    const t = this.threads[row];
    if (!t) return { row: null, label: "" };
    const cpu = this.model.cpus[t[5]];
    const of = cpu ? `=${this.model.machines[cpu.machine].name}/${cpu.number}` : "";
    return { row, label: t[1] === 0 ? "idle" : t[1] < 0 ? t[3] : `${t[3]}[${t[1]}]${of}` };
  }

  private containers(thread: number): { row: number; label: string }[] {
    const out: { row: number; label: string }[] = [];
    for (let row = this.threads[thread]?.[4] ?? -1; out.length < 32; ) {
      const ns = this.model.pid_ns[row];
      if (!ns?.level) break;
      out.push({ row, label: ns.label });
      row = ns.parent;
    }
    return out;
  }

  private bound(machine: number, t: number): number | null {
    let sum = 0;
    for (let m = machine; m > 0; m = this.model.machines[m].parent) {
      const piece = this.model.clocks.find((c) => c[0] === m && t >= c[1] && t < c[2]);
      if (piece && piece[3] < 0) return null;
      if (m === machine) sum = piece ? piece[3] : 0;
    }
    return sum;
  }

  private at(kind: string, row: number, t: number): At {
    const { cpus } = this.model;
    const attr = kind === "thread" ? this.threads[row]?.[6] : kind === "cpu" ? cpus[row]?.runs : cpus[row]?.state;
    const piece = this.piece(attr ?? null, t);
    if (!piece) throw new ApiError(404, "nothing is known of this row then");
    const { begin, end, value } = piece;
    if (kind === "thread")
      return {
        begin, end, state: value, thread: this.label(row), containers: this.containers(row),
        woken: value === THREAD_RUNNING || value === THREAD_RUNNABLE ? this.woken(row, t) : undefined,
      };
    if (kind === "vcpu") {
      const task = this.piece(cpus[row].task, t);
      return {
        begin, end, state: value, host_thread: this.label(cpus[row].host_thread),
        ...(value === VCPU_PREEMPTED ? this.instead(row, t) : {}),
        ...(task?.value ? { task: this.label(task.value - 1) } : {}),
      };
    }
    const c = this.contexts[value - 1];
    if (!c) return { begin, end, mode: 0, detail: "", serves: null, bound_ns: 0, stack: [] };
    const stack: At["stack"] = [];
    let [machine, cpu, thread] = c;
    for (let depth = 0; depth < 8; depth++) {
      stack.unshift({ machine, cpu, thread: this.label(thread), containers: this.containers(thread) });
      const vcpu = cpus.find((x) => x.machine === machine && x.number === cpu);
      if (machine === 0 || !vcpu) break;
      machine = this.model.machines[machine].parent;
      thread = vcpu.host_thread;
      cpu = machine === 0 ? cpus[row].number : this.cpuOf(thread, t);
    }
    return {
      begin, end, mode: c[3], detail: c[5], serves: c[4] < 0 ? null : c[4],
      bound_ns: this.bound(c[0], t), stack,
    };
  }

  /** The vCPU whose current thread this is. */
  private cpuOf(thread: number, t: number): number {
    const vcpu = this.model.cpus.find((c) => this.piece(c.task, t)?.value === thread + 1);
    return vcpu ? vcpu.number : -1;
  }
}

/** The last index whose time is at or before @t, -1 none. */
function last(times: Float64Array, t: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (times[mid] <= t) low = mid + 1;
    else high = mid;
  }
  return low - 1;
}

/** In every pixel the value that held longest. */
function picture(c: Changes | undefined, begin: number, end: number, px: number, length: number): Runs {
  const value: number[] = [];
  const first: number[] = [];
  const nr: number[] = [];
  const share: number[] = [];
  const wide = (end - begin) / px;
  const put = (x: number, v: number, part: number) => {
    const n = value.length - 1;
    if (n >= 0 && value[n] === v && first[n] + nr[n] === x) {
      nr[n]++;
      share[n] = Math.min(share[n], part);
    } else {
      value.push(v);
      first.push(x);
      nr.push(1);
      share.push(part);
    }
  };
  let i = c ? Math.max(0, last(c.times, begin)) : 0;
  for (let x = Math.max(0, Math.floor(-begin / wide)); c && x < px; x++) {
    const from = Math.max(0, begin + x * wide);
    const to = Math.min(length, begin + (x + 1) * wide);
    if (from >= length) break;
    const time = new Map<number, number>();
    while (i + 1 < c.times.length && c.times[i + 1] <= from) i++;
    let best = 0;
    let most = 0;
    for (let k = i; k < c.times.length && c.times[k] < to; k++) {
      const stop = Math.min(to, k + 1 < c.times.length ? c.times[k + 1] : length);
      const sum = (time.get(c.values[k]) ?? 0) + stop - Math.max(from, c.times[k]);
      time.set(c.values[k], sum);
      if (sum > most) {
        most = sum;
        best = c.values[k];
      }
    }
    if (best) put(x, best, Math.min(255, Math.floor((255 * most) / wide)));
  }
  return {
    value: Uint32Array.from(value), first: Uint16Array.from(first), nr: Uint16Array.from(nr),
    share: Uint8Array.from(share),
  };
}

/** What the file carries, null on a server. */
export function carried(): Source | null {
  const element = document.getElementById("sonde-answers");
  return element?.textContent ? new Carried(JSON.parse(element.textContent) as Answers) : null;
}
