// SPDX-License-Identifier: Apache-2.0
// Other people's viewers: the client that the trace viewers of VS Code and Theia are made with asks for
// every output there is, and what it is told is held against what sonde's own commands say.
//
//   node tests/web/tsp.mjs SONDE RUN.sonde SECOND.sonde [TRACE...]     the traces RUN was made of
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import client from "tsp-typescript-client";

const { HttpTspClient, QueryHelper, ResponseStatus } = client;
const [sonde, runPath, secondPath, ...traces] = process.argv.slice(2);
const SAMPLES = 16; // moments that are looked at

function tell(...words) {
  return execFileSync(sonde, words, { maxBuffer: 1 << 29, encoding: "utf8" });
}

function facts(name, ...options) {
  return JSON.parse(tell("report", "-t", name, "--format", "json", ...options, runPath))[name];
}

/** Rows of comma-separated values as objects. */
function table(name) {
  const [head, ...rows] = tell("report", "-t", name, "--format", "csv", runPath).trimEnd().split("\n");
  const cells = (line) =>
    [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map((m) => m[1]?.replaceAll('""', '"') ?? m[2]);
  const names = cells(head);
  return rows.map((row) => Object.fromEntries(cells(row).map((cell, i) => [names[i], cell])));
}

/** Starts `sonde serve`; its URLs, a line each. */
function serve(...words) {
  const child = spawn(sonde, ["serve", "-q", ...words], { stdio: ["ignore", "pipe", "ignore"] });
  const lines = words.filter((word) => word.endsWith(".sonde")).length + (words.includes("--tsp") ? 1 : 0);
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (data) => {
      text += data;
      if (text.split("\n").length > lines) resolve({ urls: text.trim().split("\n"), stop: () => stop(child) });
    });
    child.on("exit", (code) => reject(new Error(`sonde serve ended with ${code}`)));
  });
}

function stop(child) {
  return new Promise((resolve) => {
    child.removeAllListeners("exit");
    child.on("exit", resolve);
    child.kill("SIGTERM");
  });
}

/** What a call is answered; asks again while the answer is not whole, as viewers do. */
async function asked(call) {
  for (let i = 0; i < 200; i++) {
    const answer = await call();
    assert.equal(answer.getStatusCode(), 200, answer.getText());
    const model = answer.getModel();
    assert(model !== undefined, `the client cannot read: ${answer.getText().slice(0, 200)}`);
    if (model?.status === undefined || model.model === undefined) return model;
    if (model.status !== ResponseStatus.RUNNING) {
      assert.equal(model.status, ResponseStatus.COMPLETED, model.statusMessage);
      return model.model;
    }
  }
  throw new Error("it is never whole");
}

class Session {
  constructor(url) {
    this.client = new HttpTspClient(url);
  }

  /** Takes the first experiment, once its events are counted. */
  async open(name) {
    const all = await asked(() => this.client.fetchExperiments());
    const found = all.find((x) => x.name === name) ?? all[0];
    for (let i = 0; ; i++) {
      this.experiment = await asked(() => this.client.fetchExperiment(found.UUID));
      if (this.experiment.indexingStatus === "COMPLETED") break;
      assert(i < 100, "its events are never all counted");
    }
    this.id = this.experiment.UUID;
    this.begin = this.experiment.start;
    this.end = this.experiment.end;
    this.offset = this.begin - BigInt(run.begin);
    return this;
  }

  range(from = this.begin, to = this.end, nr = 1000) {
    return QueryHelper.timeRangeQuery(from, to, nr);
  }

  tree(output) {
    return asked(() => this.client.fetchTimeGraphTree(this.id, output, this.range()));
  }

  async states(output, items, from = this.begin, to = this.end, nr = 1000, more = {}) {
    const query = QueryHelper.selectionTimeRangeQuery(from, to, nr, items, more);
    const model = await asked(() => this.client.fetchTimeGraphStates(this.id, output, query));
    return new Map(model.rows.map((row) => [row.entryId, row.states]));
  }

  /** All states of an entry as they were, window by window, and those that lie in two once. */
  async *exact(output, item) {
    const step = (this.end - this.begin) / 50n + 1n;
    let last = this.begin;
    for (let from = this.begin; from < this.end; from += step)
      for (const s of (await this.states(output, [item], from, from + step, 8192)).get(item))
        if (s.end > last) {
          assert(s.start >= last, "states overlap");
          last = s.end;
          yield s;
        }
  }

  tooltip(output, entry, t) {
    const query = QueryHelper.selectionTimeQuery([t], [entry], {
      requested_element: { elementType: "state", time: t, duration: 0n },
    });
    return asked(() => this.client.fetchTimeGraphTooltip(this.id, output, query));
  }

  lines(output, columns, index, count, more = {}) {
    const query = QueryHelper.tableQuery(columns, index, count, more);
    return asked(() => this.client.fetchTableLines(this.id, output, query));
  }
}

/** Moments all over the run, the same in every test. */
function moments(begin, end) {
  const length = end - begin;
  return Array.from({ length: SAMPLES }, (_, i) => begin + (length * BigInt(2 * i + 1)) / BigInt(2 * SAMPLES) + BigInt(i));
}

