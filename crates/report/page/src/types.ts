// What the program hands over: the shapes of crates/report/src/html, where each is described.

export interface CurveLine {
  name: string;
  style: number;
  count: number;
  ns: number[];
  at_least: number[];
}

export interface Mark {
  ns: number;
  name: string;
}

interface Frame {
  id: string;
  title: string;
  caption: string;
}

/** What a picture counts. */
export type Subject = "wakeups" | "gaps" | "inputs" | "events" | "us of waiting";

export interface Curve extends Frame {
  kind: "curve";
  of: Subject;
  lines: CurveLine[];
  marks: Mark[];
  latency_ns: [number, number];
  most: number;
  small: boolean;
}

export interface SeriesLine {
  name: string;
  style: number;
  ns: (number | null)[];
}

export interface Series extends Frame {
  kind: "series";
  of: Subject;
  column_ns: number;
  lines: SeriesLine[];
  latency_ns: [number, number];
}

export interface Heat extends Frame {
  kind: "heat";
  of: Subject;
  column_ns: number;
  columns: number;
  names: string[];
  bounds_ns: number[];
  value: "count" | "longest_ns" | "taken_ns";
  range: [number, number];
  cells: number[];
}

/** What an interval shows: it holds or is better, it fails or is worse, or neither. */
export type Judged = "good" | "bad" | "open";

export interface Interval {
  low: number | null;
  estimate: number | null;
  high: number | null;
}

export interface Intervals extends Frame {
  kind: "intervals";
  unit: "factor" | "seconds";
  axis: string;
  rows: { name: string; interval: Interval; want: number | null; verdict: string; judged: Judged }[];
  against: [number, string] | null;
}

export interface Band extends Frame {
  kind: "band";
  x_axis: string;
  y_axis: string;
  lines: { name: string; style: number; ns: number[]; seconds: Interval[] }[];
}

export interface Bars extends Frame {
  kind: "bars";
  of: Subject;
  bounds_ns: number[];
  names: string[];
  counts: number[][];
}

export type Picture = Curve | Series | Heat | Intervals | Band | Bars;

/** One line of a reading: what, how much, and the colour that it has in the picture. */
export interface Reading {
  head: string;
  rows: { name: string; text: string; colour?: string }[];
}

/** A picture that was drawn at some width, and how it is read. */
export interface Drawn {
  svg: SVGSVGElement;
  /** The place that is nearest to a point of the picture, in pixels. */
  nearest(x: number, y: number): number | null;
  /** The place that a key leads to from `place`; null if the key means nothing here. */
  step(place: number | null, key: string): number | null;
  /** Shows a cursor at a place and tells what is there. */
  read(place: number): Reading & { x: number; y: number };
  /** Takes the cursor away. */
  leave(): void;
}

/** A kind of picture. */
export interface Renderer<P extends Picture = Picture> {
  /** What can be hidden and shown: the name and style of each line. */
  legend?(picture: P): { name: string; style: number }[];
  /** A legend of another kind. */
  key?(picture: P): HTMLElement;
  draw(picture: P, width: number, hidden: ReadonlySet<number>): Drawn;
  /** All values as a table, for those who do not see the picture. */
  values(picture: P): { head: string[]; rows: string[][] };
}
