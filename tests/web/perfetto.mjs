// SPDX-License-Identifier: Apache-2.0
// What Perfetto's trace processor makes of exports, against the CSV export and reports of the same run:
//   node tests/web/perfetto.mjs PROCESSOR SONDE RUN DIR      DIR has run.perfetto, run.chrome, run.csv
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { open } from "./trace_processor.mjs";

const [folder, sonde, run, dir] = process.argv.slice(2);
const tell = (...words) => JSON.parse(execFileSync(sonde, [...words, "--format", "json"], { maxBuffer: 1 << 29, encoding: "utf8" }));
const info = tell("info", run);

/** Rows of the CSV export by kind and row; no text of it has a comma. */
function intervals() {
  const rows = new Map();
  const [head, ...lines] = readFileSync(path.join(dir, "run.csv"), "utf8").trimEnd().split("\n");
  const names = head.split(",");
  for (const line of lines) {
    const cells = line.split(",");
    assert.equal(cells.length, names.length, line);
    const row = Object.fromEntries(cells.map((c, i) => [names[i], c]));
    const key = `${row.kind} ${row.row}`;
    if (!rows.has(key)) rows.set(key, []);
    rows.get(key).push(row);
  }
  return rows;
}

/** Nothing was thrown away, mended or misunderstood: the processor counts all that. */
async function checkStats(viewer, name) {
  const odd = await viewer.sql("select name, value from stats where value != 0 and name not glob '*_duration_ns' " +
    "and name not in ('clock_sync_cache_miss', 'json_display_time_unit')");
  assert.deepEqual(odd, [], name);
  assert.deepEqual(await viewer.sql("select id from slice where dur < 0 or ts < " + info.begin + " or ts + dur > " + info.end), [], name);
  assert.deepEqual(await viewer.sql("select distinct category from slice where category is null or category glob 'unknown(*'"), [], name);
}

/** Tracks by their path from the root. */
async function checkTracks(viewer) {
  const tracks = await viewer.sql("select id, name, parent_id from track");
  const byId = new Map(tracks.map((t) => [t.id, t]));
  const full = (t) => (t.parent_id === null ? t.name : `${full(byId.get(t.parent_id))}/${t.name}`);
  const paths = tracks.map(full);
  assert.equal(new Set(paths).size, paths.length, "two tracks of one name were made one");
  for (const wanted of ["host0/CPUs/CPU 1", "host0/vm-a/vCPUs/vm-a/0", "host0/vm-a/vm-a-n/CPU use", "host0/vm-b/exits"])
    assert(paths.includes(wanted), `there is no track ${wanted}`);
}

/** What a CPU did is its innermost slices; vCPUs' and threads' are their only ones. */
async function checkSlices(viewer, csv) {
  const slices = (where) => viewer.sql("select s.name, s.ts, s.ts + s.dur as end from slice s join track t on t.id = s.track_id " +
    `left join track p on p.id = t.parent_id where s.dur > 0 and ${where} order by s.ts`);
  const flat = (rows) => rows.map((r) => [r.name, Number(r.ts), Number(r.end)]);
  for (const cpu of [0, 1]) {
    const inner = await slices(`t.name = 'CPU ${cpu}' and p.name = 'CPUs' and s.id not in
      (select parent_id from slice where parent_id is not null and dur > 0)`);
    const wanted = csv.get(`cpu host0/${cpu}`);
    assert.equal(inner.length, wanted.length, `slices of CPU ${cpu}`);
    inner.forEach((s, i) => {
      assert.deepEqual([Number(s.ts), Number(s.end)], [Number(wanted[i].begin), Number(wanted[i].end)]);
      assert(s.name.startsWith(wanted[i].state), `${s.name} at ${s.ts}, not ${wanted[i].state}`);
    });
  }
  for (const [key, wanted] of csv) {
    const [kind, row] = [key.slice(0, key.indexOf(" ")), key.slice(key.indexOf(" ") + 1)];
    if (kind !== "vcpu") continue;
    assert.deepEqual(flat(await slices(`t.name = '${row}' and p.name = 'vCPUs'`)),
      wanted.map((r) => [r.state, Number(r.begin), Number(r.end)]), row);
  }
  const sums = {};
  for (const [key, rows] of csv)
    if (key.startsWith("thread ")) for (const r of rows) sums[r.state] = (sums[r.state] ?? 0n) + BigInt(r.length);
  const told = await viewer.sql("select name, sum(dur) as ns from slice where category = 'thread' group by name");
  assert.deepEqual(Object.fromEntries(told.map((r) => [r.name, r.ns])), sums, "states of threads");
}

