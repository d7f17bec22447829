// SPDX-License-Identifier: Apache-2.0
// Colours: two themes, and for each the usual colours of this field (idle grey, user green, kernel
// blue) or a set that eyes with any colour weakness can tell apart (after Okabe and Ito).

export type Rgb = [number, number, number];

export interface Theme {
  dark: boolean;
  row: Rgb; // ground of a row
  page: Rgb; // between rows
  grid: string;
  text: string;
  faint: string;
  accent: string;
  hatch: Rgb;
  wake: string; // arrows
  taken: string;
  path: string; // the critical one
  note: string; // bookmarks
  fade: number; // of what the filter does not match: share of the ground's colour
  modes: Rgb[];
  vcpu: Rgb[];
  thread: Rgb[];
  machines: Rgb[];
}

function rgb(hex: string): Rgb {
  const n = Number.parseInt(hex, 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

// unknown idle user syscall irq softirq hypervisor guest kernel task
const USUAL = "eceef0 d5d9dd 5aa469 3b82c4 dd6b35 e3a82b 9068b8 4fb0aa 24599a 93b15f";
const USUAL_DARK = "23282e 3a4149 5fae70 4a93d8 e27a47 dcae45 a582cf 56b8b2 386fb5 9dba6a";
const SAFE = "eceef0 d5d9dd 009e73 56b4e9 d55e00 e69f00 cc79a7 8fd3c4 0072b2 b5bd4a";
const SAFE_DARK = "23282e 3a4149 00a87a 62bdf0 e0701a eaa81f d68ab3 8fd3c4 2b8bc9 bcc457";
// none unknown on-cpu preempted waiting gone
const VCPU = "ffffff eceef0 a9d3ae d0433c f1e6c2 7b8187";
const VCPU_DARK = "14181c 23282e 3f7f4a e0564d 4b4530 5a6067";
const VCPU_SAFE = "ffffff eceef0 8fd3c4 8b1a1a f5e9b8 7b8187";
const VCPU_SAFE_DARK = "14181c 23282e 1f8f76 b3170a 4d4728 5a6067";
// none unknown running runnable sleeping blocked stopped dead
const THREAD = "ffffff eceef0 5aa469 ffe94a e6e9ec c06a84 9aa1a8 7b8187";
const THREAD_DARK = "14181c 23282e 5fae70 ffe94a 2a3037 b96a86 6b737b 5a6067";
const THREAD_SAFE = "ffffff eceef0 009e73 f4e04d e6e9ec 661f66 9aa1a8 7b8187";
const THREAD_SAFE_DARK = "14181c 23282e 00a87a f4e04d 2a3037 993df5 6b737b 5a6067";
const MACHINES = "4c6a8a d2803f 7a57a8 3f9c8f c25579 8a7a2f 5f8f3e 9a5b3a 4477cc 777777";
const MACHINES_DARK = "7d9cc0 e69a5c a98ad4 5cc2b4 e07b9c c0ae58 8bbf66 c98561 7aa2ee a0a0a0";

function list(colours: string): Rgb[] {
  return colours.split(" ").map(rgb);
}

export function makeTheme(dark: boolean, safe: boolean): Theme {
  return {
    dark,
    row: rgb(dark ? "1b2026" : "f6f7f8"),
    page: rgb(dark ? "14181c" : "ffffff"),
    grid: dark ? "rgba(255,255,255,.07)" : "rgba(20,30,40,.07)",
    text: dark ? "#dfe4e9" : "#1f2730",
    faint: dark ? "#8b95a0" : "#66707b",
    accent: dark ? "#6cb0ff" : "#1769c4",
    hatch: rgb(dark ? "4a535d" : "b9c0c7"),
    wake: dark ? "#e8edf2" : "#20303f",
    taken: safe ? (dark ? "#ff8f3d" : "#b34700") : dark ? "#ff6b61" : "#c01f14",
    path: dark ? "#ffd23f" : "#b5007f",
    note: dark ? "#f0b84a" : "#c47f00",
    fade: 0.84,
    modes: list(dark ? (safe ? SAFE_DARK : USUAL_DARK) : safe ? SAFE : USUAL),
    vcpu: list(dark ? (safe ? VCPU_SAFE_DARK : VCPU_DARK) : safe ? VCPU_SAFE : VCPU),
    thread: list(dark ? (safe ? THREAD_SAFE_DARK : THREAD_DARK) : safe ? THREAD_SAFE : THREAD),
    machines: list(dark ? MACHINES_DARK : MACHINES),
  };
}

export function machineColour(theme: Theme, machine: number): Rgb {
  return theme.machines[machine % theme.machines.length];
}

export function css([r, g, b]: Rgb): string {
  return `rgb(${r} ${g} ${b})`;
}

/** Dark or white ink, whichever can be read on a colour. */
export function inkOn([r, g, b]: Rgb): string {
  return r * 299 + g * 587 + b * 114 > 148000 ? "#1c232b" : "#ffffff";
}

/** @over laid upon @ground with @alpha, as a canvas' pixel (little endian: ABGR). */
export function pixel(over: Rgb, ground: Rgb, alpha: number): number {
  const mix = (i: number) => Math.round(ground[i] + (over[i] - ground[i]) * alpha);
  return (0xff000000 | (mix(2) << 16) | (mix(1) << 8) | mix(0)) >>> 0;
}

/** A steady colour for a name: tasks are told apart by it. */
export function nameColour(name: string, dark: boolean): Rgb {
  let hash = 2166136261;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  const hue = (hash >>> 8) % 360;
  const light = dark ? 0.5 : 0.7;
  const chroma = (1 - Math.abs(2 * light - 1)) * (dark ? 0.3 : 0.42);
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (light - (chroma / 2) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}
