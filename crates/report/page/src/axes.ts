// What all pictures share: margins, colours, dashes, and axes that are legible at any width.
import * as Plot from "@observablehq/plot";
import type { Subject } from "./types";
import { clock, lengthOf, rounded, tick } from "./words";

export const margin = { left: 84, right: 30, top: 12, bottom: 44 };

/** Which number stands for what is in crates/report/src/encode/html/colours.rs. */
export const colour = (style: number): string => `var(--c${style % 10})`;

// The lines of one picture can be distinguished without colour, too.
const DASHES = ["", "", "7 3", "2 3", "9 3 2 3", "4 2", "12 4", "1 2", "7 3", "2 3"];
export const dash = (style: number): string => DASHES[style % 10];

/** Powers of ten from `low` to `high`. */
export function decades(low: number, high: number): number[] {
  const ticks = [];
  for (let power = Math.ceil(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1e-9; power++) ticks.push(10 ** power);
  return ticks;
}

/** Ticks of an axis of times, s: beyond a second, people do not think in powers of ten. Their words go in as `text`:
 * with `tickFormat` the scale would leave out those that are not powers. */
export const TIMES = [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 60, 600, 3600, 36000, 86400, 864000, 31536000, 315360000, 3153600000];

/** Latencies of an axis, us: whole decades around the data. A logarithmic axis has no 0. */
export function latencyDomain([low, high]: [number, number]): [number, number] {
  const bottom = 10 ** Math.floor(Math.log10(Math.max(low / 1000, 0.1)) + 1e-9);
  const top = 10 ** Math.ceil(Math.log10(Math.max(high / 1000, 1)) - 1e-9);
  return [bottom, Math.max(top, bottom * 10)];
}

/** Keeps no more ticks than there is room for. */
export function thinned<T>(ticks: T[], most: number): T[] {
  const every = Math.ceil(ticks.length / Math.max(1, most));
  return ticks.filter((_, index) => (ticks.length - 1 - index) % every === 0);
}

/** How wide a letter of an axis is, pixels, rather more than less. */
export const LETTER = 7;

/** Of ascending ticks, those whose labels stay apart. `at` is where a tick is, `size` how much of the axis its label takes, pixels. */
export function spaced(ticks: number[], at: (tick: number) => number, size: (tick: number) => number): number[] {
  const kept: number[] = [];
  let free = -Infinity;
  for (const tick of ticks) {
    const half = size(tick) / 2;
    if (at(tick) - half < free) continue;
    kept.push(tick);
    free = at(tick) + half + 6;
  }
  return kept;
}

/** Where a value is on a logarithmic axis of this length, pixels from its beginning. */
export const along10 = (value: number, [low, high]: readonly number[], length: number): number =>
  (length * Math.log(value / low)) / Math.log(high / low);

/** Grid and labels of an axis of latency. */
export function latencyAxis(side: "x" | "y", domain: [number, number], room: number, of: Subject): Plot.Markish[] {
  const all = decades(...domain);
  const ticks = thinned(all, Math.floor(room / (side === "x" ? 52 : 20)));
  const label = `${lengthOf(of)}, us`;
  return side === "x"
    ? [
        Plot.gridX(all, { stroke: "var(--line)", strokeOpacity: 1 }),
        Plot.axisX(ticks, { tickFormat: tick, label, labelAnchor: "center", labelArrow: "none", tickSize: 4 }),
      ]
    : [
        Plot.gridY(all, { stroke: "var(--line)", strokeOpacity: 1 }),
        Plot.axisY(ticks, { tickFormat: tick, label, labelAnchor: "center", labelArrow: "none", tickSize: 4, labelOffset: 78 }),
      ];
}

/** The axis of time below a picture whose columns are counted. */
export function timeAxis(columns: number, columnNs: number, room: number): Plot.Markish[] {
  const length = columns * columnNs;
  const { name, scale } = clock(length);
  const end = length / scale;
  const most = Math.max(2, Math.floor(room / 70));
  let step = 10 ** Math.floor(Math.log10(end / most));
  for (const factor of [1, 2, 5, 10]) {
    if (end / (step * factor) <= most) {
      step *= factor;
      break;
    }
  }
  const ticks = [];
  for (let index = 0; index * step <= end * 1.0001; index++) ticks.push((index * step * scale) / columnNs);
  const format = (column: number) => rounded((column * columnNs) / scale, 6);
  return [
    Plot.axisX(ticks, { tickFormat: format, label: `time from the beginning, ${name}`, labelAnchor: "center", labelArrow: "none", tickSize: 4 }),
  ];
}

/** Draws what is not one of the library's marks into a picture. */
export function element<K extends keyof SVGElementTagNameMap>(name: K, attributes: Record<string, string | number>): SVGElementTagNameMap[K] {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

/** The options that all pictures share. */
export const paper = {
  style: { background: "none", color: "var(--ink)", fontFamily: "inherit", overflow: "visible" },
  marginLeft: margin.left,
  marginRight: margin.right,
  marginTop: margin.top,
  marginBottom: margin.bottom,
} as const;

/** A step along the places 0 to `end`. */
export function along(place: number | null, key: string, end: number): number | null {
  if (end < 0) return null;
  const from = place ?? -1;
  const page = Math.max(1, Math.round(end / 10));
  const steps: Record<string, number> = {
    ArrowRight: from + 1,
    ArrowLeft: from < 0 ? end : from - 1,
    PageDown: from + page,
    PageUp: from - page,
    Home: 0,
    End: end,
  };
  return key in steps ? Math.min(end, Math.max(0, steps[key])) : null;
}

/** The position of the number nearest to `value` among ascending numbers. */
export function nearest(ascending: readonly number[], value: number): number {
  let low = 0;
  let high = ascending.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low > 0 && value - ascending[low - 1] < ascending[low] - value ? low - 1 : low;
}
