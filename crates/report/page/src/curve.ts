// The share of wakeups that took at least a given time, both axes logarithmic.
import * as Plot from "@observablehq/plot";
import { along, colour, dash, decades, element, latencyAxis, latencyDomain, margin, nearest, paper, thinned } from "./axes";
import type { Curve, CurveLine, Drawn, Renderer } from "./types";
import { count, lengthOf, microseconds, share, shareTick } from "./words";

/** Below this width the names of marks run along their lines, upright: set across, they would cover the curves. */
const NARROW = 560;

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
  const height = picture.small ? 210 : Math.round(Math.min(460, Math.max(300, width * 0.48)));
  const [left, right] = latencyDomain(picture.latency_ns);
  const bottom = 10 ** Math.floor(Math.log10(1 / picture.most) + 1e-9);
  const lines = picture.lines.filter((_, index) => !hidden.has(index));
  const us = (ns: number) => Math.max(ns / 1000, left);
  const shares = decades(bottom, 1);
  const plotHeight = height - margin.top - margin.bottom;

  // The names of marks are set in rows, so that close ones do not overlap.
  const marks = picture.marks.filter((mark) => mark.ns / 1000 > left && mark.ns / 1000 < right);
  const pixels = (ns: number) => ((width - margin.left - margin.right) * Math.log(ns / 1000 / left)) / Math.log(right / left);
  // A name that would run out of the picture is set to the left of its line.
  const room = width - margin.left - margin.right;
  const texts = marks.map((mark) => {
    const at = pixels(mark.ns);
    if (width < NARROW) return { from: at - 14, to: at, leftwards: true };
    const length = mark.name.length * 6.8 + 12;
    return at + length > room ? { from: at - length, to: at, leftwards: true } : { from: at, to: at + length, leftwards: false };
  });
  const rows: number[] = [];
  for (const [index, text] of texts.entries()) {
    let row = 0;
    while (texts.some((other, before) => before < index && rows[before] === row && other.from < text.to && text.from < other.to)) row++;
    rows.push(row);
  }

  const svg = Plot.plot({
    ...paper,
    width,
    height,
    x: { type: "log", domain: [left, right], label: null },
    y: { type: "log", domain: [bottom, 1], label: null },
    marks: [
      Plot.gridY(shares, { stroke: "var(--line)", strokeOpacity: 1 }),
      Plot.axisY(thinned(shares, Math.floor(plotHeight / 18)), { tickFormat: shareTick, label: null, tickSize: 4 }),
      ...latencyAxis("x", [left, right], width - margin.left - margin.right, picture.of),
      Plot.ruleX(marks, { x: (mark) => mark.ns / 1000, stroke: "var(--soft)", strokeDasharray: "2 4" }),
      marks.map((mark, index) =>
        Plot.text([mark], {
          x: (one) => one.ns / 1000,
          text: "name",
          frameAnchor: "top",
          textAnchor: texts[index].leftwards ? "end" : "start",
          rotate: width < NARROW ? -90 : 0,
          dx: width < NARROW ? -8 : texts[index].leftwards ? -4 : 4,
          dy: width < NARROW ? 4 + rows[index] * 120 : 4 + rows[index] * 14,
          fill: "var(--soft)",
          stroke: "var(--page)",
          strokeWidth: 3,
        }),
      ),
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
        element("line", { class: "cursor", x1: px, x2: px, y1: margin.top, y2: height - margin.bottom }),
        ...lines.flatMap((line) => {
          const part = atLeast(line, ns) / line.count;
          return part > 0 ? [element("circle", { class: "dot", cx: px, cy: Number(y.apply(part)), r: 4.5, fill: colour(line.style) })] : [];
        }),
      );
      return {
        x: px,
        y: margin.top,
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
