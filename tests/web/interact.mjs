// SPDX-License-Identifier: Apache-2.0
// Every hand and key of the page, in a real browser: node tests/web/interact.mjs SONDE RUN
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { drive } from "./page.mjs";

const [sonde, run] = process.argv.slice(2);
const d = await drive(sonde, run, { width: 1280, height: 1300 });
const { page, url, fresh, key, shown, look, span, rowIds, picture, pixels, rowMiddle } = d;
const settled = () => d.settled();

async function sumsOfRows() {
  await fresh("#t=480000000-500000000&panel=");
  const physical = await pixels("p/1");
  const parts = [];
  for (const name of ["host0", "vm-a", "vm-b", "vm-a-n"]) parts.push(await pixels(`o:${name}/1`));
  const ground = await page.evaluate(() => {
    const [r, g, b] = window.sonde.theme.row;
    return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
  });
  // Names and grid lines lie over some pixels; elsewhere exactly one machine has the piece.
  let one = 0;
  physical.forEach((_, x) => {
    if (parts.filter((p) => p[x] !== ground).length === 1) one++;
  });
  assert.ok(one > physical.length * 0.9, `${one} of ${physical.length} pixels are of one machine`);
  assert.ok(parts.every((p) => p.some((v) => v !== ground)), "a machine has no part");
}

/** Of a run with very many contexts the page fetches those that it shows: the same pixels, names included. */
async function manyContexts() {
  const where = "#t=480000000-500000000&panel=&arrows=0"; // which come when they like
  await fresh(where);
  const all = await pixels("p/1");
  const asked = [];
  await page.route(url, async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace(/"nr_contexts":\s*\d+/, '"nr_contexts": 1000000');
    await route.fulfill({ response, body });
  });
  const listen = (r) => r.url().includes("api/contexts") && asked.push(r.url());
  page.on("request", listen);
  try {
    await fresh(where);
    assert.deepEqual(await pixels("p/1"), all, "the picture is the same");
    for (let i = 0; i < 4; i++) await key("w");
    assert.deepEqual(await page.evaluate(() => {
      const { model, data } = window.sonde;
      return [model.fewContexts, model.contexts.length, model.unknownContexts(data.fine.rows)];
    }), [false, 1000000, []], "what is shown has names");
    assert.ok(asked.length > 0, "names that are missing are asked for");
    assert.ok(asked.every((u) => u.includes("rows=")), `all contexts were asked for: ${asked[0]}`);
  } finally {
    page.off("request", listen);
    await page.unroute(url);
  }
}

/** Rows that are scrolled under the pinned ones are not painted over them, half or whole. */
async function underPinned() {
  await fresh("#panel=");
  await page.evaluate(() => {
    const { view, timeline } = window.sonde;
    view.set({ pinned: timeline.rows.rows.slice(1, 3).map((r) => r.id) });
  });
  for (const y of [0, 7, 15, 23, 40]) {
    await page.evaluate((to) => window.sonde.scrollTo(to), y);
    await settled();
    const over = await page.evaluate(() => {
      const { placed, pinnedHeight, rows } = window.sonde.timeline;
      return placed.filter((p) => p.y < pinnedHeight && !rows.pinned.includes(p.row)).map((p) => p.row.id);
    });
    assert.deepEqual(over, [], `scrolled to ${y}`);
  }
}

