// SPDX-License-Identifier: Apache-2.0
// What a run has: machines, CPUs, containers, contexts and threads.  Threads come by the chunk, and so
// do contexts where they are few; of very many, those come that a picture shows, with it.  What has not
// come yet is undefined.

import type { Names, Runs } from "./api";

export interface Machine {
  name: string;
  parent: number;
  /** "VM", "nested VM", or what the outermost machine is. */
  kind: string;
  level: number;
  traced: boolean;
  release: string;
  tracer: string;
  evidence: string;
  vm_pid: number | null;
}

export interface Cpu {
  machine: number;
  number: number;
  host_tid: number;
  host_thread: number;
  runs: number | null;
  state: number | null;
  task: number | null;
}

export interface PidNs {
  machine: number;
  parent: number;
  level: number;
  label: string;
}

export interface Named {
  name: string;
  title: string;
  help: string;
}

export interface RunModel {
  file: string;
  version: string;
  begin: string;
  length: number;
  /** Where the physical machine was traced: what is shown first, and what verdicts are of. */
  traced: [number, number];
  ticks_are_ns: boolean;
  /** What the outermost machine's CPUs are called. */
  cpus_title: string;
  complete: boolean;
  wall: string | null;
  nr_threads: number;
  nr_contexts: number;
  machines: Machine[];
  cpus: Cpu[];
  pid_ns: PidNs[];
  clocks: [number, number, number, number][];
  gaps: [number, number, number, number, number][];
  nr_gaps: number;
  /** Traces that were given, but are not in the history: the first of them. */
  left_out: { name: string; path: string; reason: string }[];
  nr_left_out: number;
  problems: { machine: number; text: string; count: number }[];
  nr_problems: number;
  tables: Named[];
  modes: string[];
}

/** [machine, cpu, thread, mode, serves, detail] */
export type Context = [number, number, number, number, number, string];
/** [machine, tid, pid, comm, pid_ns, vcpu, state attribute] */
export type Thread = [number, number, number, string, number, number, number | null];

export const MODE = {
  unknown: 0,
  idle: 1,
  user: 2,
  syscall: 3,
  irq: 4,
  softirq: 5,
  hypervisor: 6,
  guest: 7,
  kernel: 8,
  task: 9,
} as const;

export const MODE_NAMES = [
  "unknown",
  "idle",
  "user",
  "system call",
  "hardirq",
  "softirq",
  "hypervisor",
  "guest",
  "kernel",
  "task",
];
export const VCPU_STATES = ["", "unknown", "on a CPU", "preempted", "waiting", "gone"];
export const THREAD_STATES = [
  "",
  "unknown",
  "running",
  "runnable",
  "sleeping",
  "blocked",
  "stopped",
  "dead",
];
export const VCPU_PREEMPTED = 3;
export const THREAD_RUNNING = 2;
export const THREAD_RUNNABLE = 3;

const CONTEXTS_AT_ONCE = 65536;

export class Model {
  /** With holes, but as long as they may become: a list that grows by holes is a slow one. */
  readonly contexts: Context[];
  readonly threads: Thread[];
  /** All threads are there. */
  loaded = false;
  /** Modes of all contexts that have come. */
  readonly modes = new Set<number>();

  constructor(readonly run: RunModel) {
    this.contexts = new Array<Context>(run.nr_contexts);
    this.threads = new Array<Thread>(run.nr_threads);
  }

  /** Each run has some for each of its threads: a long one has hundreds of thousands. */
  get fewContexts(): boolean {
    return this.run.nr_contexts <= CONTEXTS_AT_ONCE;
  }

  /** The contexts in rows of pixels that have not come yet. */
  unknownContexts(rows: Map<number, Runs>): number[] {
    const unknown = new Set<number>();
    for (const cpu of this.fewContexts ? [] : this.run.cpus)
      for (const v of (cpu.runs !== null && rows.get(cpu.runs)?.value) || [])
        if (v > 0 && v <= this.contexts.length && !this.contexts[v - 1]) unknown.add(v - 1);
    return [...unknown];
  }

  /** True when something was new. */
  learn(names: Names): boolean {
    let isNew = false;
    for (const line of names.contexts) {
      if (this.contexts[line[0]]) continue;
      this.contexts[line[0]] = line.slice(1) as Context;
      this.modes.add(line[4]);
      isNew = true;
    }
    for (const line of names.threads) {
      if (this.threads[line[0]]) continue;
      this.threads[line[0]] = line.slice(1) as Thread;
      isNew = true;
    }
    return isNew;
  }

  allLoaded(): void {
    for (const c of this.contexts) if (c) this.modes.add(c[3]);
    this.loaded = true;
  }

  machine(row: number): Machine | undefined {
    return this.run.machines[row];
  }

  machineName(row: number): string {
    return this.run.machines[row]?.name ?? "?";
  }

  cpuLabel(row: number): string {
    const cpu = this.run.cpus[row];
    if (!cpu) return "?";
    return `${this.machineName(cpu.machine)}/${cpu.number < 0 ? "all" : cpu.number}`;
  }

  threadLabel(row: number): string {
    const t = this.threads[row];
    if (row < 0) return "unknown thread";
    if (!t) return `thread ${row}`;
    if (t[1] === 0) return "idle";
    if (t[1] < 0) return t[3]; // an address space: it has a name alone
    return `${t[3]}[${t[1]}]` + (t[5] >= 0 ? `=${this.cpuLabel(t[5])}` : "");
  }

  get hasVcpus(): boolean {
    return this.run.cpus.some((c) => c.state !== null);
  }

  /** A machine's first namespace is none. */
  isContainer(row: number): boolean {
    return (this.run.pid_ns[row]?.level ?? 0) > 0;
  }

  /** The containers a namespace stands for, from the innermost out. */
  containers(pidNs: number): number[] {
    const chain: number[] = [];
    for (let row = pidNs; chain.length < 32; ) {
      if (!this.isContainer(row)) break;
      chain.push(row);
      row = this.run.pid_ns[row].parent;
    }
    return chain;
  }

  /** "" for a machine's first namespace. */
  containerLabel(row: number): string {
    return this.isContainer(row) ? this.run.pid_ns[row].label : "";
  }

  /** What stands on a piece: the thread, or why a hypervisor works. */
  contextName(row: number): string {
    const c = this.contexts[row];
    if (!c) return "";
    if (c[3] === MODE.idle) return "";
    if (c[3] === MODE.hypervisor && c[4] >= 0)
      return `${c[5] || "KVM"} for ${this.cpuLabel(c[4])}`;
    if (c[2] < 0) return c[3] === MODE.unknown ? "" : this.machineName(c[0]);
    const name = this.threads[c[2]]?.[3] ?? "";
    return c[5] && c[3] !== MODE.user ? `${name} · ${c[5]}` : name;
  }

  contextLabel(row: number): string {
    const c = this.contexts[row];
    if (!c) return "";
    const what = MODE_NAMES[c[3]] + (c[5] ? ` ${c[5]}` : "");
    const who = c[2] >= 0 ? this.threadLabel(c[2]) : "";
    return [this.machineName(c[0]), who, what].filter(Boolean).join(" · ");
  }

  /** Bound of a machine's clock at a time: ns, -1 none known. */
  clockBound(machine: number, t: number): number {
    if (machine === 0) return 0;
    for (const [m, from, to, bound] of this.run.clocks)
      if (m === machine && t >= from && t < to) return bound;
    return 0;
  }
}
