// Cells over time, in a few steps of one colour: one path per step, so that tens of thousands of cells stay light.
import * as Plot from "@observablehq/plot";
import { along, element, latencyAxis, margin, paper, timeAxis } from "./axes";
import type { Drawn, Heat, Renderer } from "./types";
import { count, lengthOf, microseconds, share, span } from "./words";

const STEPS = 7;
const shade = (step: number): string => `color-mix(in oklab, var(--heat) ${Math.round(18 + (82 * step) / (STEPS - 1))}%, var(--page))`;

/** Bounds of the steps, evenly spaced in logarithm between the least and the greatest value. */
function bounds(picture: Heat): number[] {
  const low = Math.max(1, picture.range[0]);
  const high = Math.max(low, picture.range[1]);
  const ratio = Math.log(high / low) / STEPS;
  const ends = Array.from({ length: STEPS }, (_, step) => Math.ceil(low * Math.exp(ratio * (step + 1)) - 1e-6));
  return [...new Set(ends)];
}

const stepOf = (value: number, ends: number[]): number => {
  const step = ends.findIndex((end) => value <= end);
  return Math.round(((step < 0 ? ends.length - 1 : step) * (STEPS - 1)) / Math.max(1, ends.length - 1));
};

function told(picture: Heat, value: number): string {
  if (picture.value === "count") return count(value);
  return picture.value === "longest_ns" ? microseconds(value) : share(value, picture.column_ns);
}

/** The name of a cell's value. */
const called = (picture: Heat): string => ({ count: picture.of, longest_ns: "longest", taken_ns: picture.of === "inputs" ? "waiting" : "taken" })[picture.value];

/** The words for an empty cell. */
const nothing = (picture: Heat): string => (picture.value === "longest_ns" ? `no ${picture.of.slice(0, -1)}` : told(picture, 0));

const rowName = (picture: Heat, row: number): string =>
  picture.names.length ? picture.names[row] : `${microseconds(picture.bounds_ns[row])} to ${microseconds(picture.bounds_ns[row + 1])}`;

function draw(picture: Heat, width: number): Drawn {
  const named = picture.names.length > 0;
  const rows = named ? picture.names.length : Math.max(1, picture.bounds_ns.length - 1);
  const inner = named ? Math.min(640, Math.max(rows * 9, Math.min(rows * 26, 260))) : 240;
  const height = inner + margin.top + margin.bottom;
  const columns = Math.max(1, picture.columns);
  const plotWidth = width - margin.left - margin.right;
  // Rows of latency go up, rows of CPUs go down.
  const rowHeight = inner / rows;
  const top = (row: number) => margin.top + (named ? row : rows - 1 - row) * rowHeight;
  const left = (column: number) => margin.left + (column * plotWidth) / columns;
  const domain: [number, number] = named ? [1, 10] : [picture.bounds_ns[0] / 1000, picture.bounds_ns[rows] / 1000];
  const every = Math.ceil(rows / Math.floor(inner / 15));
  const svg = Plot.plot({
    ...paper,
    width,
    height,
    x: { type: "linear", domain: [0, columns], label: null },
    y: named ? { type: "linear", domain: [rows, 0], label: null } : { type: "log", domain, label: null },
    marks: [
      ...(named
        ? [
            Plot.axisY(
              picture.names.flatMap((_, row) => (row % every === 0 ? [row + 0.5] : [])),
              { tickFormat: (at: number) => picture.names[Math.floor(at)], label: null, tickSize: 0 },
            ),
          ]
        : latencyAxis("y", domain, inner, picture.of)),
      ...timeAxis(columns, picture.column_ns, plotWidth),
      Plot.frame({ stroke: "var(--line)" }),
    ],
  }) as SVGSVGElement & Plot.Plot;
  const ends = bounds(picture);
  const paths: string[] = Array.from({ length: STEPS }, () => "");
  const values = new Map<number, number>();
  const cellWidth = plotWidth / columns;
  for (let index = 0; index < picture.cells.length; index += 3) {
    const [column, row, value] = [picture.cells[index], picture.cells[index + 1], picture.cells[index + 2]];
    values.set(column * rows + row, value);
    paths[stepOf(value, ends)] += `M${left(column).toFixed(2)} ${top(row).toFixed(2)}h${cellWidth.toFixed(2)}v${rowHeight.toFixed(2)}h${(-cellWidth).toFixed(2)}z`;
  }
  for (const [step, d] of paths.entries()) if (d) svg.append(element("path", { d, style: `fill:${shade(step)}`, "shape-rendering": "crispEdges" }));
  const cursor = svg.appendChild(element("g", { "aria-hidden": "true" }));
  const filled = [...values.keys()].sort((one, other) => one - other);
  return {
    svg,
    nearest(px, py) {
      const column = Math.floor(((px - margin.left) * columns) / plotWidth);
      const down = Math.floor((py - margin.top) / rowHeight);
      if (column < 0 || column >= columns || down < 0 || down >= rows) return null;
      return column * rows + (named ? down : rows - 1 - down);
    },
    step(place, key) {
      if (!filled.length) return null;
      if (place === null) return key.startsWith("Arrow") || key === "Home" ? filled[0] : key === "End" ? filled[filled.length - 1] : null;
      const [column, row] = [Math.floor(place / rows), place % rows];
      const up = named ? -1 : 1;
      if (key === "ArrowUp" || key === "ArrowDown") {
        const next = row + (key === "ArrowUp" ? up : -up);
        return next >= 0 && next < rows ? column * rows + next : place;
      }
      const to = along(column, key, columns - 1);
      return to === null ? null : to * rows + row;
    },
    leave: () => cursor.replaceChildren(),
    read(place) {
      const [column, row] = [Math.floor(place / rows), place % rows];
      const value = values.get(place);
      cursor.replaceChildren(
        element("rect", { class: "cellmark", x: left(column) - 1, y: top(row) - 1, width: cellWidth + 2, height: rowHeight + 2 }),
      );
      return {
        x: left(column) + cellWidth / 2,
        y: top(row),
        head: `${span(column, picture.column_ns, columns * picture.column_ns)}, ${rowName(picture, row)}`,
        rows: [{ name: called(picture), text: value === undefined ? nothing(picture) : told(picture, value) }],
      };
    },
  };
}

/** The key: which colour stands for which values. */
function key(picture: Heat): HTMLElement {
  const list = document.createElement("ul");
  list.className = "legend";
  bounds(picture).forEach((end, _, ends) => {
    const item = list.appendChild(document.createElement("li"));
    item.className = "steps";
    const box = item.appendChild(document.createElement("i"));
    box.style.background = shade(stepOf(end, ends));
    item.append(`up to ${told(picture, end)}`);
  });
  return list;
}

export const heat: Renderer<Heat> = {
  key,
  draw,
  values(picture) {
    const rows = [];
    for (let index = 0; index < picture.cells.length; index += 3) {
      const [column, row, value] = picture.cells.slice(index, index + 3);
      rows.push([span(column, picture.column_ns, picture.columns * picture.column_ns), rowName(picture, row), told(picture, value)]);
    }
    return { head: ["time", picture.names.length ? (["events", "inputs"].includes(picture.of) ? "what" : "CPU") : lengthOf(picture.of), called(picture)], rows };
  },
};
