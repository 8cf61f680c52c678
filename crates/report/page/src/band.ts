// Seconds against lengths of time, both logarithmic, each with its interval.
import * as Plot from "@observablehq/plot";
import { along, along10, colour, dash, element, LETTER, margin, nearest, paper, spaced, TIMES } from "./axes";
import type { Band, Drawn, Interval, Renderer } from "./types";
import { milliseconds, rounded, seconds, withLimits } from "./words";

function draw(picture: Band, width: number, hidden: ReadonlySet<number>): Drawn {
  const height = Math.round(Math.min(440, Math.max(300, width * 0.45)));
  const left = 78;
  const lines = picture.lines.filter((_, index) => !hidden.has(index));
  const all = picture.lines.flatMap((line) => line.seconds.flatMap(({ low, estimate, high }) => [low, estimate, high]));
  const finite = all.filter((value): value is number => value !== null && value > 0);
  const places = [...new Set(picture.lines.flatMap((line) => line.ns))].sort((one, other) => one - other);
  const xDomain = [places.length ? places[0] / 1e6 / 1.15 : 1, places.length ? (places[places.length - 1] / 1e6) * 1.15 : 10];
  const yDomain = finite.length ? [Math.min(...finite) / 2, Math.max(...finite) * 3] : [1, 10];
  const [across, up] = [width - left - margin.right, height - margin.top - margin.bottom];
  const times = TIMES.filter((time) => time >= yDomain[0] && time <= yDomain[1]);
  const yTicks = spaced(times, (time) => along10(time, yDomain, up), () => 14);
  const shown = (ms: number) => rounded(ms, 4);
  const xTicks = spaced(places.map((ns) => ns / 1e6), (ms) => along10(ms, xDomain, across), (ms) => shown(ms).length * LETTER);
  const svg = Plot.plot({
    ...paper,
    width,
    height,
    marginLeft: left,
    x: { type: "log", domain: xDomain, label: null },
    y: { type: "log", domain: yDomain, label: null },
    marks: [
      Plot.gridY(yTicks, { stroke: "var(--line)", strokeOpacity: 1 }),
      Plot.axisY(yTicks, { text: seconds, label: picture.y_axis, labelAnchor: "center", labelArrow: "none", tickSize: 4, labelOffset: 72 }),
      Plot.axisX(xTicks, { text: shown, label: picture.x_axis, labelAnchor: "center", labelArrow: "none", tickSize: 4 }),
      lines.map((line) =>
        Plot.line(line.seconds, {
          x: (_: Interval, index: number) => line.ns[index] / 1e6,
          y: (one: Interval) => one.estimate ?? NaN,
          stroke: colour(line.style),
          strokeWidth: 2,
          strokeDasharray: dash(line.style) || undefined,
        }),
      ),
    ],
  }) as SVGSVGElement & Plot.Plot;
  const [sx, sy] = [svg.scale("x")!, svg.scale("y")!];
  // Lines are shifted a little against each other, so that their bars do not hide one another; on a narrow screen by less, so
  // that all of them have room beside those of the next length.
  const positions = places.map((ns) => Number(sx.apply(ns / 1e6)));
  const gaps = positions.slice(1).map((position, index) => position - positions[index]);
  const shift = Math.min(5, Math.min(...gaps, across) / (lines.length + 1));
  const [cap, radius] = [shift * 0.8, Math.max(2, shift * 0.8)];
  const x = (ns: number, index: number) => Number(sx.apply(ns / 1e6)) + (index - (lines.length - 1) / 2) * shift;
  const y = (value: number) => Number(sy.apply(value));
  const [ceiling, floor] = [margin.top, height - margin.bottom];
  lines.forEach((line, index) => {
    line.seconds.forEach(({ low, estimate, high }, point) => {
      if (low === null && high === null) return;
      const at = x(line.ns[point], index);
      const from = low === null ? floor : y(low);
      const to = high === null ? ceiling : y(high);
      const ends =
        (low === null ? `M${at - cap} ${from - 6}L${at} ${from}L${at + cap} ${from - 6}` : `M${at - cap} ${from}h${2 * cap}`) +
        (high === null ? `M${at - cap} ${to + 6}L${at} ${to}L${at + cap} ${to + 6}` : `M${at - cap} ${to}h${2 * cap}`);
      const place = places.indexOf(line.ns[point]);
      const bar = { class: "interval", "data-place": place, d: `M${at} ${from}V${to}${ends}` };
      svg.append(element("path", { ...bar, stroke: colour(line.style), "stroke-width": 1.5, fill: "none" }));
      if (estimate !== null) svg.append(element("circle", { cx: at, cy: y(estimate), r: radius, fill: colour(line.style) }));
    });
  });
  const cursor = svg.appendChild(element("g", { "aria-hidden": "true" }));
  return {
    svg,
    nearest: (px) => (places.length ? nearest(places, Number(sx.invert!(px)) * 1e6) : null),
    step: (place, key) => along(place, key, places.length - 1),
    leave: () => cursor.replaceChildren(),
    read(place) {
      const at = Number(sx.apply(places[place] / 1e6));
      cursor.replaceChildren(element("line", { class: "cursor", x1: at, x2: at, y1: ceiling, y2: floor }));
      return {
        x: at,
        y: ceiling,
        head: milliseconds(places[place]),
        rows: lines.map((line) => {
          const index = line.ns.indexOf(places[place]);
          return { name: line.name, colour: colour(line.style), text: index < 0 ? "–" : withLimits(line.seconds[index], seconds) };
        }),
      };
    },
  };
}

export const band: Renderer<Band> = {
  legend: (picture) => picture.lines,
  draw,
  values(picture) {
    const places = [...new Set(picture.lines.flatMap((line) => line.ns))].sort((one, other) => one - other);
    return {
      head: [picture.x_axis.split(",")[0], ...picture.lines.map((line) => line.name)],
      rows: places.map((ns) => [
        milliseconds(ns),
        ...picture.lines.map((line) => (line.ns.includes(ns) ? withLimits(line.seconds[line.ns.indexOf(ns)], seconds) : "–")),
      ]),
    };
  },
};
