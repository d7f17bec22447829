// SPDX-License-Identifier: Apache-2.0
// The trace viewer of Theia and VS Code, as far as it is a component, over `sonde serve --tsp`:
//   node tests/web/viewer.mjs SONDE RUN FOLDER
// FOLDER has app.js and app.css, built by viewer/build.mjs.  With SHOTS=DIR, pictures are left there.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { browse } from "./page.mjs";

const [sonde, run, folder] = process.argv.slice(2);
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
  ["facts.hypervisor", ["table/facts.hypervisor/lines"], ["OVERHEAD", "29.5%"]],
  ["statistics.machine_time", ["data/statistics.machine_time/tree"], ["51.6%"]],
];
let failed = 0;
for (const [output, calls, words] of SHOWN) {
  try {
    const asked = calls.map((c) => page.waitForResponse((r) => r.url().endsWith(`/outputs/${c}`)));
    await page.goto(`${origin}/?tsp=${encodeURIComponent(url)}&outputs=${output}`);
    await Promise.all(asked);
    for (const word of words) await page.getByText(word, { exact: true }).first().waitFor({ state: "attached" });
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
