// SPDX-License-Identifier: Apache-2.0
// How fast the page is, in Chromium without a window and without a graphics card:
//   node bench/web.mjs SONDE RUN [ROWS [PIXELS]]
// First paint: from the navigation's start until the browser shows something (its own
// first-contentful-paint: names, ruler, tools), until all visible rows were drawn as sharp as the
// screen, and until the browser shows the frame that has them (the render time of an element that is
// added as they are drawn: Element Timing); beside it, what the browser takes for a page with two words
// of the same server, which no page can undercut.  Then the same for servers that have just started and
// keep nothing from earlier ones.
// Frames: what drawing one takes while the picture is panned and zoomed, ROWS rows in view.
// Replies: `rows` questions of ROWS attributes and PIXELS pixels, in windows of all sizes: as the page
// sees them, and what the server says of them (Server-Timing): in line, with its workers, CPU time of
// all of these.  What the page sees beyond is the browser's.
import { statSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { browse, serve, settled } from "../tests/web/page.mjs";

const [sonde, run, rowsText = "200", pixelsText = "1600"] = process.argv.slice(2);
const rows = Number(rowsText);
const pixels = Number(pixelsText);
const LABELS = 250 + 13; // beside the picture: names and scroll bar

function line(name, times) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (p) => sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))].toFixed(1);
  console.log(`| ${name} | ${sorted.length} | ${at(0.1)} | ${at(0.5)} | ${at(0.99)} | ${sorted.at(-1).toFixed(1)} |`);
}

const server = await serve(sonde, run);
const browser = await browse({ viewport: { width: pixels + LABELS, height: 260 + rows * 10 } });
const { page } = browser;

// Nothing is asked of the page before it is done: that would be work for it.
const OPENS_MS = 1500;
const empty = [];
const painted = [];
const sharp = [];
const shown = [];
await page.addInitScript(() => {
  const watch = (timeline) => {
    let drawn = 0;
    Object.defineProperty(timeline, "firstDrawn", {
      get: () => drawn,
      set: (t) => {
        drawn = t;
        const mark = document.createElement("p");
        mark.setAttribute("elementtiming", "sharp");
        mark.style.cssText = "position:fixed;left:0;top:0;margin:0;z-index:9";
        mark.textContent = ".";
        document.body.append(mark);
        new PerformanceObserver((list) => {
          window.sharpShown ??= list.getEntries()[0].renderTime;
          mark.remove();
        }).observe({ type: "element", buffered: true });
      },
    });
  };
  Object.defineProperty(window, "sonde", {
    configurable: true,
    set: (app) => {
      Object.defineProperty(window, "sonde", { value: app });
      watch(app.timeline);
    },
  });
});
const paint = () => page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
const open = async (url) => {
  await page.goto("about:blank");
  await page.goto(`${url}#panel=`, { waitUntil: "commit" });
  await page.waitForTimeout(OPENS_MS);
  await settled(page);
  await page.waitForFunction(() => window.sharpShown > 0);
};
for (let i = 0; i < 10; i++) {
  await page.goto("about:blank");
  await page.goto(`${server.url}nothing`);
  await page.waitForTimeout(300);
  empty.push(await paint());
  await open(server.url);
  painted.push(await paint());
  shown.push(await page.evaluate(() => window.sharpShown));
  sharp.push(await page.evaluate(() => window.sonde.timeline.firstDrawn));
}
const firstPainted = [];
const firstShown = [];
for (let i = 0; i < 5; i++) {
  const fresh = await serve(sonde, run, { ...process.env, XDG_CACHE_HOME: "/nowhere" });
  await open(fresh.url);
  firstPainted.push(await paint());
  firstShown.push(await page.evaluate(() => window.sharpShown));
  await fresh.stop();
}

// As many rows as are asked for, small: the threads of all machines, opened.
await page.goto("about:blank");
await page.goto(`${server.url}#panel=&z=0`);
await settled(page);
await page.waitForFunction(() => window.sonde.model.loaded);
const shownRows = await page.evaluate(async () => {
  const app = window.sonde;
  const names = app.model.run.machines.map((m) => m.name);
  app.view.set({ toggled: names.flatMap((n) => [`T:${n}`, `A:${n}`]) });
  await new Promise((r) => setTimeout(r, 300));
  return app.timeline.placed.filter((p) => p.row.attr !== null).length;
});
await settled(page);

const frames = await page.evaluate(async () => {
  const app = window.sonde;
  const { view } = app;
  const frame = () => new Promise((r) => requestAnimationFrame(r));
  const drawn = [];
  const apart = [];
  const run = async (n, move) => {
    for (let i = 0; i < n; i++) {
      const before = app.timeline.took.length;
      const t = performance.now();
      move(i);
      await frame();
      await frame();
      apart.push((performance.now() - t) / 2);
      if (app.timeline.took.length > before) drawn.push(app.timeline.took.at(-1));
    }
  };
  view.show(0, view.length);
  await run(60, () => view.zoom(0.93, view.length * 0.4));
  await run(100, (i) => view.pan(((i % 40 < 20 ? 1 : -1) * view.span) / 40));
  await run(60, () => view.zoom(1.07, view.length * 0.4));
  return { drawn, apart };
});

const answers = await page.evaluate(async ([wanted, px]) => {
  const app = window.sonde;
  const attrs = [...new Set(app.timeline.rows.rows.map((r) => r.attr).filter((a) => a !== null))].slice(0, wanted);
  const times = [];
  const server = { wait: [], answer: [], cpu: [] };
  performance.clearResourceTimings();
  performance.setResourceTimingBufferSize(1000);
  for (let i = 0; i < 300; i++) {
    const span = app.view.length / 2 ** (i % 12);
    const begin = Math.floor(((i * 7919) % 1000) / 1000 * (app.view.length - span));
    const t = performance.now();
    await fetch(`api/rows?begin=${begin}&end=${begin + Math.ceil(span)}&px=${px}&attrs=${attrs.join(",")}`)
      .then((r) => r.arrayBuffer());
    times.push(performance.now() - t);
  }
  const asked = performance.getEntriesByType("resource").filter((e) => e.name.includes("/api/rows?"));
  for (const entry of asked)
    for (const { name, duration } of entry.serverTiming) server[name]?.push(duration);
  return { times, server, attrs: attrs.length };
}, [rows, pixels]);

console.log(`load average ${loadavg()[0].toFixed(1)} on ${cpus().length} CPUs`);
console.log(`${run.replace(/.*\//, "")}: ${(statSync(run).size / 1e6).toFixed(1)} MB; ` +
  `${shownRows} rows in view, ${answers.attrs} attributes in a reply, ${pixels} pixels wide\n`);
console.log("| ms | n | p10 | median | p99 | max |\n|---|---|---|---|---|---|");
line("an empty page of this server", empty);
line("first contentful paint", painted);
line("all visible rows drawn, sharp", sharp);
line("... and on the screen", shown);
line("first contentful paint, server just started", firstPainted);
line("... all visible rows on the screen", firstShown);
line("drawing a frame, pan and zoom", frames.drawn);
line("frame to frame, pan and zoom", frames.apart);
line("reply to `rows`, as the page sees it", answers.times);
line("of it in line", answers.server.wait);
line("of it with a worker, the slower one", answers.server.answer);
line("CPU time of both workers", answers.server.cpu);
await browser.stop();
await server.stop();