async function wheelAndDrag() {
  await fresh();
  const box = await picture();
  const x = box.x + box.width * 0.25;
  await page.mouse.move(x, box.y + 60);
  const under = await page.evaluate((px) => window.sonde.timeline.time(px), box.width * 0.25);
  for (let i = 0; i < 5; i++) await page.mouse.wheel(0, -240);
  await settled();
  const zoomed = await span();
  assert.ok(zoomed < 0.2 * 1.5e9, `wheel: ${zoomed}`);
  const after = await page.evaluate((px) => window.sonde.timeline.time(px), box.width * 0.25);
  assert.ok(Math.abs(after - under) < zoomed / 200, "the moment under the pointer stays there");
  const before = await shown();
  await page.mouse.down();
  await page.mouse.move(x - 200, box.y + 60, { steps: 5 });
  await page.mouse.up();
  const dragged = await shown();
  const moved = (dragged.begin - before.begin) / zoomed;
  assert.ok(Math.abs(moved - 200 / box.width) < 0.01, `drag: ${moved}`);
  await page.keyboard.down("Shift");
  await page.mouse.wheel(0, 300);
  await page.keyboard.up("Shift");
  assert.ok((await shown()).begin > dragged.begin, "shift wheel");
  await page.mouse.move(box.x + 5, box.y + 60);
  for (let i = 0; i < 40; i++) await page.mouse.wheel(0, 240);
  assert.equal(await span(), 1499933552, "no further out than the run");
  const [, from] = (await page.locator(".span").innerText()).match(/^from ([\d.]+) for/);
  assert.ok(Number(from) >= 59.599906, `the header's ${from} is not before the run's begin`);
}

async function keysMove() {
  await fresh("#t=400000000-500000000");
  await page.mouse.move(1, 1);
  const begin = await shown();
  await key("d");
  assert.ok((await shown()).begin > begin.begin, "d");
  await key("a");
  assert.ok(Math.abs((await shown()).begin - begin.begin) < 2, "a");
  await key("w");
  assert.ok((await span()) < 1e8, "w");
  await key("s");
  assert.ok(Math.abs((await span()) - 1e8) < 2, "s");
  await key("Shift+D");
  assert.ok((await shown()).begin > begin.begin + 8e7, "a screen");
  await key("0");
  assert.equal((await shown()).begin, 0);
  await key("u");
  assert.ok((await shown()).begin > 0, "undo");
  await key("Shift+U");
  assert.equal((await shown()).begin, 0, "redo");
}

/** The browser's own ways back and forth go by steps, and a movement is one of them. */
async function backAndForth() {
  await fresh("#t=400000000-500000000");
  const begins = (at) => page.waitForFunction((t) => window.sonde.view.shown.begin === t, at);
  const inUrl = (part) => page.waitForFunction((p) => location.hash.startsWith(p), part);
  const pushed = await page.evaluate(async () => {
    const { view } = window.sonde;
    const wait = () => new Promise((done) => setTimeout(done, 400)); // the URL is written after 250 ms
    const push = history.pushState;
    let times = 0;
    history.pushState = (...what) => { times++; push.apply(history, what); };
    view.set({ begin: 410000000 });
    view.undo();
    await wait();
    view.setLook({ rowSize: 2 });
    await wait();
    history.pushState = push;
    return times;
  });
  await inUrl("#t=400000000-500000000&z=2");
  assert.equal(pushed, 0, "a step that was undone before the URL had it is none");
  await fresh("#t=400000000-500000000");
  await key("Shift+D");
  await key("Shift+D");
  const there = (await shown()).begin;
  await inUrl(`#t=${there}-`);
  await page.goBack();
  await begins(400000000);
  await page.goForward();
  await begins(there);
  await key("0");
  await page.waitForFunction(() => location.hash === "");
  await page.goBack();
  await begins(there);
}

async function stepsAndRows() {
  await fresh("#t=480000000-500000000&c=484000000&r=p/0");
  const at = async () => (await shown()).cursor;
  const change = async (name) => {
    const before = await at();
    await page.keyboard.press(name);
    await page.waitForFunction((b) => window.sonde.view.shown.cursor !== b, before);
    return at();
  };
  const next = await change("ArrowRight");
  assert.ok(next > 484000000, "next");
  const truth = await page.evaluate((t) => window.sonde.api.at("cpu", 0, t), next);
  assert.equal(truth.begin, next, "the cursor is on a change");
  const back = await change("ArrowLeft");
  assert.ok(back < next, "last");
  const task = await page.evaluate((t) => window.sonde.api.at("cpu", 0, t), await at());
  const again = await change("n");
  const then = await page.evaluate((t) => window.sonde.api.at("cpu", 0, t), again);
  assert.equal(then.stack.at(-1).thread.label, task.stack.at(-1).thread.label, "the same task again");
  await key("ArrowDown");
  assert.equal((await shown()).row, "p/1");
  await key("ArrowUp");
  assert.equal((await shown()).row, "p/0");
  await key("p");
  assert.deepEqual((await shown()).pinned, ["p/0"]);
  assert.equal(await page.locator(".label.pinned").count(), 1);
  await key("p");
  await key("h");
  assert.ok(!(await rowIds()).includes("p/0"), "hidden");
  await key("Shift+H");
  assert.ok((await rowIds()).includes("p/0"), "shown again");
}

