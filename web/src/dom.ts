// SPDX-License-Identifier: Apache-2.0
// Elements without a framework.

type Child = Node | string | null | undefined | false;
type Props = Record<string, unknown>;

/** An element: properties by name, "on..." as listeners, "data-..." and others as attributes. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === false || value === null) continue;
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value as EventListener);
    else if (key === "class") e.className = String(value);
    else if (value === true) e.setAttribute(key, "");
    else e.setAttribute(key, String(value));
  }
  e.append(...children.filter((c): c is Node | string => Boolean(c)));
  return e;
}

export function fill(e: Element, ...children: Child[]): void {
  e.replaceChildren(...children.filter((c): c is Node | string => Boolean(c)));
}

const PATHS: Record<string, string> = {
  pin: "M6 2h4l-.5 5 2.5 2v1H8.6L8 15l-.6-5H4V9l2.5-2z",
  hide: "M2 2l12 12M6.5 5A7 7 0 0 1 8 4.8c4 0 6.300 3.200 6.300 3.200a12 12 0 0 1-2 2.100M4 6A11 11 0 0 0 1.700 8s2.300 3.300 6.300 3.300a7 7 0 0 0 1.700-.2",
  only: "M2 3h12L9.500 8.500V13l-3-1.500v-3z",
  undo: "M6 3L2.500 6.500 6 10M3 6.500h6a4 4 0 0 1 0 8H7",
  fit: "M2 8h12M2 8l3-3M2 8l3 3M14 8l-3-3M14 8l-3 3",
  sun: "M8 4.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM8 .5v2M8 13.500v2M.5 8h2M13.500 8h2",
  menu: "M8 3v.01M8 8v.01M8 13v.01",
  help: "M5.500 6a2.500 2.500 0 1 1 3.700 2.200c-.8.5-1.200.9-1.200 1.800M8 12.800v.1",
  mark: "M4 2h8v12l-4-3-4 3z",
};

export function icon(name: string): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", PATHS[name] ?? "");
  svg.append(path);
  return svg;
}

export function button(title: string, content: Child, onclick: (e: MouseEvent) => void): HTMLElement {
  return h("button", { type: "button", title, "aria-label": title, onclick }, content);
}
