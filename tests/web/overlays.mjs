// SPDX-License-Identifier: Apache-2.0
// What the page draws beside its rows of values, and what can be done with it, in a real browser:
//   node tests/web/overlays.mjs SONDE RUN RUN-IN-WHICH-A-VM-ENDS RUN-WITHOUT-A-CPU-AND-A-VM
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { drive } from "./page.mjs";

const [sonde, run, ending, part] = process.argv.slice(2);
const d = await drive(sonde, run, { width: 1280, height: 1300 });
const { page, fresh, key, shown, look, pixels, rowMiddle } = d;

const drawn = () =>
  page.evaluate(() => window.sonde.arrows.drawn.map(({ x, from, to, kind }) => ({ x, from, to, kind })));
const arrowsThere = () => page.waitForFunction(() => window.sonde.arrows.drawn.length > 0);
/** Puts the pointer on an arrow, away from rows that have one of their own, and reads what it says. */
async function read(arrow) {
  const box = await page.locator("canvas.rows").boundingBox();
  await page.mouse.move(box.x + arrow.x, box.y + (arrow.from + arrow.to) / 2);
  await page.waitForSelector(".tooltip .line");
  return page.locator(".tooltip").innerText();
}

async function wakeArrows() {
  await fresh("#t=480000000-500000000&panel=&o=T:host0&h=m:vm-a&h=m:vm-b");
  await page.waitForFunction(() => window.sonde.busy.size > 0);
  // Rows come one after another, and their arrows with them.
  await page.waitForFunction(() => window.sonde.arrows.drawn.filter((a) => a.kind === "wake").length >= 4);
  const wakes = (await drawn()).filter((a) => a.kind === "wake");
  // Each is a moment in which a thread that slept became ready to run.
  const truth = await page.evaluate(async () => {
    const { api, model } = window.sonde;
    const threads = model.threads.map((_, i) => i).filter((i) => model.threads[i][6] !== null).slice(0, 256);
    const { wakes } = await api.arrows(480000000, 500000000, threads, []);
    const out = [];
    for (const [t, thread, , , , , ran] of wakes)
      out.push([(await api.at("thread", thread, t - 1)).state, (await api.at("thread", thread, t)).state,
        (await api.at("thread", thread, t)).woken?.t === t, ran === null || (await api.at("thread", thread, ran)).begin === ran]);
    return out;
  });
  assert.ok(truth.length >= 4, `${truth.length} wake-ups`);
  for (const [before, after, told, ran] of truth) {
    assert.ok(before >= 4 && before <= 6, `slept: ${before}`);
    assert.ok(after === 2 || after === 3, `ready: ${after}`);
    assert.ok(told && ran, "told by the row itself, too");
  }
  const text = await read(wakes[0]);
  assert.match(text, /woken[^]*by[^]*later|not in this window/, text);
  await key("Shift+G");
  assert.equal((await drawn()).length, 0, "no arrows");
  await page.waitForFunction(() => location.hash.includes("arrows=0"));
}

