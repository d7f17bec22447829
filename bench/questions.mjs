// SPDX-License-Identifier: Apache-2.0
// Five questions, each from a cold start of the page to the answer on the screen, by hands and keys:
//   node bench/questions.mjs SONDE RUN
// RUN is the history of samples/lttng.  Counted: clicks (a choice in a list is two), texts that are
// written (with the key before and Enter behind them), rests of the pointer, turns of the wheel; and
// seconds from the navigation's start until what the question asks for can be read.  Nobody thinks or
// looks for anything in between: the seconds are what the program takes, the clicks what it asks for.
import { loadavg } from "node:os";
import { browse, serve } from "../tests/web/page.mjs";

const [sonde, run] = process.argv.slice(2);
const server = await serve(sonde, run);

class Hands {
  constructor(page) {
    this.page = page;
    this.did = { clicks: 0, texts: 0, rests: 0, wheel: 0 };
  }
  async click(selector) {
    await this.page.locator(selector).first().click();
    this.did.clicks++;
  }
  async choose(selector, value) {
    await this.page.selectOption(selector, value);
    this.did.clicks += 2;
  }
  async write(key, text) {
    await this.page.keyboard.press(key);
    await this.page.keyboard.type(text);
    await this.page.waitForTimeout(30);
    await this.page.keyboard.press("Enter");
    this.did.texts++;
  }
  async rest(row) {
    const at = await this.page.evaluate((id) => {
      const { timeline, view } = window.sonde;
      const p = timeline.placed.find((q) => q.row.id === id);
      const box = timeline.canvas.getBoundingClientRect();
      return { x: box.x + timeline.x(view.shown.cursor) + 1, y: box.y + p.y + p.height / 2 };
    }, row);
    await this.page.mouse.move(at.x, at.y);
    this.did.rests++;
  }
  /** Turns the wheel over the panel until the text is in view. */
  async see(text, within = ".panel-body, .tooltip") {
    const found = this.page.locator(within).getByText(text).first();
    await found.waitFor();
    for (let i = 0; i < 40; i++) {
      const inView = await found.evaluate((e) => {
        const box = e.getBoundingClientRect();
        const around = e.closest(".panel-body, .tooltip")?.getBoundingClientRect();
        // Taken out meanwhile: the panel was drawn anew, and the text is looked for once more.
        return around && box.top >= around.top && box.bottom <= around.bottom;
      });
      if (inView) return;
      if (inView === undefined) continue;
      await this.page.locator(".panel-body").hover();
      await this.page.mouse.wheel(0, 160);
      await this.page.waitForTimeout(20);
      this.did.wheel++;
    }
    throw new Error(`"${text}" does not come into view`);
  }
}

const QUESTIONS = [
  ["who took vm-a's vCPU 1 its CPU (F11)", async (h) => {
    await h.see("Steal time of vCPUs, by culprit");
    await h.see("h-burn[519]", '.facts:has(h3:text-is("Steal time of vCPUs, by culprit")) td');
  }],
  ["what ran on physical CPU 1 at 60.083, through all layers (F3, F9)", async (h) => {
    await h.write("/", "60.083");
    await h.page.waitForFunction(() => window.sonde.view.shown.cursor !== null);
    await h.rest("p/1");
    await h.see(/b-burn/);
  }],
  ["what a thread of the nested VM waited for, through all layers (W5)", async (h) => {
    await h.page.waitForFunction(() => window.sonde.model.loaded);
    await h.write("/", "wl[164]");
    await h.page.waitForFunction(() => window.sonde.view.shown.row?.startsWith("t:"));
    await h.click('[data-tab="path"]');
    await h.see(/the steps add up/);
  }],
  ["how long wake-ups of vCPUs take, and on what (F11)", async (h) => {
    await h.click('[data-tab="tables"]');
    await h.choose(".panel-body select", "wakeup");
    await h.see("vm-b", ".facts td");
  }],
  ["what left the guests, how often, and what it cost (W6)", async (h) => {
    await h.click('[data-tab="tables"]');
    await h.choose(".panel-body select", "exits");
    await h.see(/HLT|hlt/, ".facts td");
  }],
];

console.log(`load average ${loadavg()[0].toFixed(1)}\n`);
console.log("| question | clicks | texts | pointer rests | wheel | s |\n|---|---|---|---|---|---|");
for (const [name, ask] of QUESTIONS) {
  const browser = await browse({ viewport: { width: 1280, height: 900 } });
  const { page } = browser;
  const hands = new Hands(page);
  await page.goto(server.url, { waitUntil: "commit" });
  const begun = await page.evaluate(() => performance.timeOrigin);
  await page.waitForFunction(() => window.sonde?.timeline.firstDrawn > 0);
  await ask(hands);
  const seconds = (Date.now() - begun) / 1000;
  const { clicks, texts, rests, wheel } = hands.did;
  console.log(`| ${name} | ${clicks} | ${texts} | ${rests} | ${wheel} | ${seconds.toFixed(1)} |`);
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/q${QUESTIONS.findIndex((q) => q[0] === name)}.png` });
  await browser.stop();
}
await server.stop();