async function ranges() {
  await fresh("#t=400000000-500000000&panel=range");
  const box = await picture();
  await page.mouse.move(box.x + 100, box.y + 40);
  await page.keyboard.down("Shift");
  await page.mouse.down();
  await page.mouse.move(box.x + 300, box.y + 40, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  const { range } = await shown();
  assert.ok(Math.abs(range[1] - range[0] - (200 / box.width) * 1e8) < 2e5, "range by drag");
  await page.waitForSelector("text=the chosen range");
  await page.waitForSelector("text=CPU time by machine");
  const facts = await page.evaluate(
    ([a, b]) => window.sonde.api.facts("machine_time", Math.floor(a), Math.ceil(b), 50), range);
  const total = facts.columns.findIndex((c) => c.name === "total");
  const sum = facts.rows.reduce((n, r) => n + r[total], 0);
  assert.equal(sum, 2 * (Math.ceil(range[1]) - Math.floor(range[0])), "the range's times add up");
  await key("z");
  assert.ok(Math.abs((await span()) - (range[1] - range[0])) < 2, "z");
  await key("Escape");
  assert.equal((await shown()).range, null, "Escape");
}

async function filters() {
  await fresh("#t=480000000-500000000&panel=");
  const before = await pixels("p/0");
  await page.keyboard.press("f");
  await page.keyboard.type("machine:vm-b");
  await page.keyboard.press("Enter");
  await settled();
  const after = await pixels("p/0");
  assert.ok(before.some((v, i) => v !== after[i]), "the rest fades");
  const vmb = await pixels("o:vm-b/1");
  const ofVmb = await page.evaluate(() => window.sonde.model.contexts.map(
    (c, i) => window.sonde.filter.context(window.sonde.model, i) === (window.sonde.model.machineName(c[0]) === "vm-b")));
  assert.ok(ofVmb.every(Boolean) && vmb.length, "what is of vm-b, and nothing else, is kept");
  await page.waitForFunction(() => location.hash.includes("vm-b"));
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  await settled();
  assert.equal((await shown()).filter, "machine:vm-b", "a deep link");
  assert.equal(await page.locator(".status").innerText(), "");
  await page.keyboard.press("f");
  await page.keyboard.type("machine:nope");
  await settled();
  assert.match(await page.locator(".status").innerText(), /nothing that is shown matches/);
  await page.keyboard.press("Escape");
  await key("Escape");
  assert.equal((await shown()).filter, "");
  await page.locator(".legend .key", { hasText: "hypervisor" }).click();
  assert.equal((await shown()).filter, "state=hypervisor", "the legend highlights");
  await page.locator('.label[data-row="m:vm-a"]').hover();
  await page.locator('.label[data-row="m:vm-a"] .tools button[title="highlight"]').click();
  assert.equal((await shown()).filter, "state=hypervisor machine=vm-a", "terms are joined");
  const both = await page.evaluate(() => {
    const { model, filter } = window.sonde;
    return model.contexts.every((c, i) =>
      filter.context(model, i) === (c[3] === 6 && model.machineName(c[0]) === "vm-a"));
  });
  assert.ok(both, "and");
}

async function searching() {
  // The busiest threads, which move the rows, come when the row that was found is in view.
  let release;
  const found = new Promise((resolve) => (release = resolve));
  await page.route(/slot=busy/, async (route) => {
    await found;
    await route.continue();
  });
  await fresh();
  await page.keyboard.press("/");
  await page.keyboard.type("b-burn");
  await page.waitForSelector(".found .item");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => window.sonde.view.shown.cursor !== null);
  const s = await shown();
  assert.match(s.row, /^t:\d+$/);
  const state = await page.evaluate(
    ([row, t]) => window.sonde.api.at("thread", row, t), [Number(s.row.slice(2)), s.cursor]);
  assert.equal(state.state, 2, "it runs there");
  assert.ok(state.thread.label.startsWith("b-burn"));
  const label = page.locator(`.label[data-row="${s.row}"]`);
  await label.waitFor();
  assert.equal(await page.evaluate(() => window.sonde.busy.size), 0);
  const before = await rowIds();
  release();
  await page.waitForFunction(() => window.sonde.busy.size > 0);
  await page.unroute(/slot=busy/);
  await settled();
  assert.notDeepEqual(await rowIds(), before, "rows have come");
  await settled();
  assert.equal(await label.count(), 1, "its row is in view");
  await page.keyboard.press("/");
  await page.keyboard.type("wl");
  const first = page.locator(".found .item").first();
  await first.filter({ hasText: /^wl\[16\d\]/ }).waitFor(); // not wl-ping's container
  await page.keyboard.press("Control+A");
  await page.keyboard.type("50%");
  await page.keyboard.press("Enter");
  await page.waitForFunction((c) => window.sonde.view.shown.cursor !== c, s.cursor);
  assert.ok(Math.abs((await shown()).cursor - 749966776) < 2, "a time");
}

