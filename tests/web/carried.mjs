// SPDX-License-Identifier: Apache-2.0
// A report in one file says the same as the server does: node tests/web/carried.mjs SONDE RUN FILE
// FILE is of the run's part 480000000 ns .. 500000000 ns.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { browse, serve, settled } from "./page.mjs";

const BEGIN = 480000000;
const [sonde, run, file] = process.argv.slice(2);
const server = await serve(sonde, run);
const browser = await browse();
const { page } = browser;
const complaints = [];
page.on("pageerror", (e) => complaints.push(e.message));
page.on("console", (m) => {
  if (m.type() === "error") complaints.push(m.text());
});
page.on("request", (r) => {
  if (!/^(file|data|blob|about):/.test(r.url()) && !r.url().startsWith(server.url)) complaints.push(r.url());
});

/** What the page draws of a window: the values of each pixel of each CPU and vCPU. */
const drawn = (begin, end) =>
  page.evaluate(async ([a, b]) => {
    const { api, model } = window.sonde;
    const attrs = model.run.cpus.flatMap((c) => [c.runs, c.state, c.task]).filter((x) => x !== null);
    const { rows } = await api.rows(a, b, 500, attrs);
    return attrs.map((attr) => {
      const out = new Array(500).fill(0);
      const r = rows.get(attr);
      r.value.forEach((v, i) => out.fill(v, r.first[i], r.first[i] + r.nr[i]));
      return out;
    });
  }, [begin, end]);
const stacks = (offset) =>
  page.evaluate(async (o) => {
    const { api, model } = window.sonde;
    const out = [];
    for (let i = 0; i < 60; i++)
      for (const [row, cpu] of model.run.cpus.entries()) {
        if (cpu.machine) continue;
        const at = await api.at("cpu", row, o + 100000 + i * 330000);
        out.push([at.mode, at.detail, at.serves, at.bound_ns,
          at.stack.map((f) => [f.machine, f.cpu, f.thread.label, f.containers.map((c) => c.label)])]);
      }
    return out;
  }, offset);

await page.goto(server.url);
await settled(page);
await page.waitForFunction(() => window.sonde.model.loaded);
const wide = await drawn(BEGIN, BEGIN + 20000000);
const close = await drawn(BEGIN + 3000000, BEGIN + 4000000);
const layers = await stacks(BEGIN);
/** What needs more than rows: arrows, exits in all, and the events around the middle. */
const extras = (o) =>
  page.evaluate(async (offset) => {
    const { api, model } = window.sonde;
    const threads = model.threads.map((_, i) => i).filter((i) => model.threads[i][6] !== null).slice(0, 256);
    const cpus = model.run.cpus.map((_, i) => i);
    const arrows = await api.arrows(offset + 1000000, offset + 19000000, threads, cpus);
    const { vcpus } = await api.exits(offset, offset + 20000000, 600);
    const { events } = await api.events(offset + 10000000, 200, { machine: 1, named: "sched" });
    const path = await api.path(model.threads.findIndex((t) => t[3] === "b-burn"), offset, offset + 20000000);
    const past = (a) => [a[0] - offset, ...a.slice(1, 6)];
    const lasts = arrows.preemptions.filter((a) => a[0] + a[1] < offset + 19000000);
    return {
      wakes: arrows.wakes.map(past), preemptions: lasts.map((a) => [a[0] - offset, ...a.slice(1)]),
      exits: vcpus.map((v) => v.counts.reduce((x, y) => x + y, 0)),
      events: events.filter((e) => e[0] >= offset && e[0] < offset + 20000000).map((e) => [e[0] - offset, ...e.slice(1)]),
      path: path.rows.length,
    };
  }, o);
const more = await extras(BEGIN);
const facts = await page.evaluate(
  (b) => window.sonde.api.facts("machine_time", b, b + 20000000, 100), BEGIN);

await page.goto(pathToFileURL(file).href);
await settled(page);
await page.waitForFunction(() => window.sonde.model.loaded);
assert.equal(await page.evaluate(() => window.sonde.view.length), 20000000);
assert.deepEqual(await drawn(3000000, 4000000), close, "the same pixels, close");
const other = await drawn(0, 20000000);
// Zoomed out the server may take what its summaries know, which is nearly always the same.
const all = wide.flat();
const same = other.flat().filter((v, i) => v === all[i]).length / all.length;
assert.ok(same > 0.97, `the same pixels: ${same}`);
assert.deepEqual(await stacks(0), layers, "the same layers");
const moreCarried = await extras(0);
assert.ok(more.wakes.length >= 3 && more.preemptions.length > 2 && more.events.length > 20 && more.path > 3);
assert.deepEqual(moreCarried, more, "the same arrows, exits, events and critical path");
const carried = await page.evaluate(() => window.sonde.api.facts("machine_time", 0, 20000000, 100));
assert.deepEqual(carried.rows, facts.rows, "the same facts");
await page.keyboard.press("w");
await settled(page);
assert.ok((await page.evaluate(() => window.sonde.view.span)) < 20000000, "keys");
assert.deepEqual(complaints, [], "nothing is asked of anybody, and nothing is wrong");
await browser.stop();
await server.stop();
