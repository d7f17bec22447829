// SPDX-License-Identifier: Apache-2.0
// What lies over the rows: the grid, losses, the bounds of clocks, and what the user has marked.
import type { Scene } from "./artist";
import type { Model } from "./model";
import type { Span } from "./paint";
import type { Shown } from "./view";

export function drawGrid(scene: Scene, ticks: [number, string][]): void {
  scene.pen.fillStyle = scene.theme.grid;
  for (const [x] of ticks) if (x < scene.width) scene.pen.fillRect(x, 0, 1, scene.height);
}

/** Places where events were lost: what stands there is less than what was. */
export function drawLosses(scene: Scene, model: Model): void {
  const { pen } = scene;
  pen.fillStyle = scene.theme.dark ? "rgba(255,90,80,.75)" : "rgba(200,30,20,.7)";
  for (const [machine, cpu, begin, end] of model.run.gaps) {
    const x0 = scene.x(begin);
    const x1 = Math.max(x0 + 2, scene.x(end));
    if (x1 < 0 || x0 > scene.width) continue;
    for (const p of scene.placed) {
      const r = p.row;
      if (r.attr === null && r.kind !== "exits") continue;
      const number = r.cpu >= 0 ? model.run.cpus[r.cpu].number : -1;
      const physical = r.kind === "cpu" && machine === 0;
      const own = r.machine === machine && r.kind !== "cpu";
      if ((physical || own) && (cpu < 0 || number < 0 || number === cpu || r.kind === "thread"))
        pen.fillRect(x0, p.y + p.height - 2, x1 - x0, 2);
    }
  }
}

/** Where a change of what a guest does may lie, when the screen can show it; @ratio: the screen's
 * pixels for one of the page's. */
export function drawBounds(scene: Scene, model: Model, spans: Span[][], ratio: number): void {
  const { pen } = scene;
  const perPixel = (scene.end - scene.begin) / scene.width;
  pen.fillStyle = scene.theme.text;
  scene.placed.forEach((p, i) => {
    if (p.row.kind !== "cpu" && p.row.kind !== "task") return;
    let drawnTo = -1;
    for (const span of spans[i] ?? []) {
      const machine = p.row.kind === "task" ? p.row.machine : model.contexts[span.value - 1]?.[0];
      if (!machine || span.faded) continue;
      const x = span.x0 / ratio;
      const bound = model.clockBound(machine, scene.begin + x * perPixel);
      const wide = bound / perPixel;
      if (bound <= 0 || wide < 2.5) continue;
      const from = Math.max(drawnTo, x - wide);
      const to = x + wide;
      pen.globalAlpha = 0.5;
      pen.fillRect(from, p.y + p.height - 1.5, to - from, 1.5);
      pen.fillRect(x - wide, p.y + p.height - 5, 1, 5);
      pen.fillRect(to - 1, p.y + p.height - 5, 1, 5);
      drawnTo = to;
    }
  });
  pen.globalAlpha = 1;
}

/** Chosen row, range, bookmarks, cursor, and where the pointer is. */
export function drawMarks(scene: Scene, shown: Shown, hoverX: number | null): void {
  const { pen, theme, width, height } = scene;
  const selected = scene.placed.find((p) => p.row.id === shown.row);
  if (selected) {
    pen.strokeStyle = theme.accent;
    pen.globalAlpha = 0.55;
    pen.strokeRect(-1.5, selected.y - 1.5, width + 3, selected.height + 3);
    pen.globalAlpha = 1;
  }
  if (shown.range) {
    const x0 = scene.x(shown.range[0]);
    const x1 = scene.x(shown.range[1]);
    pen.fillStyle = theme.accent;
    pen.globalAlpha = 0.1;
    pen.fillRect(x0, 0, x1 - x0, height);
    pen.globalAlpha = 0.8;
    pen.fillRect(x0, 0, 1, height);
    pen.fillRect(x1 - 1, 0, 1, height);
    pen.globalAlpha = 1;
  }
  pen.fillStyle = theme.note;
  for (const note of shown.notes) pen.fillRect(scene.x(note.t), 0, 1, height);
  if (shown.cursor !== null) {
    pen.fillStyle = theme.accent;
    pen.fillRect(Math.round(scene.x(shown.cursor)), 0, 1, height);
  }
  if (hoverX !== null) {
    pen.fillStyle = theme.faint;
    pen.globalAlpha = 0.5;
    pen.fillRect(hoverX, 0, 1, height);
    pen.globalAlpha = 1;
  }
}
