// SPDX-License-Identifier: Apache-2.0
// Every key: one table, from which keys are bound and the help is written.
import type { App } from "./app";
import { savePng, saveSvg } from "./export";
import type { Command } from "./input";

const PAN = 0.12;

export function commands(app: App): Command[] {
  const { view } = app;
  const pan = (by: number) => () => view.pan(by * view.span);
  const zoom = (factor: number) => () => view.zoom(factor, app.pointer.centre());
  const toPanel = (panel: string) => () => view.setLook({ panel: view.look.panel === panel ? "" : panel });
  const cycle = () => {
    const { formats } = app.clock;
    const next = formats[(formats.indexOf(app.clock.format) + 1) % formats.length];
    view.setLook({ time: next });
  };
  return [
    { keys: ["w", "+", "="], what: "zoom in (at the pointer)", run: zoom(0.7) },
    { keys: ["s", "-"], what: "zoom out", run: zoom(1 / 0.7) },
    { keys: ["a"], what: "to the left", run: pan(-PAN) },
    { keys: ["d"], what: "to the right", run: pan(PAN) },
    { keys: ["shift+a", "PageUp"], what: "a screen to the left", run: pan(-0.9) },
    { keys: ["shift+d", "PageDown"], what: "a screen to the right", run: pan(0.9) },
    { keys: ["0", "Home"], what: "the whole history", run: () => view.show(0, view.length) },
    { keys: ["z"], what: "the chosen range fills the picture", run: () => {
      const { range } = view.shown;
      if (range) view.show(range[0], range[1]);
    } },
    { keys: ["ArrowUp"], what: "the row above", run: () => app.moveRow(-1) },
    { keys: ["ArrowDown"], what: "the row below", run: () => app.moveRow(1) },
    { keys: ["ArrowRight", "."], what: "next change of this row", run: () => void app.step(false, false) },
    { keys: ["ArrowLeft", ","], what: "last change of this row", run: () => void app.step(true, false) },
    { keys: ["shift+ArrowRight", "n"], what: "next time this task runs", run: () => void app.step(false, true) },
    { keys: ["shift+ArrowLeft", "shift+n"], what: "last time this task ran", run: () => void app.step(true, true) },
    { keys: ["g"], what: "go to who woke this thread, or runs in this vCPU's place", run: () => void app.follow() },
    { keys: ["shift+g"], what: "arrows, or none", run: () => view.setLook({ arrows: !view.look.arrows }) },
    { keys: ["m"], what: "next bookmark", run: () => app.toNote(1) },
    { keys: ["shift+m"], what: "last bookmark", run: () => app.toNote(-1) },
    { keys: ["Enter"], what: "open or close the chosen group", run: () => {
      const row = app.chosenRow;
      if (row?.kind === "group") app.toggle(row);
    } },
    { keys: ["["], what: "the range begins at the cursor", run: () => {
      const { cursor, range } = view.shown;
      if (cursor !== null) view.set({ range: [cursor, Math.max(cursor + 1, range?.[1] ?? view.shown.end)] });
    } },
    { keys: ["]"], what: "the range ends at the cursor", run: () => {
      const { cursor, range } = view.shown;
      if (cursor !== null) view.set({ range: [Math.min(cursor - 1, range?.[0] ?? view.shown.begin), cursor] });
    } },
    { keys: ["Escape"], what: "no range, no filter, no help", run: () => {
      if (!app.helpBox.hidden) app.toggleHelp();
      else if (view.shown.range) view.set({ range: null });
      else if (view.shown.filter) app.setFilter("");
    } },
    { keys: ["/", "ctrl+f"], what: "search", run: () => app.search.input.focus() },
    { keys: ["f"], what: "highlight filter", run: () => app.focusFilter() },
    { keys: ["x"], what: "highlight the task at the cursor", run: () => void app.highlightTask() },
    { keys: ["p"], what: "pin the row, or unpin it", run: () => {
      const row = app.chosenRow;
      if (row && row.kind !== "group") app.pin(row);
    } },
    { keys: ["h"], what: "hide the row", run: () => {
      const row = app.chosenRow;
      if (row) app.hide(row);
    } },
    { keys: ["shift+h"], what: "show hidden rows again", run: () => view.set({ hidden: [] }) },
    { keys: ["b"], what: "bookmark at the cursor", run: () => app.addNote() },
    { keys: ["u", "ctrl+z"], what: "undo (the browser's Back does, too)", run: () => view.undo() },
    { keys: ["shift+u", "ctrl+shift+z", "ctrl+y"], what: "redo", run: () => view.redo() },
    { keys: ["c"], what: "another clock: of the history, of the trace, of the wall", run: cycle },
    { keys: ["r"], what: "smaller or larger rows", run: () => view.setLook({ rowSize: (view.look.rowSize + 1) % 3 }) },
    { keys: ["t"], what: "light or dark", run: () => app.nextTheme() },
    { keys: ["shift+t"], what: "colours for all eyes", run: () => view.setLook({ safe: !view.look.safe }) },
    { keys: ["1"], what: "verdicts", run: toPanel("verdicts") },
    { keys: ["2"], what: "statistics of the range", run: toPanel("range") },
    { keys: ["3"], what: "events at the cursor", run: toPanel("events") },
    { keys: ["4"], what: "critical path of the thread at the cursor", run: toPanel("path") },
    { keys: ["5"], what: "how VMs started and ended", run: toPanel("stages") },
    { keys: ["6"], what: "all tables", run: toPanel("tables") },
    { keys: ["7"], what: "bookmarks", run: toPanel("notes") },
    { keys: ["8"], what: "about the history", run: toPanel("history") },
    { keys: ["e"], what: "save as SVG", run: () => saveSvg(app.model, app.timeline, app.theme, view.look.colourBy) },
    { keys: ["shift+e"], what: "save as PNG", run: () => savePng(app.model, app.timeline, app.theme, view.look.colourBy) },
    { keys: ["ctrl+p"], what: "print", run: () => window.print() },
    { keys: ["?"], what: "this help", run: () => app.toggleHelp() },
  ];
}
