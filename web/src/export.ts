// SPDX-License-Identifier: Apache-2.0
// The picture as it is shown, to take away: as pixels and as shapes.  A legend stands below it.
import { legendItems } from "./help";
import { css, machineColour, type Rgb, type Theme } from "./palette";
import type { Model } from "./model";
import type { Pen } from "./artist";
import { SvgPen } from "./svg";
import { RULER, type Timeline } from "./timeline";

const LABELS = 220;
const LEGEND_LINE = 18;

function download(blob: Blob, name: string): void {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  window.setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}

function fileName(model: Model, ending: string): string {
  return `${model.run.file.replace(/\.sonde$/, "")}-timeline.${ending}`;
}

/** Where the legend's items stand: [x, y, name, colour], and how high all of it is. */
function layLegend(pen: Pen, model: Model, theme: Theme, colourBy: string, width: number):
{ items: [number, number, string, Rgb][]; height: number } {
  const items: [number, number, string, Rgb][] = [];
  let x = 8;
  let y = 0;
  pen.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  for (const { name, colour } of legendItems(model, theme, colourBy)) {
    const wide = pen.measureText(name).width + 32;
    if (x + wide > width && x > 8) {
      x = 8;
      y += LEGEND_LINE;
    }
    items.push([x, y, name, colour]);
    x += wide;
  }
  return { items, height: y + LEGEND_LINE + 8 };
}

/** Names of rows, the file's name, and the legend: all that stands around the picture. */
function drawAround(pen: Pen, model: Model, timeline: Timeline, theme: Theme,
  legend: [number, number, string, Rgb][], height: number): void {
  pen.textBaseline = "middle";
  pen.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  pen.fillStyle = theme.faint;
  pen.fillText(model.run.file, 6, RULER / 2);
  for (const p of timeline.placed) {
    const group = p.row.kind === "group";
    pen.font = `${group ? "bold " : ""}11px system-ui, 'DejaVu Sans', sans-serif`;
    pen.fillStyle = group ? theme.text : theme.faint;
    const text = p.row.label + (p.row.note && !group ? ` ${p.row.note}` : "");
    const most = Math.floor((LABELS - 12 - p.row.depth * 10) / 6);
    pen.fillText(text.length > most ? `${text.slice(0, most - 1)}…` : text, 6 + p.row.depth * 10, RULER + p.y + p.height / 2);
  }
  pen.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  for (const [x, y, name, colour] of legend) {
    pen.fillStyle = css(colour);
    pen.fillRect(x, height + y + 8, 10, 10);
    pen.fillStyle = theme.text;
    pen.fillText(name, x + 15, height + y + 13.5);
  }
}

/** The lowest row's end: nothing below it is worth a place. */
function usedHeight(timeline: Timeline): number {
  const end = Math.max(0, ...timeline.placed.map((p) => p.y + p.height));
  return RULER + Math.min(timeline.canvas.clientHeight, end + 6);
}

export function savePng(model: Model, timeline: Timeline, theme: Theme, colourBy: string): void {
  const ratio = window.devicePixelRatio || 1;
  const out = document.createElement("canvas");
  const c = out.getContext("2d");
  if (!c) return;
  const width = timeline.width + LABELS;
  const height = usedHeight(timeline);
  const legend = layLegend(c, model, theme, colourBy, width);
  out.width = width * ratio;
  out.height = (height + legend.height) * ratio;
  c.fillStyle = css(theme.page);
  c.fillRect(0, 0, out.width, out.height);
  const high = (height - RULER) * ratio;
  c.drawImage(timeline.ruler, LABELS * ratio, 0);
  c.drawImage(timeline.canvas, 0, 0, timeline.canvas.width, high, LABELS * ratio, RULER * ratio,
    timeline.canvas.width, high);
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawAround(c, model, timeline, theme, legend.items, height);
  out.toBlob((blob) => blob && download(blob, fileName(model, "png")));
}

export function svgText(model: Model, timeline: Timeline, theme: Theme, colourBy: string): string {
  const { width } = timeline;
  const height = usedHeight(timeline);
  const pen = new SvgPen();
  const legend = layLegend(pen, model, theme, colourBy, width + LABELS);
  pen.rect(0, 0, width + LABELS, height + legend.height, css(theme.page));
  drawAround(pen, model, timeline, theme, legend.items, height);
  pen.within("picture", LABELS, RULER, width, height - RULER, () => {
    const spans = timeline.allSpans();
    timeline.placed.forEach((p, i) => {
      for (const s of spans[i]) {
        const c = p.row.kind === "cpu" ? model.contexts[s.value - 1] : undefined;
        const colour = timeline.colourOf(p.row, s.value);
        if (!colour) continue;
        const title = p.row.kind === "cpu" ? model.contextLabel(s.value - 1) : timeline.nameOf(p.row, s.value);
        pen.globalAlpha = s.faded ? 1 - theme.fade : 1;
        pen.rect(s.x0, p.y, s.x1 - s.x0, p.height, css(colour), title);
        if (c) pen.rect(s.x0, p.y, s.x1 - s.x0, 3, css(machineColour(theme, c[0])));
        pen.globalAlpha = 1;
      }
    });
    timeline.drawOver(pen, width, height - RULER);
  });
  pen.within("ruler", LABELS, 0, width, RULER, () => timeline.drawRulerWith(pen, width));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width + LABELS}" height="${height + legend.height}" ` +
      'font-family="system-ui,DejaVu Sans,sans-serif">',
    ...pen.parts, "</svg>",
  ].join("\n");
}

export function saveSvg(model: Model, timeline: Timeline, theme: Theme, colourBy: string): void {
  const blob = new Blob([svgText(model, timeline, theme, colourBy)], { type: "image/svg+xml" });
  download(blob, fileName(model, "svg"));
}