async function tooltips() {
  await fresh("#t=481000000-484000000");
  const { x, y } = await rowMiddle("p/0");
  const box = await picture();
  await page.mouse.move(x + box.width * 0.6, y);
  await page.waitForSelector(".tooltip .frame");
  const text = await page.locator(".tooltip").innerText();
  for (const word of ["host0", "vm-a", "vm-a-n", "L0", "L1", "L2", "clock ±"])
    assert.ok(text.includes(word), `tooltip lacks ${word}: ${text}`);
  const vcpu = await rowMiddle("v:vm-a/1");
  await page.mouse.move(vcpu.x + box.width * 0.5, vcpu.y);
  await page.waitForSelector(".tooltip >> text=preempted");
  await page.waitForSelector(".tooltip >> text=instead ran");
}

async function notesAndClocks() {
  await fresh("#c=700000000");
  await key("b");
  await page.waitForSelector(".notes input");
  await page.fill(".notes input", "here it waits");
  await page.keyboard.press("Tab");
  await page.waitForFunction(() => location.hash.includes("here"));
  await page.reload();
  await settled();
  assert.deepEqual((await shown()).notes, [{ t: 700000000, text: "here it waits" }]);
  const before = await page.locator(".span").innerText();
  await page.locator("canvas.rows").focus();
  await key("c");
  assert.notEqual(await page.locator(".span").innerText(), before, "another clock");
  await key("t");
  assert.equal((await look()).theme, "dark");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await key("Shift+T");
  assert.equal((await look()).safe, true);
  await key("r");
  assert.equal((await look()).rowSize, 2);
  await key("?");
  assert.ok(await page.locator(".sheet").isVisible());
  await key("Escape");
  assert.ok(!(await page.locator(".sheet").isVisible()));
}

