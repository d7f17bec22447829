// SPDX-License-Identifier: Apache-2.0
// Pictures of the page to be looked at, not compared: light and dark, narrow and wide, few rows and all.
//   node tests/web/shots.mjs SONDE RUN FOLDER [NAME=URL-HASH ...]
// Without names: the page as it opens, all rows small, each tab of the panel, and zoomed to 1 %.
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { drive } from "./page.mjs";

const [sonde, run, folder, ...named] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const VIEWS = named.length
  ? named.map((text) => [text.slice(0, text.indexOf("=")), text.slice(text.indexOf("=") + 1)])
  : [["opens", ""], ["small", "z=0&panel="], ...["range", "events", "path", "stages", "tables", "notes", "history"]
      .map((tab) => [tab, `panel=${tab}`])];
const SIZES = process.env.SIZES?.split(",") ?? ["1280x800", "2560x1440"];
const THEMES = process.env.THEMES?.split(",") ?? ["light", "dark"];

for (const size of SIZES) {
  const [width, height] = size.split("x").map(Number);
  const d = await drive(sonde, run, { width, height });
  for (const theme of THEMES)
    for (const [name, hash] of VIEWS) {
      await d.fresh(`#theme=${theme}&${hash}`);
      if (name === "small")
        await d.page.evaluate(() => {
          const { model, view } = window.sonde;
          const groups = model.run.machines.flatMap((m) => [`T:${m.name}`, `A:${m.name}`]);
          view.set({ toggled: groups.filter((id) => !window.sonde.isOpen(id)) });
        });
      await d.settled();
      // What comes after the first picture: analyses, arrows, phases.
      await d.page.waitForTimeout(1200);
      const file = join(folder, `${basename(run, ".sonde")}-${name}-${theme}-${width}.png`);
      await d.page.screenshot({ path: file });
      console.log(file);
    }
  await d.stop();
}
