// SPDX-License-Identifier: Apache-2.0
// The picture as it is shown, to take away: as pixels and as shapes.
import { css, machineColour, type Theme } from "./palette";
import type { Model } from "./model";
import { RULER, type Timeline } from "./timeline";
import type { View } from "./view";

const LABELS = 190;

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

/** Labels, ruler and rows on one canvas. */
export function savePng(model: Model, timeline: Timeline, theme: Theme): void {
  const ratio = window.devicePixelRatio || 1;
  const out = document.createElement("canvas");
  const left = LABELS * ratio;
  out.width = timeline.canvas.width + left;
  out.height = timeline.canvas.height + timeline.ruler.height;
  const c = out.getContext("2d");
  if (!c) return;
  c.fillStyle = css(theme.page);
  c.fillRect(0, 0, out.width, out.height);
  c.drawImage(timeline.ruler, left, 0);
  c.drawImage(timeline.canvas, left, timeline.ruler.height);
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  c.textBaseline = "middle";
  for (const p of timeline.placed) {
    c.fillStyle = p.row.kind === "group" ? theme.text : theme.faint;
    c.fillText(p.row.label, 6 + p.row.depth * 10, RULER + p.y + p.height / 2, LABELS - 10 - p.row.depth * 10);
  }
  out.toBlob((blob) => blob && download(blob, fileName(model, "png")));
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (ch) => `&#${ch.charCodeAt(0)};`)
    // eslint-disable-next-line no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "\ufffd");
}

function rect(x: number, y: number, w: number, h: number, fill: string, title = ""): string {
  const body = title ? `><title>${escape(title)}</title></rect>` : "/>";
  return `<rect x="${x}" y="${y}" width="${w}" height="${h}" fill="${fill}"${body}`;
}

export function svgText(model: Model, view: View, timeline: Timeline, theme: Theme): string {
  const width = timeline.width;
  const height = timeline.canvas.clientHeight + RULER;
  const spans = timeline.allSpans();
  const parts: string[] = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width + LABELS}" height="${height}" ` +
      `font-family="system-ui,sans-serif" font-size="11">`,
    `<title>${escape(model.run.file)}</title>`,
    rect(0, 0, width + LABELS, height, css(theme.page)),
  ];
  timeline.placed.forEach((p, i) => {
    const y = RULER + p.y;
    parts.push(`<text x="${6 + p.row.depth * 10}" y="${y + p.height / 2 + 4}" fill="${theme.text}">${escape(p.row.label)}</text>`);
    for (const s of spans[i]) {
      const c = p.row.kind === "cpu" ? model.contexts[s.value - 1] : undefined;
      const colour = timeline.colourOf(p.row, s.value);
      if (!colour) continue;
      const title = p.row.kind === "cpu" ? model.contextLabel(s.value - 1) : timeline.nameOf(p.row, s.value);
      const x = LABELS + s.x0;
      parts.push(rect(x, y, s.x1 - s.x0, p.height, css(colour), title));
      if (c) parts.push(rect(x, y, s.x1 - s.x0, 3, css(machineColour(theme, c[0]))));
    }
  });
  for (const [x, text] of timeline.ticks())
    parts.push(`<text x="${LABELS + x + 3}" y="15" fill="${theme.faint}">${escape(text)}</text>`,
      rect(LABELS + x, 0, 1, height, theme.dark ? "#2b333b" : "#e6e9ec"));
  if (view.shown.cursor !== null)
    parts.push(rect(LABELS + timeline.x(view.shown.cursor), 0, 1, height, theme.accent));
  parts.push("</svg>");
  return parts.join("\n");
}

export function saveSvg(model: Model, view: View, timeline: Timeline, theme: Theme): void {
  const blob = new Blob([svgText(model, view, timeline, theme)], { type: "image/svg+xml" });
  download(blob, fileName(model, "svg"));
}
