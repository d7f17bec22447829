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
export function serve(sonde, run) {
  const child = spawn(sonde, ["serve", "-q", run], { stdio: ["ignore", "pipe", "inherit"] });
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
