// Latency over time: one value per column.
import * as Plot from "@observablehq/plot";
import { along, colour, dash, element, latencyAxis, latencyDomain, margin, paper, timeAxis } from "./axes";
import type { Drawn, Renderer, Series } from "./types";
import { microseconds, span } from "./words";

function draw(picture: Series, width: number, hidden: ReadonlySet<number>): Drawn {
  const height = 260;
  const lines = picture.lines.filter((_, index) => !hidden.has(index));
  const columns = Math.max(0, ...picture.lines.map((line) => line.ns.length));
  const domain = latencyDomain(picture.latency_ns);
  const svg = Plot.plot({
    ...paper,
    width,
    height,
    x: { type: "linear", domain: [0, Math.max(1, columns)], label: null },
    y: { type: "log", domain, label: null },
    marks: [
      ...latencyAxis("y", domain, height - margin.top - margin.bottom, picture.of),
      ...timeAxis(columns, picture.column_ns, width - margin.left - margin.right),
      lines.map((line) =>
        Plot.line(line.ns, {
          x: (_: number | null, index: number) => index + 0.5,
          y: (ns: number | null) => (ns === null ? NaN : Math.max(ns / 1000, domain[0])),
          stroke: colour(line.style),
          strokeWidth: columns > 600 ? 1 : 1.5,
          strokeDasharray: columns > 600 ? undefined : dash(line.style) || undefined,
          strokeLinejoin: "round",
        }),
      ),
      // A line needs two neighbours: a value without one would be invisible.
      lines.map((line) =>
        Plot.dot(
          line.ns.flatMap((ns, index) => (ns !== null && line.ns[index - 1] == null && line.ns[index + 1] == null ? [{ ns, index }] : [])),
          { x: (one) => one.index + 0.5, y: (one) => Math.max(one.ns / 1000, domain[0]), r: 2.5, fill: colour(line.style) },
        ),
      ),
    ],
  }) as SVGSVGElement & Plot.Plot;
  const x = svg.scale("x")!;
  const y = svg.scale("y")!;
  const cursor = svg.appendChild(element("g", { "aria-hidden": "true" }));
  return {
    svg,
    nearest: (px) => (columns ? Math.min(columns - 1, Math.max(0, Math.floor(Number(x.invert!(px))))) : null),
    step: (place, key) => along(place, key, columns - 1),
    leave: () => cursor.replaceChildren(),
    read(place) {
      const px = Number(x.apply(place + 0.5));
      const at = (ns: number) => Number(y.apply(Math.max(ns / 1000, domain[0])));
      cursor.replaceChildren(
        element("line", { class: "cursor", x1: px, x2: px, y1: margin.top, y2: height - margin.bottom }),
        ...lines.flatMap((line) => {
          const ns = line.ns[place];
          return ns == null ? [] : [element("circle", { class: "dot", cx: px, cy: at(ns), r: 4.5, fill: colour(line.style) })];
        }),
      );
      return {
        x: px,
        y: margin.top,
        head: span(place, picture.column_ns, columns * picture.column_ns),
        rows: lines.map((line) => {
          const ns = line.ns[place];
          return { name: line.name, colour: colour(line.style), text: ns == null ? "–" : microseconds(ns) };
        }),
      };
    },
  };
}

export const series: Renderer<Series> = {
  legend: (picture) => picture.lines,
  draw,
  values(picture) {
    const columns = Math.max(0, ...picture.lines.map((line) => line.ns.length));
    const length = columns * picture.column_ns;
    return {
      head: ["time", ...picture.lines.map((line) => `${line.name} us`)],
      rows: Array.from({ length: columns }, (_, column) => [
        span(column, picture.column_ns, length),
        ...picture.lines.map((line) => (line.ns[column] == null ? "–" : microseconds(line.ns[column] as number))),
      ]),
    };
  },
};