async function preemptionArrows() {
  await fresh("#t=480000000-500000000&panel=");
  await arrowsThere();
  const arrows = (await drawn()).filter((a) => a.kind === "preemption");
  assert.ok(arrows.length >= 3, `${arrows.length} preemptions`);
  // From the vCPU's row to the physical CPU's, where the one runs that the analysis names.
  const rows = await page.evaluate(() => window.sonde.timeline.placed.map((p) => [p.row.id, p.y + p.height / 2]));
  for (const a of arrows) {
    assert.match(rows.find((r) => r[1] === a.from)[0], /^v:/);
    assert.match(rows.find((r) => r[1] === a.to)[0], /^p\//);
  }
  const wrong = await page.evaluate(async () => {
    const { api, model } = window.sonde;
    const cpus = model.run.cpus.map((_, i) => i);
    const { preemptions } = await api.arrows(480000000, 500000000, [], cpus);
    const list = await api.facts("preemption_list", 480000000, 500000000, 2000);
    const at = (name) => list.columns.findIndex((c) => c.name === name);
    return preemptions.filter(([t, , vcpu, , , machine, thread, had]) => {
      const time = new Map();
      for (const r of list.rows)
        if (r[at("vcpu")] === vcpu && r[at("preemption_begin")] === t) {
          const k = `${r[at("culprit_machine")]} ${r[at("culprit")]}`;
          time.set(k, (time.get(k) ?? 0) + r[at("length")]);
        }
      return had !== Math.max(...time.values()) || time.get(`${machine} ${thread}`) !== had;
    });
  });
  assert.deepEqual(wrong, [], "who had it longest");
  const text = await read(arrows.at(-1));
  assert.match(text, /preempted[^]*most of it/, text);
}

/** Arrows are drawn where they can be told apart; elsewhere it is said how many there are. */
async function roomForArrows() {
  await fresh("#panel=");
  await page.waitForFunction(() => window.sonde.arrows.dense.length > 0);
  const crowded = await page.evaluate(() => {
    const { arrows, timeline } = window.sonde;
    return [arrows.drawn.length, arrows.found.length, timeline.width, arrows.dense.reduce((n, x) => n + x.nr, 0)];
  });
  assert.ok(crowded[0] * 28 <= crowded[2], `${crowded[0]} arrows on ${crowded[2]} pixels`);
  assert.equal(crowded[0] + crowded[3], crowded[1], "each is an arrow, or counted in a strip");
  assert.ok(crowded[1] > 40, "there are many");
  await page.evaluate(() => window.sonde.view.setCursor(1, "v:vm-a/1"));
  await page.waitForFunction(() => window.sonde.arrows.drawn.some((a) => a.id === "v:vm-a/1"));
  const left = await page.evaluate(() => window.sonde.arrows.dense.filter((x) => x.id === "v:vm-a/1").length);
  assert.equal(left, 0, "the chosen row has all of its arrows");
}

async function following() {
  await fresh("#panel=");
  const [vmm, vcpu] = [await d.threadRow("host0", "qemu-system-x86[137]"), await d.cpuRow("vm-a/1")];
  await fresh(`#t=480000000-500000000&panel=&r=t:${vmm}&c=493300000&o=T:host0`);
  await key("g");
  await page.waitForFunction((from) => window.sonde.view.shown.row !== from, `t:${vmm}`);
  const s = await shown();
  const truth = await page.evaluate((row) => window.sonde.api.at("thread", row, 493300000), vmm);
  assert.match(truth.woken.by.label, /^CPU 1\/KVM/, "its vCPU thread woke it");
  assert.equal(s.row, `t:${truth.woken.by.row}`);
  assert.equal(s.cursor, truth.woken.t);
  assert.equal(await page.locator(`.label[data-row="${s.row}"]`).count(), 1, "its row is in view");
  await fresh("#t=480000000-500000000&panel=&r=v:vm-a/1&c=499000000");
  await key("g");
  await page.waitForFunction(() => window.sonde.view.shown.row.startsWith("t:"));
  const instead = await page.evaluate((row) => window.sonde.api.at("vcpu", row, 499000000), vcpu);
  assert.equal((await shown()).row, `t:${instead.instead.row}`, "who runs in its place");
}

/** The critical path of a thread of vm-a, with a window of 20 ms. */
async function pathOf(label) {
  await fresh("#panel=");
  const row = await d.threadRow("vm-a", label);
  await fresh(`#t=480000000-500000000&panel=path&r=t:${row}&c=490000000&o=T:host0`);
  await page.waitForFunction(() => window.sonde.path.steps.length > 0);
  return row;
}

async function criticalPath() {
  const chosen = await pathOf("rcu_preempt[15]");
  await d.settled();
  const { sum, thread, touched, pinned } = await page.evaluate(() => {
    const { path, timeline } = window.sonde;
    return {
      sum: path.steps.reduce((n, s) => n + s.end - s.begin, 0), thread: path.thread, touched: path.touched,
      pinned: timeline.rows.pinned.map((r) => r.id),
    };
  });
  assert.equal(sum, 20000000, "the steps add up");
  assert.equal(thread, chosen);
  assert.deepEqual(pinned, ["path:"]);
  assert.ok(touched > 1, `the line goes through ${touched} rows`);
  assert.ok(new Set(await pixels("path:")).size > 3, "its row has colours");
  const { x, y } = await rowMiddle("path:");
  await page.mouse.move(x + 300, y);
  await page.waitForSelector(".tooltip .what");
  const step = await page.evaluate(() => {
    const t = window.sonde.timeline.time(300);
    return window.sonde.path.steps.find((s) => t >= s.begin && t < s.end);
  });
  assert.ok((await page.locator(".tooltip").innerText()).includes(step.kind), "what the step is");
  await page.locator('[data-tab="history"]').click();
  await page.waitForFunction(() => !window.sonde.timeline.rows.pinned.length);
}

async function phases() {
  const other = await drive(sonde, ending, { width: 1280, height: 900 });
  try {
    await other.fresh("#panel=stages");
    await other.page.waitForSelector(".chart .stack span");
    const facts = await other.page.evaluate(() => {
      const { api, view, phases } = window.sonde;
      return api.facts("shutdown", 0, view.length, 100).then((f) => [f, phases.list]);
    });
    const at = (name) => facts[0].columns.findIndex((c) => c.name === name);
    assert.ok(facts[0].rows.length > 0, "the sample has a VM that ends");
    const lengths = facts[0].rows.map((r) => r[at("length")]);
    const list = facts[1].filter((p) => p.what === "shutdown");
    assert.deepEqual(list.map((p) => p.length), lengths);
    for (const p of list) assert.equal(p.parts.reduce((a, b) => a + b, 0), p.length, "its parts add up");
    const vm = await other.page.evaluate(() => {
      const { model, phases } = window.sonde;
      return model.machineName(phases.list.find((p) => p.what === "shutdown").vm);
    });
    assert.ok((await other.rowIds()).includes(`shutdown:${vm}`), "a row of the VM");
    await other.page.locator(".chart .link").last().click();
    const s = await other.shown();
    const last = list.at(-1);
    assert.ok(s.begin <= last.begin && s.end >= last.begin + last.length, "a bar is a way to its place");
    await other.settled();
    assert.ok(new Set(await other.pixels(`shutdown:${vm}`)).size > 1, "and its row is drawn there");
    assert.deepEqual(other.complaints, []);
  } finally {
    await other.stop();
  }
}

/** The columns of all pixels of the rows of host0's CPU 1 that change when the model is another: in other rows,
 * what is fetched last may still arrive. */
async function changes(change) {
  const take = () => page.evaluate(() => {
    const { canvas, placed } = window.sonde.timeline;
    const ratio = canvas.width / canvas.clientWidth;
    const pen = canvas.getContext("2d");
    return ["p/1", "o:host0/1"].flatMap((id) => {
      const { y, height } = placed.find((p) => p.row.id === id);
      const part = pen.getImageData(0, Math.floor(y * ratio), canvas.width, Math.ceil(height * ratio));
      return [...new Uint32Array(part.data.buffer)];
    });
  });
  const before = await take();
  await page.evaluate(change);
  await d.settled();
  const after = await take();
  const width = await page.evaluate(() => window.sonde.timeline.canvas.width);
  return [...after.keys()].filter((i) => after[i] !== before[i]).map((i) => i % width);
}

/** Where a guest had a CPU from, and how exactly that is known, as the API says it. */
async function guestsPiece(cpu, t) {
  const piece = await page.evaluate(async ([row, from]) => {
    const { api, model } = window.sonde;
    for (let at = from; at < from + 20000000; ) {
      const { begin, end, bound_ns, stack } = await api.at("cpu", row, at);
      const machine = model.run.machines[stack?.at(-1)?.machine];
      if (machine?.level > 0 && begin >= from) return { begin, bound: bound_ns };
      at = end;
    }
    return null;
  }, [await d.cpuRow(cpu), t]);
  assert.ok(piece?.bound > 0, `a guest's piece with a bound: ${JSON.stringify(piece)}`);
  return piece;
}

async function lossesAndBounds() {
  const noBounds = () => changes(() => {
    window.sonde.model.run.clocks = [];
    window.sonde.timeline.request();
  });
  await fresh("#t=480000000-500000000&panel=&arrows=0");
  assert.deepEqual(await noBounds(), [], "bounds that no pixel can show are not drawn");
  const { begin, bound } = await guestsPiece("host0/1", 480000000);
  const from = begin - 10 * bound;
  const to = begin + 10 * bound;
  await fresh(`#t=${from}-${to}&panel=&arrows=0`);
  const wide = await page.evaluate(() => window.sonde.timeline.width / 20);
  const bounds = new Set(await noBounds());
  for (let x = Math.ceil(9 * wide) + 1; x < Math.floor(11 * wide) - 1; x++)
    assert.ok(bounds.has(x), `the bound is drawn as wide as it is: not at ${x} of ${20 * wide}`);
  await fresh(`#t=${from}-${to}&panel=&arrows=0`);
  const { length: losses } = await changes(`(() => {
    const { model, timeline } = window.sonde;
    const host = model.run.machines.findIndex((m) => m.name === "host0");
    model.run.gaps = [[host, 1, ${begin}, ${begin + 5 * bound}, 7]];
    timeline.request();
  })()`);
  const quarter = wide * 5;
  assert.ok(losses >= quarter * 2 * 2 * 0.9, `losses are drawn on the rows of that CPU: ${losses}`);
}

/** What is missing is said first, and why where the run is described; of what is whole, nothing. */
async function missing() {
  const other = await drive(sonde, part, { width: 1280, height: 900 });
  try {
    const warnings = async (of) => {
      await of.fresh("#panel=verdicts");
      await of.page.waitForSelector(".verdicts");
      return of.page.locator(".panel-body .warn").allInnerTexts();
    };
    assert.deepEqual(await warnings(d), []);
    const [gap, trace, ...more] = await warnings(other);
    assert.match(gap, /^Events are missing in 1 place: /);
    assert.match(trace, /^1 trace is left out: vm-b\. /);
    assert.deepEqual(more, []);
    const row = await other.cpuRow("host0/1");
    const [there, length] = await other.page.evaluate(async (cpu) =>
      [await window.sonde.api.at("cpu", cpu, 500000000), window.sonde.view.length], row);
    assert.deepEqual([there.mode, there.begin, there.end], [0, 0, length], "nothing is known of the CPU");
    const notice = (of) => of.page.locator(".top .missing");
    await other.page.waitForFunction(() => document.querySelector(".top .missing").innerText.includes("%"));
    assert.match(await notice(other).innerText(), /^1 trace left out, 1 gap, 5\d\.\d% of the CPU time unknown$/);
    await d.page.waitForFunction(() => document.querySelector(".top .missing").innerText.includes("%"));
    assert.equal(await notice(d).innerText(), "<0.1% of the CPU time unknown");
    await notice(other).click();
    await other.page.waitForSelector("text=Traces left out");
    const text = await other.page.locator(".panel-body").innerText();
    assert.match(text, /Gaps[^]*host0\s+1\s+not counted/);
    assert.match(text, /Traces left out[^]*vm-b\s+\S+\/vm-b\s+nothing relates it to host0, whose trace has no events of CPU 1/);
    assert.deepEqual(other.complaints, []);
  } finally {
    await other.stop();
  }
}

/** What is written on flags does not run into the next one; a flag without words has none. */
async function flags() {
  await fresh("#n=300000000~one~two&n=301000000~three&n=900000000");
  assert.deepEqual((await shown()).notes.map((n) => n.text), ["one~two", "three", ""]);
  const written = () => page.evaluate(() => {
    const texts = [];
    const nothing = () => {};
    window.sonde.timeline.drawRulerWith({
      fillRect: nothing, beginPath: nothing, moveTo: nothing, lineTo: nothing, fill: nothing,
      measureText: (text) => ({ width: 6 * text.length }), fillText: (text) => texts.push(text),
    }, 1000);
    return texts.filter((text) => /^[a-z]/.test(text));
  });
  assert.deepEqual(await written(), ["three"]);
  await fresh("#n=300000000~one~two&n=900000000~three");
  assert.deepEqual(await written(), ["one~two", "three"]);
}

async function bookmarksAndHidden() {
  await fresh("#n=300000000~one&n=900000000~two&c=500000000");
  await page.locator("canvas.rows").focus();
  await key("m");
  assert.equal((await shown()).cursor, 900000000, "next");
  await key("Shift+M");
  assert.equal((await shown()).cursor, 300000000, "last");
  await page.locator('.label[data-row="p/0"]').hover();
  await page.locator('.label[data-row="p/0"] .tools button[title="hide"]').click();
  await page.waitForSelector(".hidden-rows >> text=1 hidden row");
  await key("u");
  assert.deepEqual((await shown()).hidden, [], "undone");
  await key("Shift+U");
  await page.locator(".hidden-rows").click();
  assert.deepEqual((await shown()).hidden, [], "shown again");
  assert.equal(await page.locator(".hidden-rows").count(), 0);
}

/** Colours that stand for different things must be apart for all eyes: in lightness, or in what
 * every kind of eye tells apart, blue against yellow. */
async function palettes() {
  await fresh("#t=480000000-500000000&panel=");
  const usual = await pixels("p/1");
  await key("Shift+T");
  assert.equal((await look()).safe, true);
  assert.notDeepEqual(await pixels("p/1"), usual, "other colours");
  for (const dark of [false, true]) {
    const close = await page.evaluate((isDark) => {
      const { theme } = window.sonde;
      if (theme.dark !== isDark) window.sonde.nextTheme();
      const t = window.sonde.theme;
      const apart = ([r, g, b], [R, G, B]) => {
        const light = 0.299 * (r - R) + 0.587 * (g - G) + 0.114 * (b - B);
        const blue = b - B - (r + g - R - G) / 2;
        return Math.hypot(light, blue / 2);
      };
      const out = [];
      // user, system call, interrupt, soft interrupt, hypervisor, guest, kernel
      const modes = [2, 3, 4, 5, 6, 7, 8];
      for (const a of modes) for (const b of modes) if (a < b && apart(t.modes[a], t.modes[b]) < 14) out.push([a, b]);
      // What means different things looks different: preempted, runnable, blocked are none of these.
      for (const [name, c] of [["preempted", t.vcpu[3]], ["runnable", t.thread[3]], ["blocked", t.thread[5]]])
        for (const m of modes) if (apart(t.modes[m], c) < 14) out.push([name, m]);
      if (apart(t.vcpu[2], t.vcpu[3]) < 20) out.push("vcpu");
      if (apart(t.thread[2], t.thread[3]) < 20) out.push("thread");
      return out;
    }, dark);
    assert.deepEqual(close, [], dark ? "dark" : "light");
  }
}

async function eventsTable() {
  await fresh("#t=489990000-490040000&c=490000000&panel=events");
  await page.waitForSelector(".events tr.now");
  const all = await page.locator(".events tbody tr").count();
  assert.equal(all, 300, "as many as fit, though few are in the window");
  const seen = await page.evaluate(() => {
    const body = document.querySelector(".panel-body").getBoundingClientRect();
    const now = document.querySelector(".events tr.now").getBoundingClientRect();
    return now.top >= body.top && now.bottom <= body.bottom;
  });
  assert.ok(seen, "the cursor's place is in view");
  const cut = await page.evaluate(() => {
    const edge = document.querySelector(".panel-body p").getBoundingClientRect().bottom;
    const lines = [...document.querySelectorAll(".events tbody tr")].map((r) => r.getBoundingClientRect());
    return lines.filter((r) => r.top < edge - 1 && r.bottom > edge + 1).length;
  });
  assert.equal(cut, 0, "no line is half under the bar");
  await page.selectOption('.panel-body select', { label: "vm-b" });
  await page.waitForFunction(() => [...document.querySelectorAll(".events tbody tr")].every((r) => r.cells[2].textContent === "vm-b"));
  await page.fill('.panel-body input[type="search"]', "sched_");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => {
    const rows = [...document.querySelectorAll(".events tbody tr")];
    return rows.length > 10 && rows.every((r) => r.cells[5].textContent.includes("sched_"));
  });
  await page.fill('.panel-body input[type="search"]', "no such event");
  await page.keyboard.press("Enter");
  await page.waitForSelector("text=/No such event in .* around the cursor/");
  // What it has no time for is said, and what is shown is what lies around the cursor.
  const [near, whole] = await page.evaluate(async () => {
    const ask = (look) => window.sonde.api.events(490000000, 10000, { look });
    return [await ask(2000), await ask(undefined)];
  });
  assert.deepEqual([near.gave_up, whole.gave_up], [true, false]);
  assert.ok(near.from > whole.from && near.from < 490000000 && near.to > 490000000 && near.to < whole.to, "a narrower look");
  const there = whole.events.filter((e) => e[0] >= near.from && e[0] < near.to);
  assert.deepEqual(near.events, there, "all that is in it");
}

