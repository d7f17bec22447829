// SPDX-License-Identifier: Apache-2.0
// A pen that writes SVG: what is drawn over the rows on the screen is drawn by the same code here.
import type { Pen } from "./artist";

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (ch) => `&#${ch.charCodeAt(0)};`)
    // eslint-disable-next-line no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "\ufffd");
}

function n(x: number): string {
  return String(Math.round(x * 100) / 100);
}

export class SvgPen implements Pen {
  fillStyle: string | CanvasGradient | CanvasPattern = "#000";
  strokeStyle: string | CanvasGradient | CanvasPattern = "#000";
  globalAlpha = 1;
  lineWidth = 1;
  font = "10px sans-serif";
  textBaseline: CanvasTextBaseline = "alphabetic";
  readonly parts: string[] = [];
  private path = "";
  private readonly ruler = document.createElement("canvas").getContext("2d");

  /** What follows stands at @x, @y, and outside of @width and @height is not seen. */
  within(id: string, x: number, y: number, width: number, height: number, draw: () => void): void {
    this.parts.push(
      `<clipPath id="${id}"><rect width="${n(width)}" height="${n(height)}"/></clipPath>`,
      `<g transform="translate(${n(x)} ${n(y)})"><g clip-path="url(#${id})">`);
    draw();
    this.parts.push("</g></g>");
  }

  private get alpha(): string {
    return this.globalAlpha < 1 ? ` opacity="${n(this.globalAlpha)}"` : "";
  }

  rect(x: number, y: number, w: number, h: number, fill: string, title = ""): void {
    if (w <= 0 || h <= 0) return;
    const body = title ? `><title>${escape(title)}</title></rect>` : "/>";
    this.parts.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="${fill}"${this.alpha}${body}`);
  }

  fillRect(x: number, y: number, w: number, h: number): void {
    this.rect(Math.min(x, x + w), y, Math.abs(w), h, String(this.fillStyle));
  }

  strokeRect(x: number, y: number, w: number, h: number): void {
    this.parts.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="none" ` +
      `stroke="${String(this.strokeStyle)}" stroke-width="${n(this.lineWidth)}"${this.alpha}/>`);
  }

  fillText(text: string, x: number, y: number): void {
    const shift = this.textBaseline === "middle" ? 0.35 : this.textBaseline === "top" ? 0.8 : 0;
    const size = Number.parseFloat(/(?:^|\s)([\d.]+)px/.exec(this.font)?.[1] ?? "11");
    const weight = this.font.startsWith("bold") ? ' font-weight="600"' : "";
    this.parts.push(`<text x="${n(x)}" y="${n(y + shift * size)}" font-size="${n(size)}"${weight} ` +
      `fill="${String(this.fillStyle)}"${this.alpha}>${escape(text)}</text>`);
  }

  measureText(text: string): TextMetrics {
    if (!this.ruler) throw new Error("no canvas to measure text with");
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }

  beginPath(): void {
    this.path = "";
  }

  moveTo(x: number, y: number): void {
    this.path += `M${n(x)} ${n(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `L${n(x)} ${n(y)}`;
  }

  fill(): void {
    this.parts.push(`<path d="${this.path}Z" fill="${String(this.fillStyle)}"${this.alpha}/>`);
  }

  stroke(): void {
    this.parts.push(`<path d="${this.path}" fill="none" stroke="${String(this.strokeStyle)}" ` +
      `stroke-width="${n(this.lineWidth)}"${this.alpha}/>`);
  }
}
