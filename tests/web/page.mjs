// SPDX-License-Identifier: Apache-2.0
// For tests of the page: a server of its own, a browser of its own, both gone at the end.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const CHROMIUM = process.env.SONDE_CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

/** Starts `sonde serve`; resolves with its URL and a way to end it. */
export function serve(sonde, run, env = process.env) {
  const child = spawn(sonde, ["serve", "-q", run], { stdio: ["ignore", "pipe", "inherit"], env });
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (data) => {
      text += data;
      const url = /^(http:\S+)\n/.exec(text)?.[1];
      if (url) resolve({ url, pid: child.pid, stop: () => stop(child) });
    });
    child.on("exit", (code) => reject(new Error(`sonde serve ended with ${code}`)));
  });
}

function stop(child) {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => {
    child.on("exit", (code) => resolve(code));
    child.kill("SIGTERM");
  });
}

/** A browser without a window. */
export async function browse(options = {}) {
  const profile = mkdtempSync(join(tmpdir(), "sonde-web-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM, headless: true, args: FLAGS, viewport: { width: 1280, height: 800 },
    acceptDownloads: true, ...options,
  });
  return {
    context,
    page: context.pages()[0] ?? (await context.newPage()),
    async stop() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

/** Waits until the page has drawn what it was asked for. */
export async function settled(page) {
  await page.waitForFunction(() => {
    const app = window.sonde;
    return app && app.data.idle && app.data.settledAt > 0;
  });
  await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
}

/** A page of a run with hands on it: what tests do and ask again and again. */
export async function drive(sonde, run, viewport) {
  const server = await serve(sonde, run);
  const browser = await browse({ viewport });
  const { page } = browser;
  const complaints = [];
  page.on("pageerror", (e) => complaints.push(e.message));
  page.on("console", (m) => {
    // 409: a newer question took its place, as it should be when one moves on.
    if (m.type() === "error" && !m.text().includes("409")) complaints.push(m.text());
  });
  const d = {
    page, complaints, url: server.url,
    settled: () => settled(page),
    shown: () => page.evaluate(() => structuredClone(window.sonde.view.shown)),
    look: () => page.evaluate(() => structuredClone(window.sonde.view.look)),
    span: async () => {
      const s = await d.shown();
      return s.end - s.begin;
    },
    rowIds: () => page.evaluate(() => window.sonde.timeline.rows.rows.map((r) => r.id)),
    /** A thread's row in this run, found by names, as the page writes them: numbers are not the same
     * in each version's history. */
    threadRow: (machine, label) =>
      page.evaluate(([inMachine, name]) => {
        const { model } = window.sonde;
        const rows = [...model.threads.keys()].filter(
          (i) => model.machineName(model.threads[i][0]) === inMachine && model.threadLabel(i) === name);
        if (rows.length !== 1) throw new Error(`${rows.length} threads are ${name} of ${inMachine}`);
        return rows[0];
      }, [machine, label]),
    /** The row of a CPU or vCPU, "machine/number". */
    cpuRow: (label) =>
      page.evaluate((name) => {
        const { model } = window.sonde;
        const row = model.run.cpus.findIndex((_, i) => model.cpuLabel(i) === name);
        if (row < 0) throw new Error(`no CPU is ${name}`);
        return row;
      }, label),
    picture: () => page.locator("canvas.rows").boundingBox(),
    /** The colours of a line of a row, low in it, one number per pixel. */
    pixels: (id) =>
      page.evaluate((rowId) => {
        const { timeline } = window.sonde;
        const p = timeline.placed.find((q) => q.row.id === rowId);
        const c = timeline.canvas;
        const ratio = c.width / c.clientWidth;
        const y = Math.round((p.y + p.height * 0.85) * ratio);
        const d = new Uint32Array(c.getContext("2d").getImageData(0, y, c.width, 1).data.buffer);
        return [...d];
      }, id),
    rowMiddle: (id) =>
      page.evaluate((rowId) => {
        const { timeline } = window.sonde;
        const p = timeline.placed.find((q) => q.row.id === rowId);
        const box = timeline.canvas.getBoundingClientRect();
        return { x: box.x, y: box.y + p.y + p.height / 2 };
      }, id),
    key: async (name) => {
      await page.keyboard.press(name);
      await settled(page);
    },
    fresh: async (hash = "") => {
      await page.goto("about:blank");
      await page.goto(server.url + hash);
      await settled(page);
      await page.waitForFunction(() => window.sonde.model.loaded);
      await settled(page);
    },
    stop: async () => {
      await browser.stop();
      await server.stop();
    },
    /** Runs all tests, says how each went, and ends the program. */
    run: async (tests) => {
      const only = process.env.ONLY;
      let failed = 0;
      for (const test of tests) {
        if (only && test.name !== only) continue;
        try {
          await test();
          if (complaints.length) throw new Error(`the browser complained: ${complaints.join("; ")}`);
          console.log(`ok ${test.name}`);
        } catch (e) {
          failed++;
          complaints.length = 0;
          console.log(`FAILED ${test.name}: ${e.stack}`);
        }
      }
      await d.stop();
      process.exit(failed ? 1 : 0);
    },
  };
  return d;
}