async function savedPictures() {
  await pathOf("rcu_preempt[15]");
  await arrowsThere();
  await d.settled();
  const shown = (await drawn()).length; // more may arrive while the picture is saved
  const [file] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("e")]);
  const text = readFileSync(await file.path(), "utf8");
  const said = await page.evaluate((svg) => {
    const doc = new DOMParser().parseFromString(svg, "image/svg+xml");
    return {
      wrong: doc.querySelector("parsererror")?.textContent ?? "",
      words: [...doc.querySelectorAll("text")].map((t) => t.textContent),
      arrows: doc.querySelectorAll("path").length,
    };
  }, text);
  assert.equal(said.wrong, "");
  for (const word of ["CPU 0", "Critical path rcu_preempt[15]", "hypervisor", "vm-a", "preempted", "60.085"])
    assert.ok(said.words.includes(word), `the SVG lacks "${word}"`);
  assert.ok(said.arrows >= shown, `${said.arrows} heads of ${shown} arrows`);
}

async function printing() {
  await fresh("#t=480000000-500000000&panel=range");
  await page.emulateMedia({ media: "print" });
  assert.ok(!(await page.locator(".search").isVisible()));
  assert.ok(await page.locator("canvas.rows").isVisible());
  const pdf = await page.pdf();
  await page.emulateMedia({ media: "screen" });
  assert.ok(pdf.length > 20000, `${pdf.length} bytes`);
}