/** The ruler's times are the report's, and told apart however far in it is. */
async function rulerTimes() {
  for (const [hash, least] of [["", 4], ["#t=480000000-480000400", 3], ["#t=480000000-480000400&clock=relative", 3],
    ["#t=480000000-480000400&clock=wall", 3], ["#t=100-150", 2]]) {
    await fresh(hash);
    const [ticks, begin, span] = await page.evaluate(() => {
      const { timeline, view } = window.sonde;
      return [timeline.ticks(), view.shown.begin, view.span / timeline.width];
    });
    assert.ok(ticks.length >= least, `${hash}: ${ticks.length} marks`);
    assert.equal(new Set(ticks.map((t) => t[1])).size, ticks.length, `${hash}: ${ticks.map((t) => t[1])}`);
    for (let i = 1; i < ticks.length; i++)
      assert.ok(ticks[i][0] - ticks[i - 1][0] > ticks[i - 1][1].length * 6.4, `${hash}: "${ticks[i - 1][1]}" has room`);
    if (hash.includes("clock")) continue;
    const [x, text] = ticks[1];
    const ns = Number(BigInt(text.replace(".", "").padEnd(text.indexOf(".") + 9, "0")) - 59599906000n);
    assert.ok(Math.abs(ns - (begin + x * span)) <= span, `${hash}: ${text} stands at its place`);
  }
}

async function panels() {
  await fresh("#t=480000000-500000000&c=484000000");
  for (const [tab, text] of [["range", "CPU time by machine"], ["events", "kvm_"], ["history", "How it was found"],
    ["verdicts", "Hypervisor overhead by VM"]]) {
    await page.locator(`[data-tab="${tab}"]`).click();
    await page.waitForFunction((t) => document.querySelector(".panel-body").innerText.toLowerCase().includes(t.toLowerCase()), text);
  }
  await page.locator('[data-tab="tables"]').click();
  await page.selectOption(".panel-body select", "preemption_list");
  await page.waitForSelector("h3 >> text=Preemptions, one by one");
  const s = await shown();
  await page.locator(".panel-body td .link[title='show this moment']").first().click();
  assert.notEqual((await shown()).begin, s.begin, "a row is a way to its place");
  await page.selectOption(".panel-body select", "why");
  await page.waitForSelector("td.text");
  const [names, wide, room] = await page.evaluate(() => [
    [document.querySelector(".facts h3").textContent, document.querySelector(".facts th").textContent],
    document.querySelector("td.text").clientWidth, document.querySelector(".panel-body").clientWidth,
  ]);
  assert.notEqual(names[0].toLowerCase(), names[1], "heading and column");
  assert.ok(wide < room * 0.7, `sentences go on in the next line: ${wide} of ${room} pixels`);
  await page.selectOption(".panel-body select", "process_time");
  await page.waitForSelector("h3 >> text=CPU time by process");
  assert.ok(!(await page.locator(".facts").innerText()).includes("pid:["), "who is in no container");
}

/** A verdict leads to the row of whom it is about, though a machine around it is closed; one step back undoes that. */
async function verdictsLead() {
  await fresh();
  await page.evaluate(() => window.sonde.view.set({ toggled: ["m:vm-a"] }));
  const before = await shown();
  for (const [text, id, name] of [["wl[162] of vm-a-n had a run-queue delay", /^t:\d+$/, "wl"], ["vm-a vCPU 1 had a steal time", /^v:vm-a\/1$/, "vCPU 1"]]) {
    await page.locator(".verdicts .link", { hasText: text }).click();
    await settled();
    const { row, range } = await shown();
    assert.match(row, id);
    assert.ok(range, "its worst stretch");
    const label = page.locator(`.label[data-row="${row}"]`);
    assert.equal(await label.count(), 1, `${row} is in view`);
    assert.ok((await label.innerText()).startsWith(name), await label.innerText());
  }
  await page.mouse.move(1, 1);
  await key("u");
  await key("u");
  assert.deepEqual(await shown(), before, "one step back for each");
}

