// SPDX-License-Identifier: Apache-2.0
// The whole run in one strip: how much of the CPUs each machine used, where events were lost, and
// which part is shown.  The strip of what is shown, below it, is drawn by the same code.
import type { Load } from "./api";
import { h } from "./dom";
import { MODE, type Model } from "./model";
import { css, machineColour, type Theme } from "./palette";
import type { View } from "./view";

export class Overview {
  readonly canvas = h("canvas", { class: "overview", title: "the whole history: drag to move, shift-drag to choose" });
  private load: Load | null = null;
  private picture: HTMLCanvasElement | null = null; // of the load, which changes seldom
  private pictureOf = "";
  private drag: { from: number; grab: number; choose: boolean } | null = null;

  constructor(
    private readonly model: Model,
    private readonly view: View,
  ) {
    this.canvas.addEventListener("pointerdown", (e) => this.down(e));
    this.canvas.addEventListener("pointermove", (e) => this.move(e));
    this.canvas.addEventListener("pointerup", () => (this.drag = null));
    this.canvas.addEventListener("pointercancel", () => (this.drag = null));
    this.canvas.addEventListener("wheel", (e) => {
      e.preventDefault();
      this.view.zoom(e.deltaY > 0 ? 1.25 : 0.8, this.time(e));
    }, { passive: false });
  }

  setLoad(load: Load): void {
    this.load = load;
  }

  private time(e: MouseEvent): number {
    const box = this.canvas.getBoundingClientRect();
    return ((e.clientX - box.left) / box.width) * this.view.length;
  }

  private down(e: PointerEvent): void {
    const t = this.time(e);
    const { begin, end } = this.view.shown;
    const inside = t >= begin && t < end && end - begin < this.view.length * 0.98;
    this.canvas.setPointerCapture(e.pointerId);
    this.drag = { from: t, grab: inside ? t - begin : (end - begin) / 2, choose: e.shiftKey };
    if (!inside && !e.shiftKey) this.move(e);
  }

  private move(e: PointerEvent): void {
    if (!this.drag) return;
    const t = this.time(e);
    const { begin, end } = this.view.shown;
    if (this.drag.choose) {
      const a = Math.min(this.drag.from, t);
      const b = Math.max(this.drag.from, t);
      if (b - a > this.view.length / 2000) this.view.set({ begin: a, end: b }, false);
      return;
    }
    const at = t - this.drag.grab;
    this.view.set({ begin: at, end: at + end - begin }, false);
  }

  draw(theme: Theme): void {
    const { canvas } = this;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    const w = Math.round(width * ratio);
    const high = Math.round(height * ratio);
    if (canvas.width !== w || canvas.height !== high) {
      canvas.width = w;
      canvas.height = high;
    }
    const context = canvas.getContext("2d", { alpha: false });
    if (!context || width < 2) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = css(theme.row);
    context.fillRect(0, 0, width, height);
    context.drawImage(this.loadPicture(theme, width, height, ratio), 0, 0, width, height);
    this.drawWindow(context, theme, width, height);
  }

  private loadPicture(theme: Theme, width: number, height: number, ratio: number): HTMLCanvasElement {
    const key = `${width}x${height}x${ratio} ${theme.dark} ${this.load?.buckets ?? 0}`;
    if (this.picture && key === this.pictureOf) return this.picture;
    const picture = document.createElement("canvas");
    picture.width = Math.round(width * ratio);
    picture.height = Math.round(height * ratio);
    const context = picture.getContext("2d");
    if (context) {
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.drawLoad(context, theme, width, height);
      this.drawLosses(context, width, height);
    }
    this.picture = picture;
    this.pictureOf = key;
    return picture;
  }

  private drawLoad(context: CanvasRenderingContext2D, theme: Theme, width: number, height: number): void {
    const load = this.load;
    if (!load) return;
    const top = new Float64Array(load.buckets);
    const whole = (this.view.length / load.buckets) * load.cpus;
    for (let m = 0; m < this.model.run.machines.length; m++) {
      const sums = new Float64Array(load.buckets);
      for (const p of load.parts)
        if (p.machine === m && p.mode !== MODE.idle && p.mode !== MODE.unknown)
          p.time.forEach((t, i) => (sums[i] += t));
      context.fillStyle = css(machineColour(theme, m));
      context.globalAlpha = 0.8;
      for (let i = 0; i < load.buckets; i++) {
        const high = (sums[i] / whole) * (height - 4);
        const x = Math.floor((i * width) / load.buckets);
        const next = Math.floor(((i + 1) * width) / load.buckets);
        context.fillRect(x, height - top[i] - high, next - x, high);
        top[i] += high;
      }
    }
    context.globalAlpha = 1;
  }

  private drawLosses(context: CanvasRenderingContext2D, width: number, height: number): void {
    context.fillStyle = "#d8382c";
    for (const [, , begin, end] of this.model.run.gaps) {
      const x = (begin / this.view.length) * width;
      context.fillRect(x, height - 3, Math.max(1.5, ((end - begin) / this.view.length) * width), 3);
    }
  }

  private drawWindow(context: CanvasRenderingContext2D, theme: Theme, width: number, height: number): void {
    const { begin, end, notes, cursor } = this.view.shown;
    const x0 = (begin / this.view.length) * width;
    const x1 = Math.max(x0 + 2, (end / this.view.length) * width);
    context.fillStyle = theme.dark ? "rgba(10,13,17,.62)" : "rgba(255,255,255,.66)";
    context.fillRect(0, 0, x0, height);
    context.fillRect(x1, 0, width - x1, height);
    context.strokeStyle = theme.accent;
    context.strokeRect(x0 + 0.5, 0.5, Math.max(1, x1 - x0 - 1), height - 1);
    context.fillStyle = theme.dark ? "#f0b84a" : "#c47f00";
    for (const n of notes) context.fillRect((n.t / this.view.length) * width, 0, 1.5, height);
    if (cursor !== null) {
      context.fillStyle = theme.accent;
      context.fillRect((cursor / this.view.length) * width, 0, 1, height);
    }
  }
}