async function narrowWindows() {
  for (const [width, height] of [[1000, 700], [640, 620], [420, 800]]) {
    await page.setViewportSize({ width, height });
    await fresh("#t=480000000-500000000&panel=events&c=490000000");
    const { wide, picture, high, tabs } = await page.evaluate(() => ({
      wide: document.documentElement.scrollWidth, picture: window.sonde.timeline.width,
      high: window.sonde.timeline.canvas.clientHeight,
      tabs: document.querySelector(".tabs").clientHeight,
    }));
    assert.ok(wide <= width, `${width}: nothing sticks out (${wide})`);
    assert.ok(picture > width * 0.6, `${width}: most of it is picture (${picture})`);
    assert.ok(high > 150, `${width} × ${height}: rows are to be seen (${high})`);
    assert.ok(tabs < 40, "tabs stand on one line");
  }
  await page.setViewportSize({ width: 1280, height: 1300 });
}

/** Without a pointer: every control is reached by Tab, and does what it says. */
async function keyboardAlone() {
  await fresh("#panel=verdicts");
  const reached = new Set();
  await page.evaluate(() => document.activeElement.blur());
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => {
      const e = document.activeElement;
      return e.getAttribute("aria-label") ?? e.dataset.tab ?? e.textContent;
    }));
  }
  for (const what of ["search", "highlight filter", "time line", "colour by", "range", "size of the panel"])
    assert.ok(reached.has(what), `Tab does not reach ${what}: ${[...reached].join(" | ")}`);
  await page.locator('[data-tab="history"]').focus();
  await page.keyboard.press("Enter");
  assert.equal((await look()).panel, "history");
  const high = () => page.evaluate(() => document.querySelector(".panel").clientHeight);
  const before = await high();
  await page.locator(".splitter").focus();
  await page.keyboard.press("ArrowUp");
  assert.ok((await high()) > before, "the panel grows by a key");
}

await d.run([wakeArrows, preemptionArrows, roomForArrows, following, criticalPath, phases, lossesAndBounds, missing, flags, bookmarksAndHidden,
  palettes, eventsTable, savedPictures, printing, narrowWindows, keyboardAlone]);
