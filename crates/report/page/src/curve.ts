// The share of wakeups that took at least a given time, both axes logarithmic. Shares of waiting, where the few longest
// matter most, run from 0 to 100 %.
import * as Plot from "@observablehq/plot";
import { along, along10, colour, dash, decades, element, latencyAxis, latencyDomain, margin, nearest, paper, thinned } from "./axes";
import type { Curve, CurveLine, Drawn, Renderer } from "./types";
import { count, lengthOf, microseconds, share, shareTick } from "./words";

/** How high a row of the names of marks is, how far above the picture the lowest stands, so that it is clear of the axis, and how
 * wide a letter is, pixels. */
const ROW = 14;
const LIFT = 6;
const NAME_LETTER = 6.4;

/** Names above the picture: each covers its line, and none another. A name that no row could hold is cut at its end. */
function namesOf(marks: { name: string; at: number }[], width: number): { name: string; at: number; from: number; row: number }[] {
  const most = Math.max(3, Math.floor((width - 8) / NAME_LETTER));
  const placed: { name: string; at: number; from: number; to: number; row: number }[] = [];
  // From the right, so that the lines of the names in upper rows pass no name on their way.
  for (const mark of [...marks].sort((one, other) => other.at - one.at)) {
    const name = mark.name.length > most ? `${mark.name.slice(0, most - 1)}…` : mark.name;
    const length = name.length * NAME_LETTER;
    const from = Math.max(4 - margin.left, Math.min(mark.at - 2, width - margin.left - 4 - length));
    const [to, taken] = [from + length, new Set<number>()];
    for (const other of placed) if (other.from < to + 10 && from < other.to + 10) taken.add(other.row);
    let row = 0;
    while (taken.has(row)) row++;
    placed.push({ name, at: mark.at, from, to, row });
  }
  return placed;
}

/** How many values were at least this long. */
function atLeast(line: CurveLine, ns: number): number {
  let low = 0;
  let high = line.ns.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (line.ns[middle] < ns) low = middle + 1;
    else high = middle;
  }
  return low < line.ns.length ? line.at_least[low] : 0;
}

function draw(picture: Curve, width: number, hidden: ReadonlySet<number>): Drawn {
  const plotHeight = (picture.small ? 210 : Math.round(Math.min(460, Math.max(300, width * 0.48)))) - margin.top - margin.bottom;
  const [left, right] = latencyDomain(picture.latency_ns);
  const isLinear = picture.of === "us of waiting";
  const bottom = isLinear ? 0 : 10 ** Math.floor(Math.log10(1 / picture.most) + 1e-9);
  const lines = picture.lines.filter((_, index) => !hidden.has(index));
  const us = (ns: number) => Math.max(ns / 1000, left);
  const shares = isLinear ? [0, 0.2, 0.4, 0.6, 0.8, 1] : decades(bottom, 1);
  const tickFormat = isLinear ? (value: number) => `${Math.round(100 * value)} %` : shareTick;

  // The names of marks stand above the picture, where no curve is; those of close ones in rows.
  const marks = picture.marks.filter((mark) => mark.ns / 1000 > left && mark.ns / 1000 < right);
  const room = width - margin.left - margin.right;
  const texts = namesOf(marks.map((mark) => ({ name: mark.name, at: along10(mark.ns / 1000, [left, right], room) })), width);
  const rows = Math.max(0, ...texts.map((text) => text.row + 1));
  const top = margin.top + (rows ? rows * ROW + LIFT : 0);
  const height = plotHeight + top + margin.bottom;

  const svg = Plot.plot({
    ...paper,
    width,
    height,
    marginTop: top,
    x: { type: "log", domain: [left, right], label: null },
    y: { type: isLinear ? "linear" : "log", domain: [bottom, 1], label: null },
    marks: [
      Plot.gridY(shares, { stroke: "var(--line)", strokeOpacity: 1 }),
      Plot.axisY(thinned(shares, Math.floor(plotHeight / 18)), { tickFormat, label: null, tickSize: 4 }),
      ...latencyAxis("x", [left, right], width - margin.left - margin.right, picture.of),
      Plot.ruleX(marks, { x: (mark) => mark.ns / 1000, stroke: "var(--soft)", strokeDasharray: "2 4" }),
      lines.map((line) =>
        Plot.line(line.ns, {
          x: us,
          y: (_: number, index: number) => line.at_least[index] / line.count,
          curve: "step-before",
          stroke: colour(line.style),
          strokeWidth: line.style === 0 ? 2.6 : 2,
          strokeDasharray: dash(line.style) || undefined,
          strokeLinejoin: "round",
        }),
      ),
    ],
  }) as SVGSVGElement & Plot.Plot;

  const x = svg.scale("x")!;
  const y = svg.scale("y")!;
  for (const text of texts) {
    const px = margin.left + text.at;
    svg.append(element("line", { class: "slack", x1: px, x2: px, y1: top, y2: top - LIFT - text.row * ROW - 2 }));
  }
  for (const text of texts) {
    const name = svg.appendChild(element("text", { class: "slackname halo", "text-anchor": "start", x: margin.left + text.from, y: top - LIFT - text.row * ROW - 4 }));
    name.textContent = text.name;
  }
  const cursor = svg.appendChild(element("g", { "aria-hidden": "true" }));
  const places = [...new Set(lines.flatMap((line) => line.ns))].sort((one, other) => one - other);
  return {
    svg,
    nearest: (px) => (places.length ? nearest(places, Number(x.invert!(px)) * 1000) : null),
    step: (place, key) => along(place, key, places.length - 1),
    leave: () => cursor.replaceChildren(),
    read(place) {
      const ns = places[place];
      const px = Number(x.apply(us(ns)));
      cursor.replaceChildren(
        element("line", { class: "cursor", x1: px, x2: px, y1: top, y2: height - margin.bottom }),
        ...lines.flatMap((line) => {
          const part = atLeast(line, ns) / line.count;
          return part > 0 ? [element("circle", { class: "dot", cx: px, cy: Number(y.apply(part)), r: 4.5, fill: colour(line.style) })] : [];
        }),
      );
      return {
        x: px,
        y: top,
        head: `${microseconds(ns)} or more`,
        rows: lines.map((line) => {
          const part = atLeast(line, ns);
          return { name: line.name, colour: colour(line.style), text: part ? `${share(part, line.count)} (${count(part)})` : "none" };
        }),
      };
    },
  };
}

export const curve: Renderer<Curve> = {
  legend: (picture) => picture.lines,
  draw,
  values(picture) {
    const places = [...new Set(picture.lines.flatMap((line) => line.ns))].sort((one, other) => one - other);
    return {
      head: [`${lengthOf(picture.of)}, at least`, ...picture.lines.map((line) => `${line.name}: ${picture.of} of ${count(line.count)}`)],
      rows: places.map((ns) => [microseconds(ns), ...picture.lines.map((line) => count(atLeast(line, ns)))]),
    };
  },
};