async function exitsAndPath() {
  await fresh("#t=480000000-500000000&panel=path&r=k:vm-a-n%2F0&c=490000000");
  await page.waitForSelector("text=the steps add up to 20.00 ms");
  const path = await page.evaluate(async () => {
    const { api, model } = window.sonde;
    const thread = model.threads.findIndex((t) => t[3] === "wl" && t[1] === 164);
    return api.path(thread, 480000000, 500000000);
  });
  const length = path.columns.findIndex((c) => c.name === "length");
  assert.equal(path.rows.reduce((n, r) => n + r[length], 0), 20000000, "the steps add up");
  // As many exits as there are, however finely they are counted.
  const counts = await page.evaluate(async () => {
    const sum = (a) => a.vcpus.map((v) => [v.cpu, v.counts.reduce((x, y) => x + y, 0)]);
    const { api } = window.sonde;
    return [sum(await api.exits(480000000, 500000000, 1)), sum(await api.exits(480000000, 500000000, 600))];
  });
  assert.deepEqual(counts[0], counts[1]);
  const told = await page.evaluate(async () => {
    const facts = await window.sonde.api.facts("exits", 480000000, 500000000, 500);
    const at = (name) => facts.columns.findIndex((c) => c.name === name);
    const sums = {};
    for (const r of facts.rows) sums[r[at("vm")]] = (sums[r[at("vm")]] ?? 0) + r[at("count")];
    return [sums, window.sonde.model.run.cpus.map((c) => c.machine)];
  });
  const sums = {};
  for (const [cpu, n] of counts[0]) sums[told[1][cpu]] = (sums[told[1][cpu]] ?? 0) + n;
  assert.deepEqual(sums, told[0], "as many as the analysis counts");
  await page.waitForFunction(() => window.sonde.exits.counted !== null);
  await settled();
  const bars = await pixels("x:vm-a/0");
  assert.ok(new Set(bars).size > 1, "bars are drawn");
}

async function saving() {
  await fresh("#t=480000000-500000000");
  for (const [name, start] of [["e", "<svg"], ["Shift+E", "\x89PNG"]]) {
    const [file] = await Promise.all([page.waitForEvent("download"), page.keyboard.press(name)]);
    const data = readFileSync(await file.path());
    assert.ok(data.subarray(0, 4).toString("latin1") === start.slice(0, 4), `${name}: ${data.subarray(0, 8)}`);
    assert.ok(data.length > 5000, `${name}: ${data.length} bytes`);
  }
}

async function neverStretched() {
  await fresh();
  // An observer made after the page's own is told after it, and before the frame is shown.
  const [bitmap, box] = await page.evaluate(() => new Promise((done) => {
    const { canvas } = window.sonde.timeline;
    const before = canvas.clientHeight;
    new ResizeObserver(() => {
      if (canvas.clientHeight !== before)
        done([canvas.height, Math.round(canvas.clientHeight * devicePixelRatio)]);
    }).observe(canvas);
    document.querySelector(".filterbar").style.height = "90px";
  }));
  assert.equal(bitmap, box, "the picture is as high as its box");
}

/** Names and ruler are there before any row has come. */
async function namesFirst() {
  let go;
  const told = new Promise((r) => (go = r));
  await page.route("**/api/rows?**", async (route) => {
    await told;
    await route.continue();
  });
  await page.goto("about:blank");
  await page.goto(d.url, { waitUntil: "commit" });
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
  const drawn = () => page.evaluate(() => window.sonde.timeline.firstDrawn);
  assert.ok((await page.locator(".label .name").count()) > 5, "names");
  assert.equal(await drawn(), 0, "no rows yet");
  go();
  await d.settled();
  assert.ok((await drawn()) > 0, "and then the rows");
  await page.unroute("**/api/rows?**");
}

async function badLinks() {
  for (const hash of ["#t=9-1", "#t=abc", "#t=-5-99999999999999", "#r=nonsense&p=nope&h=%00&o=zzz",
    "#n=x~y&n=1~<img src=x onerror=alert(1)>&f=%22%22%22:::-&panel=none&z=9&theme=pink"]) {
    await fresh(hash);
    assert.ok((await rowIds()).length > 5, hash);
  }
}

await d.run([namesFirst, sumsOfRows, manyContexts, underPinned, wheelAndDrag, keysMove, backAndForth, stepsAndRows, ranges, filters,
  searching, tooltips, notesAndClocks, rulerTimes, panels, verdictsLead, exitsAndPath, saving, neverStretched, badLinks]);
