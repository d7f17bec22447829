// SPDX-License-Identifier: Apache-2.0
// The rows of the picture: the tree machine → physical CPUs, vCPUs, containers, threads, VMs.
//
// A row of a machine or a container shows the same attribute as a physical CPU's, but only where
// its own code ran ("mask"): laid over each other the machines' rows give the physical ones back.
import type { Model } from "./model";
import { rowId } from "./phases";

export interface Mask {
  machine?: number;
  pidNs?: number;
}

export interface Row {
  id: string;
  kind: "group" | "cpu" | "vcpu" | "task" | "thread" | "exits" | "stages" | "path";
  depth: number;
  label: string;
  note: string; // small print behind the label
  machine: number;
  attr: number | null;
  cpu: number; // row, -1 none
  thread: number; // row, -1 none
  mask: Mask | null;
  children: number; // of a group: how many rows it would open
}

export interface RowOptions {
  open: (id: string, byDefault: boolean) => boolean;
  hidden: Set<string>;
  pinned: string[];
  extra: Set<number>; // threads shown beside the busiest
  busy: Map<number, number>; // thread row → CPU time, once known
  phases: (machine: number, what: "boot" | "shutdown") => boolean;
  path: string | null; // whose critical path is drawn
}

const THREADS_SHOWN = 12;

class Builder {
  readonly rows: Row[] = [];
  readonly byId = new Map<string, Row>();

  constructor(
    private readonly model: Model,
    private readonly options: RowOptions,
  ) {}

  private get alone(): boolean {
    return this.model.run.machines.length === 1;
  }

  private add(row: Partial<Row> & Pick<Row, "id" | "kind" | "depth" | "label" | "machine">): void {
    const full: Row = {
      note: "",
      attr: null,
      cpu: -1,
      thread: -1,
      mask: null,
      children: 0,
      ...row,
    };
    this.byId.set(full.id, full);
    if (!this.options.hidden.has(full.id)) this.rows.push(full);
  }

  /** A heading; returns whether what is below it is to be shown. */
  private group(id: string, label: string, note: string, depth: number, machine: number,
    children: number, byDefault = true): boolean {
    this.add({ id, kind: "group", label, note, depth, machine, children });
    return !this.options.hidden.has(id) && this.options.open(id, byDefault);
  }

  private physical(): { row: number; number: number; attr: number }[] {
    return this.model.run.cpus
      .map((cpu, row) => ({ row, number: cpu.number, attr: cpu.runs ?? -1, machine: cpu.machine }))
      .filter((cpu) => cpu.machine === 0 && cpu.attr >= 0)
      .sort((a, b) => a.number - b.number);
  }

  private masked(prefix: string, depth: number, machine: number, mask: Mask | null): void {
    for (const cpu of this.physical())
      this.add({
        id: `${prefix}/${cpu.number}`, kind: "cpu", label: `CPU ${cpu.number}`, depth, machine,
        attr: cpu.attr, cpu: cpu.row, mask,
      });
  }

  private vcpus(machine: number, depth: number): void {
    const name = this.model.machineName(machine);
    const { cpus } = this.model.run;
    const own = cpus.map((_, row) => row).filter((row) => cpus[row].machine === machine);
    own.sort((a, b) => cpus[a].number - cpus[b].number).forEach((row) => {
      const cpu = cpus[row];
      const number = cpu.number < 0 ? "all" : String(cpu.number);
      if (cpu.state !== null)
        this.add({
          id: `v:${name}/${number}`, kind: "vcpu", label: `vCPU ${number}`, note: "state",
          depth, machine, attr: cpu.state, cpu: row,
        });
      if (cpu.state !== null)
        this.add({
          id: `x:${name}/${number}`, kind: "exits", label: `vCPU ${number}`, note: "exits",
          depth, machine, cpu: row,
        });
      if (cpu.task !== null)
        this.add({
          id: `k:${name}/${number}`, kind: "task", label: `vCPU ${number}`, note: "its thread",
          depth, machine, attr: cpu.task, cpu: row,
        });
    });
  }

  private containers(machine: number, depth: number): void {
    this.model.run.pid_ns.forEach((ns, row) => {
      if (ns.machine !== machine || !this.model.isContainer(row)) return;
      const id = `c:${row}`;
      if (this.group(id, ns.label, "container", depth, machine, this.physical().length, false))
        this.masked(id, depth + 1, machine, { pidNs: row });
    });
  }

