// Numbers with their intervals, one per line, on a logarithmic axis.
import * as Plot from "@observablehq/plot";
import { along, along10, decades, element, LETTER as AXIS_LETTER, margin, paper, spaced, thinned, TIMES } from "./axes";
import type { Drawn, Interval, Intervals, Judged, Renderer } from "./types";
import { factor, rounded, seconds, withLimits } from "./words";

const told = (picture: Intervals, value: number): string => (picture.unit === "factor" ? factor(value) : seconds(value));

/** What is shown to be good or bad has the colour that such words have in tables. */
const COLOURS: Record<Judged, string> = { good: "var(--good)", bad: "var(--bad)", open: "var(--ink)" };

const inWords = (picture: Intervals, interval: Interval): string => withLimits(interval, (value) => told(picture, value));

/** Ends of an axis that holds all finite numbers with some room. */
function domainOf(picture: Intervals): [number, number] {
  const all = picture.rows.flatMap((row) => [row.interval.low, row.interval.estimate, row.interval.high, row.want]);
  if (picture.against) all.push(picture.against[0]);
  const numbers = all.filter((value): value is number => value !== null && value > 0);
  if (!numbers.length) return [0.1, 10];
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  // Ratios near 1 need room around it, times need decades.
  return picture.unit === "factor" ? [Math.min(low / 1.1, 0.8), Math.max(high * 1.1, 1.25)] : [low / 2, high * 2];
}

/** 1, 2 and 5 of each decade if there are few decades, otherwise powers of ten. */
function ticksOf(picture: Intervals, [low, high]: [number, number]): number[] {
  if (picture.unit === "seconds") return TIMES.filter((time) => time >= low && time <= high);
  const span = Math.log10(high / low);
  if (span > 3) return decades(low, high);
  const factors = span < 0.5 ? [1, 1.1, 1.2, 1.5, 2, 3, 4, 5, 6, 7, 8, 9] : span < 1.2 ? [1, 1.5, 2, 3, 5, 7] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const one of factors) ticks.push(Number((one * 10 ** power).toPrecision(3)));
  return ticks.filter((tick) => tick >= low && tick <= high);
}

/** How wide a letter of a row's name is, pixels, rather more than less: a name that is too long is cut in the middle,
 * because names differ at their ends. */
const LETTER = 7.2;

