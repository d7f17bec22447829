// SPDX-License-Identifier: Apache-2.0
// Times and numbers as people read them.
import type { RunModel } from "./model";

export type TimeFormat = "relative" | "trace" | "wall";

export class Clock {
  format: TimeFormat = "trace";
  private readonly base: bigint;
  private readonly wall: bigint | null;

  constructor(private readonly run: RunModel) {
    this.base = BigInt(run.begin);
    this.wall = run.wall === null ? null : BigInt(run.wall);
  }

  get ticks_are_ns(): boolean {
    return this.run.ticks_are_ns;
  }

  get formats(): TimeFormat[] {
    return this.wall === null ? ["trace", "relative"] : ["trace", "relative", "wall"];
  }

  /** How far the run's begin lies behind a round time of this format: marks of a ruler stand at round times. */
  past(step: number): number {
    const zero = this.format === "relative" ? 0n : this.base + (this.format === "wall" ? this.wall ?? 0n : 0n);
    const each = BigInt(Math.max(1, Math.round(step)));
    return Number(((zero % each) + each) % each);
  }

  /** The first moment from @t on that stands at a round time: digits that are left out would name one before it. */
  roundUp(t: number, step: number): number {
    const over = (t + this.past(step)) % step;
    return over ? t + step - over : t;
  }

  /** A moment with @digits after the second's point (9 = ns). */
  time(t: number, digits = 9): string {
    const ns = BigInt(Math.round(t));
    if (!this.run.ticks_are_ns) return (this.format === "relative" ? ns : this.base + ns).toString();
    if (this.format === "relative") return `+${seconds(ns, digits)}`;
    if (this.format === "trace" || this.wall === null) return seconds(this.base + ns, digits);
    const unix = this.base + ns + this.wall;
    const whole = new Date(Number(unix / 1000000000n) * 1000).toISOString().slice(11, 19);
    const rest = (unix % 1000000000n).toString().padStart(9, "0").slice(0, digits);
    return digits ? `${whole}.${rest}` : whole;
  }

  length(ns: number): string {
    if (!this.run.ticks_are_ns) return `${count(Math.round(ns))} cycles`;
    return length(ns);
  }
}

function seconds(ns: bigint, digits: number): string {
  const sign = ns < 0n ? "-" : "";
  const abs = ns < 0n ? -ns : ns;
  const rest = (abs % 1000000000n).toString().padStart(9, "0").slice(0, digits);
  return `${sign}${abs / 1000000000n}${digits ? "." + rest : ""}`;
}

/** Four significant digits: "1.234 s", "56.78 ms". */
export function length(ns: number): string {
  const abs = Math.abs(ns);
  if (abs === 0) return "0";
  for (const [unit, size] of [
    ["s", 1e9],
    ["ms", 1e6],
    ["µs", 1e3],
  ] as const)
    if (abs >= size) return `${(ns / size).toPrecision(4)} ${unit}`;
  return `${Math.round(ns)} ns`;
}

/** A sentence of the library's, which writes for terminals, with the page's own unit. */
export function sentence(text: string): string {
  return text.replace(/(\d) us\b/g, "$1 µs");
}

export function count(n: number): string {
  return n.toLocaleString("en-US");
}

export function ppm(n: number): string {
  if (n > 0 && n < 500) return "<0.1%";
  return `${(n / 10000).toFixed(1)}%`;
}

/** Digits after the second's point that tell times @step ns apart. */
export function digitsFor(step: number): number {
  let digits = 9;
  for (let each = 10; digits > 0 && step % each === 0; each *= 10) digits--;
  return digits;
}

/** 1, 2 or 5 times a power of ten, at least @least. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  for (const k of [1, 2, 5]) if (k * power >= least) return k * power;
  return 10 * power;
}