/** Arrows: each from who did it to what it did, at one moment; as many as there are facts of them. */
async function checkFlows(viewer) {
  const flows = await viewer.sql("select a.category as why, b.category as what, b.name as name, a.ts as begin, b.ts as end, count(*) as nr " +
    "from flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in group by 1, 2, 3, 4, 5");
  assert(flows.every((f) => f.begin === f.end), "an arrow that goes back or on in time");
  const count = (why, what) => flows.filter((f) => f.why === why && f.what === what).reduce((n, f) => n + Number(f.nr), 0);
  assert.equal(count("preemption", "preemption") + count("wakeup", "thread") + count("wakeup", "wakeup"),
    flows.reduce((n, f) => n + Number(f.nr), 0));
  assert(flows.filter((f) => f.what === "thread").every((f) => ["runnable", "running"].includes(f.name)), "woken, and yet asleep");
  // Of each time a vCPU was kept off, the first who did it.
  const first = tell("report", run, "-t", "preemption_list").preemption_list.filter((p) => p.at === p.preemption_begin && p.on && p.why !== "queued");
  assert.equal(count("preemption", "preemption"), first.length);
  return count("preemption", "preemption");
}

/** The mean of a machine's CPU use is what it used. */
async function checkValues(viewer) {
  const means = await viewer.sql("select p.name as machine, avg(c.value) as mean, count(*) as nr from counter c join track t on t.id = c.track_id " +
    "join track p on p.id = t.parent_id where t.name = 'CPU use' group by 1");
  for (const row of tell("report", run, "-t", "machine_time").machine_time) {
    const told = means.find((m) => m.machine === row.machine);
    const used = ((row.total - row.idle - row.unknown) * 100) / (info.end - info.begin);
    assert(told && told.nr >= 1000n && Math.abs(told.mean - used) < 0.05, `${row.machine}: ${told?.mean}, not ${used}`);
  }
}

/** What docs/export.md says to ask, as it stands there: threads in a VM. */
async function checkDocument(viewer, csv) {
  const query = /```sql\n([^`]*)```/.exec(readFileSync("docs/export.md", "utf8"))[1];
  const told = await viewer.sql(query.replaceAll("vm-a", "vm-b"));
  const ns = new Map();
  for (const [key, rows] of csv)
    if (key.startsWith("cpu ")) for (const r of rows)
      if (r.machine === "vm-b" && r.thread !== "idle") ns.set(`vm-b: ${r.thread}`, (ns.get(`vm-b: ${r.thread}`) ?? 0) + Number(r.length));
  assert.deepEqual(told.map((r) => [r.name, Math.round(r.ms * 1e6)]).sort(), [...ns].sort(), "the document's query");
  assert((await viewer.sql(query)).length > 5, "the document's query as it is");
}

/** Both formats show the same. */
async function checkSame(perfetto, chrome) {
  const all = async (viewer, track) => (await viewer.sql(`select ${track} as track, s.category, s.name, ts, dur, depth from slice s ` +
    "join track t on t.id = s.track_id left join thread_track h on h.id = t.id left join thread using (utid)"))
    .map((r) => Object.values(r).join("|")).sort();
  assert.deepEqual(await all(chrome, "thread.name"), await all(perfetto, "t.name"));
  const flows = async (viewer) => (await viewer.sql("select a.ts as begin, a.name as \"from\", b.ts as end, b.name as \"to\" from flow f " +
    "join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in")).map((r) => Object.values(r).join("|")).sort();
  assert.deepEqual(await flows(chrome), await flows(perfetto));
}

// The processor says on the console how it reads.
const log = console.log;
console.log = console.warn = () => {};
const csv = intervals();
const [perfetto, chrome] = await open(folder, [path.join(dir, "run.perfetto"), path.join(dir, "run.chrome")]);
await checkStats(perfetto, "perfetto");
await checkStats(chrome, "chrome");
await checkTracks(perfetto);
await checkSlices(perfetto, csv);
const preemptions = await checkFlows(perfetto);
await checkValues(perfetto);
await checkDocument(perfetto, csv);
await checkSame(perfetto, chrome);
const [{ slices }] = await perfetto.sql("select count(*) as slices from slice");
log(`${slices} slices in both formats, ${preemptions} arrows to who was preempted`);
perfetto.close();
chrome.close();
