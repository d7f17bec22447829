// SPDX-License-Identifier: Apache-2.0
// The trace viewer of Theia and VS Code, as far as it is a component, over `sonde serve --tsp`:
//   node tests/web/viewer.mjs SONDE RUN FOLDER TRACE...    the traces RUN was made of
// FOLDER has app.js and app.css, built by viewer/build.mjs.  With SHOTS=DIR, pictures are left there;
// with ONLY=OUTPUT, that one is tried.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { browse } from "./page.mjs";

const [sonde, run, folder, ...traces] = process.argv.slice(2);
const TYPES = { ".js": "text/javascript", ".css": "text/css" };
const PAGE = '<!doctype html><link rel="stylesheet" href="app.css"><style>:root{--theia-ui-font-size1:13px}' +
  'body{margin:0;background:#fff}#root{height:850px}</style><div id="root"></div><script src="app.js"></script>';

const web = http.createServer((request, response) => {
  const name = path.basename(new URL(request.url, "http://x").pathname);
  const file = path.join(folder, name);
  response.statusCode = !name || (TYPES[path.extname(name)] && existsSync(file)) ? 200 : 404;
  response.setHeader("content-type", TYPES[path.extname(name)] ?? "text/html");
  response.end(!name ? PAGE : response.statusCode === 200 ? readFileSync(file) : "");
}).listen(0, "127.0.0.1");
await new Promise((done) => web.on("listening", done));
const origin = `http://127.0.0.1:${web.address().port}`;

const server = spawn(sonde, ["serve", "-q", "--tsp", "--tsp-origin", origin, run], { stdio: ["ignore", "pipe", "inherit"] });
const url = await new Promise((done, failed) => {
  let text = "";
  server.stdout.on("data", (data) => {
    text += data;
    const tsp = /http:\S+\/tsp\/api/.exec(text)?.[0];
    if (tsp) done(tsp);
  });
  server.on("exit", () => failed(new Error("sonde serve ended")));
});

const browser = await browse({ viewport: { width: 1280, height: 860 } });
const { page } = browser;
const wrong = [];
page.on("pageerror", (e) => wrong.push(e.message));
page.on("response", (r) => {
  if (r.url().startsWith(url) && r.status() !== 200) wrong.push(`${r.status()} ${r.url()}`);
});

/** Calls that the viewer makes for each output, and words that it shows. */
const SHOWN = [
  ["fused", ["timeGraph/fused/tree", "timeGraph/fused/states", "timeGraph/fused/arrows"], ["host0/0", "host0/1"]],
  ["vcpus", ["timeGraph/vcpus/states"], ["vm-a/1", "vm-a-n/0"]],
  ["threads", ["timeGraph/threads/states"], ["rcu_preempt"]],
  ["cpu-use", ["XY/cpu-use/xy"], ["vm-b"]],
  ["exit-rate", ["XY/exit-rate/xy"], ["vm-b/0"]],
  ["events", ["table/events/columns", "table/events/lines"], ["Contents"], eventsTable],
  ["table.hypervisor", ["table/table.hypervisor/lines"], ["OVERHEAD", "29.5%"]],
  ["statistics.machine_time", ["data/statistics.machine_time/tree"], ["51.6%"]],
];

/** The events that the table shows are those that `sonde events` lists, and its search finds them. */
async function eventsTable() {
  const words = ["events", "-q", "--format", "json", ...traces];
  const events = execFileSync(sonde, words, { maxBuffer: 1 << 29, encoding: "utf8" }).trimEnd().split("\n").map((l) => JSON.parse(l));
  const rows = page.locator(".ag-center-cols-container .ag-row");
  // What a row shows, by the titles of its columns: ag-grid draws no cells that are out of sight.
  const shown = (index) => page.evaluate((i) => {
    const titles = Object.fromEntries([...document.querySelectorAll(".ag-header-cell[col-id]")]
      .map((h) => [h.getAttribute("col-id"), h.textContent.trim()]));
    return Object.fromEntries([...document.querySelectorAll(`.ag-row[row-index="${i}"] .ag-cell`)]
      .map((c) => [titles[c.getAttribute("col-id")], c.textContent.trim()]));
  }, index);
  const check = async (index) => {
    const row = await shown(index), e = events[index];
    assert.deepEqual([row.Machine, row.CPU, row["Event type"]], [e.machine, String(e.cpu), e.name], `row ${index}: ${JSON.stringify(row)}`);
  };
  await rows.first().waitFor();
  for (let i = 0; i < 5; i++) await check(i);

  // A search goes to the next line that has it; what has only its letters in another case is none.
  const column = await page.evaluate(() => [...document.querySelectorAll(".ag-header-cell[col-id]")]
    .find((h) => h.textContent.includes("Event type")).getAttribute("aria-colindex"));
  const field = page.locator(`.ag-header-row-column-filter [aria-colindex="${column}"] [data-testid="search-filter-element-parent"]`);
  const search = async (text) => {
    const input = field.locator("input");
    if (!(await input.count())) await field.click();
    await input.fill(text);
    await page.waitForTimeout(200);
    const answered = page.waitForResponse((r) => r.url().endsWith("/table/events/lines") && r.request().postData().includes("search_direction"));
    await input.press("Enter");
    return (await (await answered).json()).model.lines;
  };
  const wanted = events.findIndex((e, i) => i > 300 && !events.slice(0, i).some((x) => x.name.includes(e.name)));
  const [found] = await search(events[wanted].name);
  assert.equal(found.index, wanted);
  await page.locator(`.ag-row[row-index="${wanted}"].ag-row-selected`).waitFor();
  await check(wanted);
  assert.deepEqual(await search(events[wanted].name.toUpperCase()), []);
  assert.equal(await rows.count() > 0, true, "the table is gone");
}

let failed = 0;
for (const [output, calls, words, more] of SHOWN) {
  if (process.env.ONLY && process.env.ONLY !== output) continue;
  try {
    const asked = calls.map((c) => page.waitForResponse((r) => r.url().endsWith(`/outputs/${c}`)));
    await page.goto(`${origin}/?tsp=${encodeURIComponent(url)}&outputs=${output}`);
    await Promise.all(asked);
    for (const word of words) await page.getByText(word, { exact: true }).first().waitFor({ state: "attached" });
    await more?.();
    assert.equal(await page.evaluate(() => window.viewerError ?? ""), "");
    assert.deepEqual(wrong, []);
    if (process.env.SHOTS) {
      await page.waitForTimeout(1500);
      await page.screenshot({ path: path.join(process.env.SHOTS, `viewer-${output}.png`) });
    }
    console.log(`ok ${output}`);
  } catch (e) {
    failed++;
    wrong.length = 0;
    console.log(`FAILED ${output}: ${e.message}`);
  }
}
await browser.stop();
server.removeAllListeners("exit");
server.kill("SIGTERM");
web.close();
process.exit(failed ? 1 : 0);