  private threadRow(row: number, depth: number, prefix = "t"): void {
    const t = this.model.threads[row];
    if (t)
      this.add({
        id: `${prefix}:${row}`, kind: "thread", label: t[3], note: String(t[1]), depth,
        machine: t[0], attr: t[6], thread: row,
      });
  }

  private threads(machine: number, depth: number): void {
    const name = this.model.machineName(machine);
    const all: number[] = [];
    // Until the table is there: whoever has a trace has threads.
    const { loaded } = this.model;
    if (loaded)
      this.model.threads.forEach((t, row) => {
        if (t[0] === machine && t[6] !== null) all.push(row);
      });
    if (loaded ? !all.length : !this.model.machine(machine)?.traced) return;
    const note = loaded ? String(all.length) : "…";
    if (!this.group(`T:${name}`, "Threads", note, depth, machine, all.length, this.alone)) return;
    const busy = this.options.busy;
    all.sort((a, b) => (busy.get(b) ?? 0) - (busy.get(a) ?? 0) || a - b);
    const every = this.options.open(`A:${name}`, false);
    all.forEach((row, i) => {
      if (every || i < THREADS_SHOWN || this.options.extra.has(row)) this.threadRow(row, depth + 1);
    });
    if (all.length > THREADS_SHOWN)
      this.group(`A:${name}`, every ? "only the busiest" : `all ${all.length} threads`, "",
        depth + 1, machine, all.length, false);
  }

  machine(row: number, depth: number): void {
    const m = this.model.run.machines[row];
    const id = `m:${m.name}`;
    const traced = m.traced ? m.kind : `${m.kind}, no trace of its own`;
    if (row === 0) {
      if (this.group("p:", this.model.run.cpus_title, "what really ran", depth, 0, this.physical().length))
        this.masked("p", depth + 1, 0, null);
    }
    if (!this.group(id, m.name, traced, depth, row, 1)) return;
    for (const what of ["boot", "shutdown"] as const)
      if (this.options.phases(row, what))
        this.add({
          id: rowId(what, m.name), kind: "stages", label: what === "boot" ? "Start" : "End", note: "stages",
          depth: depth + 1, machine: row,
        });
    const own = `o:${m.name}`;
    // With no other machine these are the rows of its CPUs once more.
    if (this.group(own, "On CPUs", "its own code", depth + 1, row, 1, !this.alone))
      this.masked(own, depth + 2, row, { machine: row });
    this.vcpus(row, depth + 1);
    this.containers(row, depth + 1);
    this.threads(row, depth + 1);
    this.model.run.machines.forEach((child, i) => {
      if (i !== row && child.parent === row) this.machine(i, depth + (row === 0 ? 0 : 1));
    });
  }
}

export interface RowList {
  pinned: Row[];
  rows: Row[];
  byId: Map<string, Row>;
}

export function buildRows(model: Model, options: RowOptions): RowList {
  const b = new Builder(model, options);
  if (model.run.machines.length) b.machine(0, 0);
  const pinned: Row[] = [];
  if (options.path !== null)
    pinned.push({
      id: "path:", kind: "path", depth: 0, label: "Critical path", note: options.path, machine: 0, attr: null,
      cpu: -1, thread: -1, mask: null, children: 0,
    });
  for (const id of options.pinned) {
    const row = b.byId.get(id) ?? threadById(model, id);
    if (row) pinned.push({ ...row, depth: 0, label: pinnedLabel(model, row) });
  }
  return { pinned, rows: b.rows, byId: b.byId };
}

/** A thread that is pinned though its group is closed. */
function threadById(model: Model, id: string): Row | null {
  const row = id.startsWith("t:") ? Number(id.slice(2)) : -1;
  const t = model.threads[row];
  if (!t || t[6] === null) return null;
  return {
    id, kind: "thread", depth: 0, label: t[3], note: String(t[1]), machine: t[0], attr: t[6],
    cpu: -1, thread: row, mask: null, children: 0,
  };
}

function pinnedLabel(model: Model, row: Row): string {
  if (row.kind === "group" || (row.kind === "cpu" && !row.mask)) return row.label;
  if (row.mask?.pidNs !== undefined) return `${model.containerLabel(row.mask.pidNs)} ${row.label}`;
  return `${model.machineName(row.machine)} ${row.label}`;
}
