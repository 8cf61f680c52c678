// How many took how long: a bar for each range of latency, both axes logarithmic, so that one in thousands can be seen.
import * as Plot from "@observablehq/plot";
import { along, colour, element, margin, paper, thinned } from "./axes";
import type { Bars, Drawn, Renderer } from "./types";
import { count, lengthOf, microseconds, share, tick } from "./words";

/** A bar of one has this height, as a share of that of ten. */
const ONE = 0.3;

const total = (picture: Bars, bar: number): number => picture.counts.reduce((sum, counts) => sum + counts[bar], 0);
const rangeOf = (picture: Bars, bar: number): string => `${microseconds(picture.bounds_ns[bar])} to ${microseconds(picture.bounds_ns[bar + 1])}`;

/** 1, 2 and 5 of each decade up to a number. */
function ticksUpTo(most: number): number[] {
  const ticks = [];
  for (let power = 1; power <= most; power *= 10) ticks.push(...[power, 2 * power, 5 * power].filter((tick) => tick <= most));
  return ticks;
}

function draw(picture: Bars, width: number): Drawn {
  const inner = 240;
  const height = inner + margin.top + margin.bottom;
  const bars = picture.bounds_ns.length - 1;
  const totals = Array.from({ length: bars }, (_, bar) => total(picture, bar));
  const most = Math.max(1, ...totals);
  const bottom = 10 ** -ONE;
  const bounds = picture.bounds_ns.map((ns) => Math.max(ns, 1) / 1000);
  const room = width - margin.left - margin.right;
  const svg = Plot.plot({
    ...paper,
    width,
    height,
    x: { type: "log", domain: [bounds[0], bounds[bars]], label: null },
    y: { type: "log", domain: [bottom, most * 1.1], label: null },
    marks: [
      Plot.gridY(ticksUpTo(most), { stroke: "var(--line)", strokeOpacity: 1 }),
      Plot.axisY(thinned(ticksUpTo(most), Math.floor(inner / 24)), { text: count, label: picture.of, labelAnchor: "center", labelArrow: "none", tickSize: 4, labelOffset: 70 }),
      Plot.axisX(thinned(bounds, Math.floor(room / 58)), { text: tick, label: `${lengthOf(picture.of)}, us`, labelAnchor: "center", labelArrow: "none", tickSize: 4 }),
    ],
  }) as SVGSVGElement & Plot.Plot;
  const x = (us: number) => Number(svg.scale("x")!.apply(us));
  const y = (of: number) => Number(svg.scale("y")!.apply(of));
  const ground = height - margin.bottom;
  totals.forEach((of, bar) => {
    if (!of) return;
    const [left, right] = [x(bounds[bar]), x(bounds[bar + 1])];
    svg.append(element("rect", { x: left + 0.5, y: y(of), width: Math.max(1, right - left - 1), height: ground - y(of), style: `fill:${colour(0)}` }));
  });
  svg.append(element("path", { d: `M${margin.left} ${ground}H${width - margin.right}`, stroke: "var(--line)", fill: "none" }));
  const cursor = svg.appendChild(element("g", { "aria-hidden": "true" }));
  return {
    svg,
    nearest(px) {
      const bar = bounds.findIndex((_, at) => at < bars && px >= x(bounds[at]) && px < x(bounds[at + 1]));
      return bar < 0 ? null : bar;
    },
    step: (place, key) => along(place, key, bars - 1),
    leave: () => cursor.replaceChildren(),
    read(place) {
      const [left, right] = [x(bounds[place]), x(bounds[place + 1])];
      cursor.replaceChildren(element("rect", { class: "cellmark", x: left, y: margin.top, width: right - left, height: inner }));
      const all = totals.reduce((sum, of) => sum + of, 0);
      const rows = picture.names.flatMap((name, line) => (picture.counts[line][place] ? [{ name, text: count(picture.counts[line][place]) }] : []));
      return {
        x: (left + right) / 2,
        y: margin.top,
        head: rangeOf(picture, place),
        rows: [{ name: picture.of, text: `${count(totals[place])} (${share(totals[place], all)})`, colour: colour(0) }, ...rows],
      };
    },
  };
}

export const bars: Renderer<Bars> = {
  draw,
  values: (picture) => ({
    head: [lengthOf(picture.of), picture.of, ...picture.names],
    rows: Array.from({ length: picture.bounds_ns.length - 1 }, (_, bar) => [
      rangeOf(picture, bar),
      count(total(picture, bar)),
      ...picture.counts.map((counts) => count(counts[bar])),
    ]),
  }),
};