function draw(picture: Intervals, width: number): Drawn {
  const rowHeight = 28;
  const inner = Math.max(1, picture.rows.length) * rowHeight;
  const top = 26;
  const height = inner + top + margin.bottom;
  const longest = Math.max(8, ...picture.rows.map((row) => row.name.length));
  const left = Math.min(Math.round(width * 0.46), longest * LETTER + 16);
  const domain = domainOf(picture);
  const room = width - left - margin.right;
  const label = (value: number) => (picture.unit === "factor" ? rounded(value, 3) : seconds(value));
  // Times are not evenly spaced: ten hours and a day are near each other.
  const ticks =
    picture.unit === "factor"
      ? thinned(ticksOf(picture, domain), Math.floor(room / 62))
      : spaced(ticksOf(picture, domain), (tick) => along10(tick, domain, room), (tick) => label(tick).length * AXIS_LETTER);
  const short = (name: string) => {
    const most = Math.max(3, Math.floor((left - 14) / LETTER));
    if (name.length <= most) return name;
    const begin = Math.floor((most - 1) * 0.4);
    return `${name.slice(0, begin)}…${name.slice(name.length - (most - 1 - begin))}`;
  };
  const svg = Plot.plot({
    ...paper,
    width,
    height,
    marginLeft: left,
    marginTop: top,
    x: { type: "log", domain, label: null },
    y: { type: "linear", domain: [picture.rows.length || 1, 0], label: null },
    marks: [
      Plot.gridX(ticks, { stroke: "var(--line)", strokeOpacity: 1 }),
      Plot.axisX(ticks, { text: label, label: picture.axis, labelAnchor: "center", labelArrow: "none", tickSize: 4 }),
      Plot.axisY(
        picture.rows.map((_, row) => row + 0.5),
        { tickFormat: (at: number) => short(picture.rows[Math.floor(at)].name), label: null, tickSize: 0 },
      ),
    ],
  }) as SVGSVGElement & Plot.Plot;
  const scale = svg.scale("x")!;
  const x = (value: number) => Number(scale.apply(value));
  const y = (row: number) => top + (row + 0.5) * rowHeight;
  const [start, end] = [left, width - margin.right];
  if (picture.against) {
    const at = x(picture.against[0]);
    const text = element("text", { x: at, y: top - 10, "text-anchor": "middle", fill: "var(--soft)" });
    text.textContent = picture.against[1];
    svg.append(element("line", { x1: at, x2: at, y1: top - 4, y2: top + inner, stroke: "var(--soft)", "stroke-width": 1.2 }), text);
  }
  picture.rows.forEach(({ interval: { low, estimate, high }, want, judged }, row) => {
    const at = y(row);
    const stroke = COLOURS[judged];
    if (low !== null || high !== null) {
      const from = low === null ? start : x(low);
      const to = high === null ? end : x(high);
      svg.append(element("path", { d: `M${from} ${at}H${to}`, stroke, "stroke-width": 2.4, fill: "none" }));
      // A limit has a bar, an open end an arrow.
      svg.append(
        element("path", {
          d:
            (low === null ? `M${from + 6} ${at - 5}L${from} ${at}L${from + 6} ${at + 5}` : `M${from} ${at - 6}V${at + 6}`) +
            (high === null ? `M${to - 6} ${at - 5}L${to} ${at}L${to - 6} ${at + 5}` : `M${to} ${at - 6}V${at + 6}`),
          stroke,
          "stroke-width": 1.8,
          fill: "none",
        }),
      );
    }
    if (estimate !== null) svg.append(element("circle", { cx: x(estimate), cy: at, r: 5, fill: stroke }));
    if (want !== null) {
      const to = x(want);
      svg.append(element("path", { d: `M${to} ${at - 7}l6 7l-6 7l-6-7z`, stroke: "var(--soft)", "stroke-width": 1.5, fill: "var(--page)" }));
    }
  });
  const cursor = svg.appendChild(element("g", { "aria-hidden": "true" }));
  const last = picture.rows.length - 1;
  return {
    svg,
    nearest: (_, py) => {
      const row = Math.floor((py - top) / rowHeight);
      return row >= 0 && row <= last ? row : null;
    },
    step: (place, key) => along(place, key === "ArrowDown" ? "ArrowRight" : key === "ArrowUp" ? "ArrowLeft" : key, last),
    leave: () => cursor.replaceChildren(),
    read(place) {
      const row = picture.rows[place];
      cursor.replaceChildren(element("rect", { class: "cellmark", x: 1, y: y(place) - rowHeight / 2, width: width - 2, height: rowHeight, rx: 3 }));
      const rows = [{ name: picture.axis, text: inWords(picture, row.interval), colour: COLOURS[row.judged] }];
      if (row.want !== null) rows.push({ name: "wanted", text: told(picture, row.want), colour: "var(--soft)" });
      rows.push({ name: "verdict", text: row.verdict, colour: "transparent" });
      return { head: row.name, rows, x: start + room / 2, y: y(place) + rowHeight / 2 };
    },
  };
}

/** The key: which colour stands for which verdict, and what a diamond is. */
function key(picture: Intervals): HTMLElement {
  const list = document.createElement("ul");
  list.className = "legend";
  const add = (text: string, shape: SVGElement) => {
    const item = list.appendChild(document.createElement("li"));
    item.className = "steps";
    const svg = item.appendChild(element("svg", { viewBox: "0 0 28 10", "aria-hidden": "true" }));
    svg.append(shape);
    item.append(text);
  };
  for (const [verdict, judged] of new Map(picture.rows.map((row) => [row.verdict, row.judged])))
    add(verdict, element("path", { d: "M1 5H27M1 1V9M27 1V9", stroke: COLOURS[judged], "stroke-width": 2, fill: "none" }));
  if (picture.rows.some((row) => row.want !== null))
    add("wanted", element("path", { d: "M14 1l4 4l-4 4l-4-4z", stroke: "var(--soft)", "stroke-width": 1.5, fill: "var(--page)" }));
  return list;
}

export const intervals: Renderer<Intervals> = {
  key,
  draw,
  values: (picture) => ({
    head: ["", picture.axis, "wanted", "verdict"],
    rows: picture.rows.map((row) => [row.name, inWords(picture, row.interval), row.want === null ? "–" : told(picture, row.want), row.verdict]),
  }),
};