function checkTree(model) {
  const ids = new Set(model.entries.map((e) => e.id));
  assert.equal(ids.size, model.entries.length, "an id twice");
  for (const e of model.entries) {
    assert(e.parentId === -1 || ids.has(e.parentId), `entry ${e.id} has no parent`);
    assert.equal(e.labels.length, model.headers.length, "a label for each header");
  }
}

const close = (a, b, share, what) => assert(Math.abs(a - b) <= share * Math.max(Math.abs(a), Math.abs(b)) + 1e-9, `${what}: ${a} and ${b}`);

const tests = {
  async server(s) {
    assert.equal((await asked(() => s.client.checkHealth())).status, "UP");
    const identifier = await asked(() => s.client.fetchIdentifier());
    assert.equal(identifier.tspVersion, "0.6.0");
    assert.equal(`sonde ${identifier.version}`, tell("--version").split(" (")[0].trim());
    assert.deepEqual(await asked(() => s.client.fetchConfigurationSourceTypes()), []);
    assert.deepEqual(await asked(() => s.client.fetchOutputConfigurationTypes(s.id, "fused")), []);
  },

  async traces(s) {
    const [trace] = await asked(() => s.client.fetchTraces());
    assert.equal(trace.path, runPath);
    assert.equal(trace.end - trace.start, BigInt(run.end - run.begin), "how long it is");
    assert.deepEqual(await asked(() => s.client.fetchTrace(trace.UUID)), trace);
    const wall = /wall time\s+(\S+) (\S+) UTC/.exec(tell("info", runPath));
    if (wall) assert.equal(BigInt(Date.parse(`${wall[1]}T${wall[2]}Z`)) / 1000n, s.begin / 1_000_000_000n, "Unix time");
  },

  /** In which unit times are, and what is told per second of them, is said. */
  async units(s) {
    const [trace] = await asked(() => s.client.fetchTraces());
    const rates = await asked(() => s.client.fetchXYTree(s.id, "exit-rate", s.range()));
    const query = QueryHelper.selectionTimeRangeQuery(s.begin, s.end, 10, rates.entries.map((e) => e.id));
    const { series } = await asked(() => s.client.fetchXY(s.id, "exit-rate", query));
    assert(series.length, "no vCPUs");
    assert(series.every((x) => x.xValuesDescription.unit === (inCycles ? "cycles" : "ns")));
    assert(series.every((x) => x.yValuesDescription.unit === (inCycles ? "per 10^9 cycles" : "1/s")));
    const wall = /wall time/.test(tell("info", runPath));
    assert.match(trace.properties.times, inCycles ? /^cycles of the physical machine's counter$/ : wall ? /^Unix time, ns$/ : /ns/);
    // Cycles have no wall clock: they are the run's own.
    if (inCycles) assert.deepEqual([s.begin, s.end], [BigInt(run.begin), BigInt(run.end)]);
  },

  async outputs(s) {
    const outputs = await asked(() => s.client.experimentOutputs(s.id));
    const sections = tell("report", "--table", "help", runPath).trimEnd().split("\n").map((l) => l.split(/\s+/)[0]);
    assert.deepEqual(outputs.filter((o) => o.id.startsWith("table.")).map((o) => o.id.slice(6)), sections);
    for (const o of outputs) assert(o.name && o.description !== undefined && o.type, JSON.stringify(o));
    assert.deepEqual([...new Set(outputs.map((o) => o.type))].sort(), ["DATA_TREE", "TABLE", "TIME_GRAPH", "TREE_TIME_XY"]);
    for (const o of outputs.filter((x) => x.type === "TIME_GRAPH")) {
      assert((await asked(() => s.client.fetchAnnotationsCategories(s.id, o.id))).annotationCategories.length);
    }
  },

  /** Each physical CPU at moments all over the run, and its layers. */
  async fused(s) {
    const tree = await s.tree("fused");
    checkTree(tree);
    const cpus = new Map(tree.entries.filter((e) => e.hasData).map((e) => [e.labels[0], e.id]));
    for (const t of moments(s.begin, s.end)) {
      const at = JSON.parse(tell("state", runPath, "--at", `${t - s.offset}ns`, "--format", "json"));
      assert.equal(at.cpus.length, cpus.size);
      const rows = await s.states("fused", [...cpus.values()], t - 1000n, t + 1000n, 4000);
      for (const cpu of at.cpus) {
        const id = cpus.get(`${cpu.stack[0].machine}/${cpu.cpu}`);
        const state = rows.get(id).find((x) => x.start <= t && t < x.end);
        assert.equal(state.start - s.offset, BigInt(cpu.begin));
        assert.equal(state.end - s.offset, BigInt(cpu.end));
        const inner = cpu.stack.at(-1);
        assert(state.label.startsWith(`${inner.machine} `), `${state.label}: ${inner.machine}`);
        assert(state.label.endsWith(cpu.detail ? `${cpu.mode} ${cpu.detail}` : cpu.mode), `${state.label}: ${cpu.mode}`);
        const told = await s.tooltip("fused", id, t);
        for (const [level, frame] of cpu.stack.entries()) {
          const thread = told[`L${level} ${frame.machine}/${frame.cpu}`];
          const name = !frame.thread ? "unknown" : frame.thread.tid ? `${frame.thread.comm}[${frame.thread.tid}]` : "idle";
          assert(thread.startsWith(name), `${thread}: ${name}`);
        }
        assert(told["Clock uncertainty"], "no clock bound");
      }
    }
  },

  /** What the search field of a time graph asks for: the states that do not match are marked, and those between samples looked at. */
  async filtered(s) {
    const filter = (strategy, map) => ({ filter_query_parameters: { strategy, filter_expressions_map: map } });
    for (const output of ["fused", "vcpus", "threads"]) {
      const items = (await s.tree(output)).entries.filter((e) => e.hasData).map((e) => e.id).slice(0, 4);
      for (const item of items) {
        const all = [];
        for await (const x of s.exact(output, item)) all.push(x);
        const { label } = all[all.length >> 1];
        const expressions = [[`label == "${label}"`, (x) => x.label === label], ["duration > 20us", (x) => x.end - x.start > 20000n],
          [`!(label == "${label}") && duration <= 20us`, (x) => x.label !== label && x.end - x.start <= 20000n]];
        for (const [text, fits] of expressions) {
          const from = all[0].start, to = all[Math.min(all.length - 1, 400)].end;
          const fine = await s.states(output, [item], from, to, 8000, filter("SAMPLED", { 1: [text] }));
          // The first and the last one stick out of the window.
          for (const x of fine.get(item).slice(1, -1)) assert.equal(x.tags ?? 0, fits(x) ? 0 : 1, `${text}: ${x.label}`);
          const coarse = (await s.states(output, [item], s.begin, s.end, 40, filter("DEEP", { 1: [text] }))).get(item);
          coarse.forEach((x, i) => assert(!i || coarse[i - 1].end <= x.start, "order"));
          // In each sample in which one begins that fits, one is told.
          const sample = (t) => (t - s.begin) * 40n / (s.end - s.begin);
          const shown = coarse.filter((x) => !x.tags);
          for (const n of new Set(all.filter(fits).map((x) => sample(x.start))))
            assert(shown.some((x) => sample(x.start) <= n && sample(x.end) >= n), `${text}: none in sample ${n}`);
          const left = (await s.states(output, [item], s.begin, s.end, 40, filter("DEEP", { 4: [text] }))).get(item);
          assert(left.every((x) => (x.tags === 4) === (x.style === undefined)), "what is left out is not drawn");
          assert.equal(left.some((x) => !x.tags), all.some(fits), `${text}: whether anything is left`);
        }
      }
      const typing = QueryHelper.selectionTimeRangeQuery(s.begin, s.end, 40, items, filter("SAMPLED", { 1: ["tid =="] }));
      const answer = (await s.client.fetchTimeGraphStates(s.id, output, typing)).getModel();
      assert(answer.statusMessage.startsWith("filter:") && answer.model.rows.every((r) => r.states.every((x) => !x.tags)), "half an expression");
    }
  },

  /** Zoomed out: in order, within the run, no more than was asked for. */
  async sampled(s) {
    for (const output of ["fused", "vcpus", "threads"]) {
      const items = (await s.tree(output)).entries.filter((e) => e.hasData).map((e) => e.id);
      const styles = (await asked(() => s.client.fetchStyles(s.id, output, QueryHelper.query()))).styles;
      for (const [id, states] of await s.states(output, items, s.begin, s.end, 200)) {
        assert(items.includes(id));
        assert(states.length <= 201, `${states.length} states in 200 samples`);
        states.forEach((x, i) => {
          assert(x.start < x.end && (!i || states[i - 1].end <= x.start), "order");
          assert(x.start >= s.begin && x.end <= s.end, "within the run");
          assert(styles[x.style.parentKey], `style ${x.style.parentKey}`);
        });
      }
    }
  },

  /** The states of vCPUs add up to what the report says, to the nanosecond. */
  async vcpus(s) {
    const tree = await s.tree("vcpus");
    checkTree(tree);
    const names = { on_cpu: "on a CPU", steal: "preempted", waiting: "waiting", gone: "gone", unknown: "unknown" };
    for (const row of facts("vcpu_time")) {
      const entry = tree.entries.find((e) => e.labels[0] === `${row.vcpu.machine}/${row.vcpu.cpu}`);
      const sums = Object.fromEntries(Object.values(names).map((name) => [name, 0n]));
      for await (const state of s.exact("vcpus", entry.id)) sums[state.label] += state.end - state.start;
      // Where there is no state, nothing is known.
      sums.unknown += s.end - s.begin - Object.values(sums).reduce((a, b) => a + b, 0n);
      for (const [fact, name] of Object.entries(names)) assert.equal(sums[name], BigInt(row[fact]), `${entry.labels[0]} ${name}`);
    }
  },

  async vcpuTooltips(s) {
    const tree = await s.tree("vcpus");
    const preempted = facts("preemption_list");
    assert(preempted.length, "nobody was preempted");
    for (const p of preempted.filter((_, i) => i % Math.ceil(preempted.length / SAMPLES) === 0)) {
      const entry = tree.entries.find((e) => e.labels[0] === `${p.vcpu.machine}/${p.vcpu.cpu}`);
      const told = await s.tooltip("vcpus", entry.id, BigInt(p.at) + s.offset);
      assert.equal(told.State, "preempted");
      assert(told.Why.includes(p.culprit?.tid ? `instead of it ${p.culprit.comm}[${p.culprit.tid}]` : ""), told.Why);
    }
  },

  /** Who runs on a CPU by `sonde state` is running by its own row. */
  async threads(s) {
    const tree = await s.tree("threads");
    checkTree(tree);
    const byId = new Map(tree.entries.map((e) => [e.id, e]));
    const machineOf = (e) => (e.parentId !== -1 && e.labels[1] !== "" ? machineOf(byId.get(e.parentId)) : isContainer(e) ? machineOf(byId.get(e.parentId)) : e.labels[0]);
    const isContainer = (e) => /:\[\d+\]$/.test(e.labels[0]) && e.labels[1] === "";
    let nr = 0;
    for (const t of moments(s.begin, s.end)) {
      for (const cpu of JSON.parse(tell("state", runPath, "--at", `${t - s.offset}ns`, "--format", "json")).cpus)
        for (const frame of cpu.stack.filter((f) => f.thread?.tid)) {
          const own = tree.entries.filter((e) => e.labels[1] === String(frame.thread.tid) && machineOf(e) === frame.machine && e.start <= t && t < e.end);
          assert.equal(own.length, 1, `${frame.thread.comm}[${frame.thread.tid}] of ${frame.machine}`);
          const state = (await s.states("threads", [own[0].id], t, t + 1n, 10)).get(own[0].id)[0];
          assert.equal(state.label, "running");
          const told = await s.tooltip("threads", own[0].id, t);
          assert.equal(told.State, "running");
          nr++;
        }
    }
    assert(nr > SAMPLES, `only ${nr} threads ran`);
  },

  async arrows(s) {
    const get = async (output, from, to) => asked(() => s.client.fetchTimeGraphArrows(s.id, output, s.range(from, to)));
    const styles = Object.keys((await asked(() => s.client.fetchStyles(s.id, "fused", QueryHelper.query()))).styles);
    const from = s.begin + (s.end - s.begin) / 3n, to = from + (s.end - s.begin) / 60n;
    for (const output of ["fused", "vcpus", "threads"]) {
      const ids = new Set((await s.tree(output)).entries.map((e) => e.id));
      const arrows = await get(output, from, to);
      for (const a of arrows) {
        assert(ids.has(a.sourceId) && ids.has(a.targetId) && a.sourceId !== a.targetId, "its rows");
        assert(a.start <= a.end && a.end >= from && a.start < to, "its time");
        assert(styles.includes(a.style.parentKey), a.style.parentKey);
      }
      if (output !== "fused" && !inCycles) assert(arrows.length, `no arrows between ${output}`);
      if (output === "threads")
        for (const a of arrows.filter((x) => x.style.parentKey === "wakeup").slice(0, 50)) {
          const [before, after] = [a.end - 1n, a.end].map((t) => s.states(output, [a.targetId], t, t + 1n, 10));
          assert(["sleeping", "blocked"].includes((await before).get(a.targetId)[0].label), "it slept");
          assert(["runnable", "running"].includes((await after).get(a.targetId)[0].label), "it woke");
        }
      if (output === "vcpus") {
        const woken = facts("wait_list").filter((w) => w.from && BigInt(w.until) + s.offset >= from && BigInt(w.until) + s.offset < to &&
          `${w.from.machine}/${w.from.cpu}` !== `${w.vcpu.machine}/${w.vcpu.cpu}`);
        assert.equal(arrows.filter((x) => x.style.parentKey === "wakeup").length, woken.length);
      }
    }
    const moves = await get("fused", s.begin, s.end);
    for (const a of moves.slice(0, 50)) {
      assert.equal(a.style.parentKey, "migration");
      assert((await s.tooltip("fused", a.targetId, a.end))["L0 " + (await s.tree("fused")).entries.find((e) => e.id === a.targetId).labels[0]].includes("="), "a vCPU's thread");
    }
  },

  async annotations(s) {
    const sets = await asked(() => s.client.fetchMarkerSets(s.id));
    assert.deepEqual(sets.map((x) => x.id), ["marks", "gaps", "clocks"]);
    for (const set of sets) {
      const { annotationCategories } = await asked(() => s.client.fetchAnnotationsCategories(s.id, "threads", set.id));
      assert.deepEqual(annotationCategories, [set.name]);
    }
    const get = (output, more) => asked(() => s.client.fetchAnnotations(s.id, output, QueryHelper.timeRangeQuery(s.begin, s.end, 1000, more)));
    for (const output of ["fused", "vcpus", "threads"]) {
      const ids = new Set((await s.tree(output)).entries.map((e) => e.id));
      const all = (await get(output)).annotations;
      assert.equal(all["Gaps"].length, facts("gap").length);
      assert.equal(all.Marks.length, facts("mark").length);
      const pieces = facts("clock").filter((c) => c.bound !== 0).reduce((n, c) => n + c.pieces, 0);
      assert(all["Clock uncertainty"].length <= pieces && (all["Clock uncertainty"].length > 0) === (pieces > 0), "clocks");
      for (const a of Object.values(all).flat()) {
        assert(a.entryId === -1 || ids.has(a.entryId), `${a.label} is on no row`);
        assert(a.time >= s.begin && a.time + a.duration <= s.end && a.label, JSON.stringify(a.label));
      }
      const some = await get(output, { requested_marker_categories: ["Gaps"] });
      assert.deepEqual(Object.keys(some.annotations), ["Gaps"]);
      assert.deepEqual(Object.keys((await get(output, { requested_marker_set: "clocks" })).annotations), ["Clock uncertainty"]);
      const bound = all["Clock uncertainty"][0];
      if (!bound) continue;
      const told = await asked(() => s.client.fetchTimeGraphTooltip(s.id, output, QueryHelper.selectionTimeQuery([bound.time], [bound.entryId], {
        requested_element: { elementType: "annotation", time: bound.time, duration: bound.duration, entryId: bound.entryId },
      })));
      assert.equal(told["Clock uncertainty"], bound.label);
    }
  },

  /** The areas under the curves are the report's sums. */
  async charts(s) {
    const get = async (output, items, from = s.begin, to = s.end) => {
      const query = QueryHelper.selectionTimeRangeQuery(from, to, 300, items);
      return (await asked(() => s.client.fetchXY(s.id, output, query))).series;
    };
    const area = (series, from, to) => series.xValues.reduce((sum, x, i) =>
      sum + series.yValues[i] * Number((series.xValues[i + 1] ?? to) - x), 0);
    const use = await asked(() => s.client.fetchXYTree(s.id, "cpu-use", s.range()));
    checkTree(use);
    const [from, to] = [s.begin + 1234567n, s.end - (s.end - s.begin) / 3n];
    for (const [a, b] of [[s.begin, s.end], [from, to]]) {
      const window = [`${a - s.offset}ns`, `${b - s.offset}ns`].join(",");
      const series = await get("cpu-use", use.entries.filter((e) => e.hasData).map((e) => e.id), a, b);
      for (const row of facts("machine_time", "--time", window)) {
        const one = series.find((x) => x.seriesName === row.machine);
        close(area(one, a, b) / 100, row.total - row.idle - row.unknown, 1e-4, `${row.machine} used`);
        assert.equal(one.yValuesDescription.unit, "%");
      }
    }
    const exits = await asked(() => s.client.fetchXYTree(s.id, "exit-rate", s.range()));
    checkTree(exits);
    const rates = await get("exit-rate", exits.entries.filter((e) => e.hasData).map((e) => e.id));
    const counts = facts("exits");
    for (const vm of new Set(counts.map((row) => row.vm))) {
      const own = rates.filter((x) => x.seriesName.startsWith(`${vm}/`));
      const all = counts.filter((row) => row.vm === vm).reduce((n, row) => n + row.count, 0);
      close(own.reduce((n, x) => n + area(x, s.begin, s.end) / 1e9, 0), all, 0.005, `exits of ${vm}`);
    }
    assert.equal((await get("cpu-use", [use.entries[0].id])).length, 1, "only what is asked for");
  },

  async factTables(s) {
    for (const { id } of (await asked(() => s.client.experimentOutputs(s.id))).filter((o) => o.id.startsWith("table."))) {
      const name = id.slice(6);
      const rows = table(name);
      const columns = await asked(() => s.client.fetchTableColumns(s.id, id, QueryHelper.query()));
      const all = await s.lines(id, [], 0, 5000);
      assert.equal(all.size, rows.length, `${name}: rows`);
      assert.equal(all.lines.length, Math.min(rows.length, 5000));
      const names = rows.length ? Object.keys(rows[0]) : [];
      const time = columns.find((c) => c.name === "Timestamp ns");
      all.lines.forEach((line, i) => {
        assert.equal(line.index, i);
        names.forEach((column, k) => {
          const text = line.cells[k].content;
          if (["vcpu", "culprit", "victim", "thread", "machine", "vm", "by"].includes(column) && rows[i][column])
            assert.equal(text, rows[i][column], `${name} ${i} ${column}`);
        });
        if (time) {
          const when = names.find((n) => ["at", "begin", "from", "longest_at", "max_at"].includes(n));
          const ns = BigInt(line.cells[all.columnIds.indexOf(time.id)].content) - s.offset;
          if (/^\d+$/.test(rows[i][when]) && BigInt(rows[i][when]) >= run.begin) assert.equal(ns, BigInt(rows[i][when]), `${name} ${i}`);
        }
      });
      if (rows.length > 3) {
        const some = await s.lines(id, [columns[0].id], 2, 1);
        assert.deepEqual([some.lowIndex, some.lines.length, some.lines[0].index, some.columnIds], [2, 1, 2, [columns[0].id]]);
        assert.equal(some.lines[0].cells[0].content, all.lines[2].cells[0].content);
      }
    }
  },

  async events(s) {
    if (!traces.length) return;
    const events = tell("events", "-q", "--format", "json", ...traces).trimEnd().split("\n").map((l) => JSON.parse(l));
    assert.equal(s.experiment.nbEvents, events.length, "how many");
    const columns = await asked(() => s.client.fetchTableColumns(s.id, "events", QueryHelper.query()));
    assert.deepEqual(columns.map((c) => c.name), ["Timestamp", "Machine", "CPU", "TID", "Event type", "Contents", "Timestamp ns"]);
    const check = (line) => {
      const e = events[line.index];
      const [, machine, cpu, , name, fields, ns] = line.cells.map((c) => c.content);
      assert.deepEqual([machine, cpu, name, ns], [e.machine, String(e.cpu), e.name, String(BigInt(e.t) + s.offset)], `event ${line.index}`);
      assert(e.fields.startsWith(fields.slice(0, 400)), `event ${line.index}: ${fields}`);
    };
    for (const at of [0, 1, 4095, 4096, 4097, 50, Math.floor(events.length / 2), events.length - 30, 12000, 100]) {
      if (at >= events.length) continue;
      const page = await s.lines("events", [], at, 60);
      assert.equal(page.size, events.length);
      assert.equal(page.lines.length, Math.min(60, events.length - at));
      page.lines.forEach(check);
    }
    assert.equal((await s.lines("events", [], events.length + 5, 3)).lines.length, 0, "behind the end");
    for (const t of moments(s.begin, s.end)) {
      const query = QueryHelper.timeQuery([t], { requested_table_count: 1 });
      const page = await asked(() => s.client.fetchTableLines(s.id, "events", query));
      assert.equal(page.lowIndex, events.findIndex((e) => BigInt(e.t) + s.offset >= t), "by time");
    }
    const name = columns.find((c) => c.name === "Event type").id;
    // Viewers mark what was found by the browser's own expressions: both find the same.
    const id = (name) => columns.find((c) => c.name === name).id;
    for (const [column, of, text] of [
      ["Event type", (e) => e.name, "sched_switch"],
      ["Event type", (e) => e.name, "^kvm_(x86_)?(entry|hypercall)$"],
      ["Event type", (e) => e.name, "SCHED_switch"],
      ["Machine", (e) => e.machine, "vm-[^a]$"],
      ["Contents", (e) => e.fields, "\\bvcpu_?id=1\\b|irq=\\d{2,3}"],
    ]) {
      const wanted = events.map((e, i) => [e, i]).filter(([e]) => new RegExp(text).test(of(e))).map(([, i]) => i);
      const search = (from, direction) => s.lines("events", [], from, 1, {
        table_search_expressions: { [id(column)]: text }, table_search_direction: direction });
      for (const from of [0, wanted[10] ?? 5, (wanted[10] ?? 5) + 1, 9000]) {
        const next = wanted.find((i) => i >= from), previous = wanted.findLast((i) => i <= from);
        const forward = await search(from, "NEXT");
        assert.equal(forward.lines[0]?.index, next, text);
        if (next !== undefined) assert.equal(forward.lines[0].tags, 8, "what was found is marked");
        assert.equal((await search(from, "PREVIOUS")).lines[0]?.index, previous, text);
      }
      // Without a direction all lines come, and those that have it are marked.
      const page = await s.lines("events", [], 200, 300, { table_search_expressions: { [id(column)]: text } });
      assert.deepEqual(page.lines.filter((l) => l.tags).map((l) => l.index), wanted.filter((i) => i >= 200 && i < 500), text);
    }
    const broken = await s.client.fetchTableLines(s.id, "events", QueryHelper.tableQuery([], 0, 1, {
      table_search_expressions: { [id("Machine")]: "(vm" }, table_search_direction: "NEXT" }));
    assert.equal(broken.getStatusCode(), 400);
    assert.match(broken.getErrorResponse().title + broken.getErrorResponse().detail, /a \( without \)/);
  },

  async dataTrees(s) {
    for (const { id } of (await asked(() => s.client.experimentOutputs(s.id))).filter((o) => o.type === "DATA_TREE")) {
      const name = id.slice("statistics.".length);
      const [from, to] = [s.begin, s.begin + (s.end - s.begin) / 2n];
      const model = await asked(() => s.client.fetchDataTree(s.id, id, s.range(from, to)));
      checkTree(model);
      const window = [`${from - s.offset}ns`, `${to - s.offset}ns`].join(",");
      const rows = facts(name, "--time", window);
      const machines = run.machines;
      assert.equal(model.entries.length, name === "machine_time" ? machines : machines + rows.length, name);
      if (name !== "machine_time") continue;
      const own = model.headers.findIndex((h) => h.name === "TIME");
      for (const row of rows) {
        const text = model.entries.find((e) => e.labels[0] === row.machine).labels[own];
        const [, number, unit] = /^([\d.,]+) ?(\w*)$/.exec(text);
        const scale = { s: 1e9, ms: 1e6, us: 1e3, ns: 1, cy: 1, "": 1 }[unit];
        close(Number(number.replaceAll(",", "")) * scale, row.total, 1e-3, `${row.machine}: ${text}`);
      }
    }
  },

  async refused(s) {
    const status = async (call) => (await call()).getStatusCode();
    const query = s.range();
    assert.equal(await status(() => s.client.fetchExperiment("00000000-0000-0000-0000-000000000000")), 404);
    assert.equal(await status(() => s.client.fetchTimeGraphTree(s.id, "nothing", query)), 404);
    assert.equal(await status(() => s.client.fetchTimeGraphTree(s.id, "events", query)), 400);
    assert.equal(await status(() => s.client.fetchTimeGraphStates(s.id, "fused", QueryHelper.query())), 400);
    assert.equal(await status(() => s.client.fetchXY(s.id, "cpu-use", QueryHelper.timeRangeQuery(5n, 5n))), 400);
    assert.equal(await status(() => s.client.openTrace(QueryHelper.query({ uri: "/etc/passwd" }))), 404);
    const refused = await s.client.openTrace(QueryHelper.query({}));
    assert.equal(refused.getStatusCode(), 400);
    assert(refused.getErrorResponse().title, "an error has a title");
    assert.equal(await status(() => s.client.createConfiguration("x", QueryHelper.configurationQuery("x", "", {}))), 404);
  },
};

/** Experiments are made of the runs that are there, and unmade. */
async function experiments(s) {
  const traces = await asked(() => s.client.fetchTraces());
  assert.deepEqual(traces.map((t) => t.path), [runPath, secondPath]);
  const names = (await asked(() => s.client.fetchExperiments())).map((x) => x.name);
  assert.equal(names.length, 3);
  assert.equal(new Set(names).size, 3);
  const make = (name, ids) => s.client.createExperiment(QueryHelper.query({ name, traces: ids }));
  const made = await asked(() => make("both", [traces[1].UUID, traces[0].UUID]));
  assert.deepEqual(made.traces.map((t) => t.UUID), [traces[1].UUID, traces[0].UUID]);
  assert.equal((await asked(() => make("both", [traces[1].UUID, traces[0].UUID]))).UUID, made.UUID, "the same again");
  assert.equal((await make("both", [traces[0].UUID])).getStatusCode(), 409);
  assert.equal((await make("x", ["no such trace"])).getStatusCode(), 404);
  assert.equal((await s.client.deleteTrace(traces[1].UUID)).getStatusCode(), 409, "it is used");
  for (const x of (await asked(() => s.client.fetchExperiments())).filter((e) => e.traces.some((t) => t.UUID === traces[1].UUID)))
    assert.equal((await asked(() => s.client.deleteExperiment(x.UUID))).UUID, x.UUID);
  assert.equal((await asked(() => s.client.deleteTrace(traces[1].UUID))).UUID, traces[1].UUID);
  assert.equal((await s.client.fetchTrace(traces[1].UUID)).getStatusCode(), 404);
  assert.equal((await asked(() => s.client.fetchTraces())).length, 1);
  assert.equal((await asked(() => s.client.openTrace(QueryHelper.query({ uri: secondPath, name: "x" })))).UUID, traces[1].UUID);
  await asked(() => make("all runs", traces.map((t) => t.UUID)));
}

/** Two runs in one: every output says of each what it says when that run is alone. */
async function bothRuns(both, singles) {
  await both.open("all runs");
  assert.equal(both.experiment.traces.length, 2);
  const starts = both.experiment.traces.map((t) => t.start);
  assert.deepEqual([both.begin, both.end], [starts.reduce((a, b) => (a < b ? a : b)), both.experiment.traces.map((t) => t.end).reduce((a, b) => (a > b ? a : b))]);
  const firstIds = [0];
  for (const [i, single] of singles.entries()) {
    const ids = new Set(); // of this run's entries, in its own experiment
    const shift = starts[i] - single.begin; // in time
    for (const output of ["fused", "vcpus", "threads", "cpu-use", "exit-rate"]) {
      const tree = (s) => (output.includes("-") ? asked(() => s.client.fetchXYTree(s.id, output, s.range())) : s.tree(output));
      const [all, own] = [await tree(both), await tree(single)];
      checkTree(all);
      own.entries.forEach((e) => ids.add(e.id));
      // The second run's entries follow the first's, in all outputs alike.
      const root = (t, nr) => t.entries.filter((e) => e.parentId === -1)[nr].id;
      firstIds[i] ??= root(all, i) - root(own, 0);
      const firstId = firstIds[i];
      const mine = new Map(all.entries.map((e) => [e.id - firstId, e]));
      for (const e of own.entries) {
        const same = mine.get(e.id);
        assert(same, `${output}: entry ${e.id} of run ${i} is missing`);
        assert.deepEqual(same.labels.slice(1), e.labels.slice(1));
        assert(same.labels[0].includes(e.labels[0]), `${same.labels[0]}: ${e.labels[0]}`);
        assert.equal(same.parentId, e.parentId === -1 ? -1 : e.parentId + firstId);
      }
      const items = own.entries.filter((e) => e.hasData).map((e) => e.id);
      const [from, to] = [single.begin, single.begin + (single.end - single.begin) / 7n];
      if (output.includes("-")) {
        const values = async (s, add, by) => (await asked(() => s.client.fetchXY(s.id, output,
          QueryHelper.selectionTimeRangeQuery(from + by, to + by, 100, items.map((id) => id + add))))).series.map((x) => x.yValues);
        assert.deepEqual(await values(both, firstId, shift), await values(single, 0, 0n), `${output} of run ${i}`);
        continue;
      }
      const [theirs, mineNow] = [await both.states(output, items.map((id) => id + firstId), from + shift, to + shift, 300), await single.states(output, items, from, to, 300)];
      for (const id of items) {
        const plain = (states, by) => states.map((x) => [x.start - by, x.end - by, x.label, x.style.parentKey]);
        assert.deepEqual(plain(theirs.get(id + firstId), shift), plain(mineNow.get(id), 0n), `${output} ${id} of run ${i}`);
      }
      const arrows = async (s, add, by) => (await asked(() => s.client.fetchTimeGraphArrows(s.id, output, s.range(from + by, to + by))))
        .map((a) => [a.start - by, a.end - by, a.sourceId - add, a.targetId - add, a.style.parentKey]);
      const here = (await arrows(both, firstId, shift)).filter((a) => ids.has(a[2]) && ids.has(a[3]));
      assert.deepEqual(here, await arrows(single, 0, 0n), `arrows between ${output} of run ${i}`);
      const [one] = items;
      assert.deepEqual(await both.tooltip(output, one + firstId, from + shift + 1000n), await single.tooltip(output, one, from + 1000n));
    }
  }
  await bothTables(both, singles);
}

async function bothTables(both, singles) {
  const all = await asked(() => both.client.fetchAnnotations(both.id, "threads", QueryHelper.timeRangeQuery(both.begin, both.end, 1000)));
  const own = await Promise.all(singles.map((s) => asked(() => s.client.fetchAnnotations(s.id, "threads", QueryHelper.timeRangeQuery(s.begin, s.end, 1000)))));
  for (const category of Object.keys(all.annotations))
    assert.equal(all.annotations[category].length, own.reduce((n, x) => n + (x.annotations[category]?.length ?? 0), 0), category);
  for (const output of ["table.machine_time", "table.preemption", "table.exits"]) {
    const columns = await asked(() => both.client.fetchTableColumns(both.id, output, QueryHelper.query()));
    assert.equal(columns[0].name, "History");
    const lines = async (s, skip) => (await s.lines(output, [], 0, 5000)).lines.map((l) => l.cells.slice(skip).filter((_, i, a) => i < a.length - 1).map((c) => c.content));
    const theirs = await lines(both, 1);
    assert.deepEqual(theirs, (await Promise.all(singles.map((s) => lines(s, 0)))).flat(), output);
  }
  const trees = await Promise.all([both, ...singles].map((s) => asked(() => s.client.fetchDataTree(s.id, "statistics.machine_time", s.range()))));
  assert.equal(trees[0].entries.length, trees[1].entries.length + trees[2].entries.length, "statistics of both");
  assert.equal(both.experiment.nbEvents, singles.reduce((n, s) => n + s.experiment.nbEvents, 0), "events of both");
  if (!both.experiment.nbEvents) return;
  const page = await both.lines("events", [], Math.floor(both.experiment.nbEvents / 2), 100);
  const times = page.lines.map((l) => BigInt(l.cells.at(-1).content));
  assert(times.every((t, i) => !i || times[i - 1] <= t), "events of both runs in order");
}

/** Of a counter whose rate nobody knows: its "ns" are cycles, and what is told per second is not. */
const inCycles = !JSON.parse(tell("info", "--format", "json", runPath)).ticks_are_ns;
const told = JSON.parse(tell("report", "-t", "machine_time", "--format", "json", runPath));
const run = { begin: told.begin, end: told.end, machines: JSON.parse(tell("info", "--format", "json", runPath)).machines.length };
const one = await serve("--tsp", runPath);
const two = await serve(runPath, secondPath);
try {
  const keyless = await new Session(one.urls.at(-1)).open();
  for (const [name, test] of Object.entries(tests)) {
    const begun = Date.now();
    await test(keyless);
    console.log(`${name}: ${Date.now() - begun} ms`);
  }
  const behindKey = new Session(two.urls[0] + "tsp/api");
  await experiments(behindKey);
  const singles = [];
  for (const trace of await asked(() => behindKey.client.fetchTraces())) {
    await asked(() => behindKey.client.createExperiment(QueryHelper.query({ name: `alone ${trace.UUID}`, traces: [trace.UUID] })));
    singles.push(await new Session(two.urls[0] + "tsp/api").open(`alone ${trace.UUID}`));
  }
  await bothRuns(behindKey, singles);
  const without = await new HttpTspClient(new URL(two.urls[0]).origin + "/tsp/api").checkHealth();
  assert.equal(without.getStatusCode(), 404, "without --tsp, only behind the key");
} finally {
  assert.equal(await one.stop(), 0);
  assert.equal(await two.stop(), 0);
}
