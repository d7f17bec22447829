// SPDX-License-Identifier: Apache-2.0
// Hands: the pointer on the picture, and a key for everything.
import type { Timeline } from "./timeline";
import type { Tooltip } from "./tooltip";
import type { View } from "./view";

export interface Command {
  keys: string[];
  what: string;
  run: (e: KeyboardEvent) => void;
}

/** "shift+Tab", "ctrl+z", "w": how a key is called in the table of commands. */
export function keyName(e: KeyboardEvent): string {
  const letter = e.key.length === 1;
  const parts = [
    (e.ctrlKey || e.metaKey) && "ctrl",
    e.altKey && "alt",
    e.shiftKey && (!letter || /[a-zA-Z]/.test(e.key)) && "shift",
    letter ? e.key.toLowerCase() : e.key,
  ];
  return parts.filter(Boolean).join("+");
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement;
}

export function listenKeys(commands: Command[]): void {
  const byKey = new Map(commands.flatMap((c) => c.keys.map((k) => [k, c] as const)));
  document.addEventListener("keydown", (e) => {
    if (isTyping(e.target)) return;
    // A control that has the focus is worked by these itself.
    if (e.target instanceof HTMLButtonElement && (e.key === "Enter" || e.key === " ")) return;
    const command = byKey.get(keyName(e));
    if (!command) return;
    e.preventDefault();
    command.run(e);
  });
}

const DRAG_PIXELS = 3;

interface Drag {
  x: number;
  y: number;
  begin: number;
  end: number;
  scroll: number;
  choose: boolean;
  moved: boolean;
}

export class Pointer {
  private drag: Drag | null = null;
  private restTimer = 0;
  x = 0; // the pointer's last place over the picture
  inside = false;

  constructor(
    private readonly view: View,
    private readonly timeline: Timeline,
    private readonly tooltip: Tooltip,
    private readonly scrollTo: (y: number) => void,
    private readonly chosen: (id: string, t: number) => void,
  ) {
    const { canvas, ruler } = timeline;
    for (const e of [canvas, ruler]) {
      e.addEventListener("pointerdown", (ev) => this.down(ev, e === ruler));
      e.addEventListener("pointermove", (ev) => this.move(ev));
      e.addEventListener("pointerup", (ev) => this.up(ev));
      e.addEventListener("pointercancel", () => this.cancel());
      e.addEventListener("wheel", (ev) => this.wheel(ev), { passive: false });
      e.addEventListener("pointerleave", () => this.leave());
    }
    canvas.addEventListener("dblclick", (e) => this.fit(e));
  }

  private place(e: MouseEvent): { x: number; y: number } {
    const box = this.timeline.canvas.getBoundingClientRect();
    return { x: e.clientX - box.left, y: e.clientY - box.top };
  }

  /** While the picture moves it is drawn with fewer names. */
  private moving(): void {
    this.timeline.moving = true;
    clearTimeout(this.restTimer);
    this.restTimer = window.setTimeout(() => {
      this.timeline.moving = false;
      this.timeline.request();
    }, 160);
  }

  private down(e: PointerEvent, onRuler: boolean): void {
    if (e.button !== 0) return;
    const { x, y } = this.place(e);
    const { begin, end } = this.view.shown;
    (e.target as Element).setPointerCapture(e.pointerId);
    this.timeline.canvas.focus({ preventScroll: true });
    this.drag = { x, y, begin, end, scroll: this.timeline.scroll, choose: e.shiftKey || onRuler, moved: false };
    this.tooltip.hide();
  }

  private move(e: PointerEvent): void {
    const { x, y } = this.place(e);
    this.x = x;
    this.inside = true;
    const d = this.drag;
    if (!d) {
      this.timeline.hoverX = Math.round(x);
      this.timeline.request();
      const hit = this.timeline.hit(x, y);
      const known = y >= 0 ? this.timeline.tip(x, y) : null;
      if (known) this.tooltip.say(known, e.clientX, e.clientY);
      else if (hit && y >= 0) this.tooltip.show(hit, e.clientX, e.clientY);
      else this.tooltip.hide();
      return;
    }
    if (!d.moved && Math.hypot(x - d.x, y - d.y) < DRAG_PIXELS) return;
    d.moved = true;
    if (d.choose) {
      const a = this.timeline.time(Math.min(x, d.x));
      const b = this.timeline.time(Math.max(x, d.x));
      this.view.set({ range: [Math.max(0, a), Math.min(this.view.length, b)] }, false);
      return;
    }
    this.moving();
    const by = ((d.x - x) / this.timeline.width) * (d.end - d.begin);
    this.view.set({ begin: d.begin + by, end: d.end + by }, false);
    this.scrollTo(d.scroll + d.y - y);
  }

  private up(e: PointerEvent): void {
    const d = this.drag;
    this.drag = null;
    if (!d || d.moved) return;
    const { x, y } = this.place(e);
    const hit = y < 0 ? null : this.timeline.hit(x, y);
    if (hit && hit.row.kind !== "group") this.chosen(hit.row.id, hit.t);
    else this.view.setCursor(Math.floor(this.timeline.time(x)));
    if (d.choose && this.view.shown.range) this.view.set({ range: null });
  }

  private cancel(): void {
    this.drag = null;
  }

  private leave(): void {
    this.inside = false;
    this.timeline.hoverX = null;
    this.timeline.request();
    this.tooltip.hide();
  }

  private wheel(e: WheelEvent): void {
    e.preventDefault();
    this.tooltip.hide();
    const unit = e.deltaMode === 1 ? 30 : e.deltaMode === 2 ? 400 : 1;
    const dx = e.deltaX * unit;
    const dy = e.deltaY * unit;
    if (e.altKey) {
      this.scrollTo(this.timeline.scroll + dy);
      return;
    }
    this.moving();
    if (e.shiftKey || Math.abs(dx) > Math.abs(dy)) {
      this.view.pan((((e.shiftKey && !dx ? dy : dx) * 1.2) / this.timeline.width) * this.view.span);
      return;
    }
    const { x } = this.place(e);
    const factor = Math.exp(Math.max(-240, Math.min(240, dy)) * 0.0022);
    this.view.zoom(factor, this.timeline.time(x));
  }

  /** A piece fills the picture. */
  private fit(e: MouseEvent): void {
    const { x, y } = this.place(e);
    const ratio = window.devicePixelRatio || 1;
    const i = this.timeline.placed.findIndex((p) => y >= p.y && y < p.y + p.height);
    const span = i < 0 ? undefined : this.timeline.spans[i]?.find((s) => x * ratio >= s.x0 && x * ratio < s.x1);
    const at = this.timeline.time(x);
    if (span) {
      const a = this.timeline.time(span.x0 / ratio);
      const b = this.timeline.time(span.x1 / ratio);
      this.view.show(a - (b - a) * 0.25, b + (b - a) * 0.25);
    } else this.view.show(at - this.view.span / 8, at + this.view.span / 8);
  }

  /** Where keys zoom: at the pointer when it is over the picture, else at the cursor or the middle. */
  centre(): number {
    if (this.inside) return this.timeline.time(this.x);
    const { cursor, begin, end } = this.view.shown;
    return cursor !== null && cursor >= begin && cursor < end ? cursor : (begin + end) / 2;
  }
}
