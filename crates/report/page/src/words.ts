// Numbers as people read them. Times are handed over in nanoseconds and shown in microseconds.

import type { Interval, Subject } from "./types";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** A number with at most this many digits that count, as people write it. */
export const rounded = (value: number, digits: number): string => new Intl.NumberFormat("en-US", { maximumSignificantDigits: digits }).format(value);

export const count = (value: number): string => whole.format(value);

/** Nanoseconds as microseconds to the tenth, as in the tables. */
export const microseconds = (ns: number): string => `${tenths.format(Math.floor((ns + 50) / 100) / 10)} us`;

/** A tick of an axis in microseconds. */
export const tick = (us: number): string => (us >= 1 ? whole.format(us) : String(Number(us.toPrecision(3))));

/** The word for the length of what a picture counts. */
export const lengthOf = (of: Subject): string => (of === "gaps" ? "length of a gap" : "latency");

/** A share of 1 in percent with three digits, and below one in ten thousand also as `1 in N`. */
export function share(part: number, of: number): string {
  const percent = (100 * part) / of;
  const digits = percent >= 99.95 || percent === 0 ? percent.toFixed(0) : String(Number(percent.toPrecision(3)));
  const rare = percent < 0.01 ? `, 1 in ${whole.format(of / part)}` : "";
  return `${percent < 0.0001 ? percent.toExponential(1) : digits} %${rare}`;
}

/** A tick of the axis of shares. */
export const shareTick = (value: number): string => {
  const percent = Number((value * 100).toPrecision(1));
  return `${percent >= 0.0001 ? percent.toFixed(Math.max(0, -Math.floor(Math.log10(percent)))) : percent.toExponential(0)} %`;
};

/** The unit for a stretch of time. */
export function clock(lengthNs: number): { name: string; scale: number } {
  const seconds = lengthNs / 1e9;
  if (seconds > 2 * 3600) return { name: "h", scale: 3600e9 };
  if (seconds > 600) return { name: "min", scale: 60e9 };
  return { name: "s", scale: 1e9 };
}

/** When a column is, from the beginning. */
export function span(column: number, columnNs: number, lengthNs: number): string {
  const { name, scale } = clock(lengthNs);
  const digits = Math.max(0, Math.ceil(-Math.log10(columnNs / scale)));
  const at = (index: number) => ((index * columnNs) / scale).toFixed(Math.min(digits, 6));
  return `${at(column)} to ${at(column + 1)} ${name}`;
}

export const milliseconds = (ns: number): string => `${rounded(ns / 1e6, 4)} ms`;

/** A ratio with as many digits as are worth reading. */
export function factor(value: number): string {
  if (value >= 100) return whole.format(value);
  if (value >= 10) return value.toFixed(1);
  return String(Number(value.toFixed(value >= 0.095 ? 2 : 3)));
}

/** A number with its limits, as the program's text gives it: an estimate whose upper limit no recording could show is
 * still told. */
export function withLimits({ low, estimate, high }: Interval, say: (value: number) => string): string {
  if (low !== null && high !== null) return estimate === null ? `${say(low)} to ${say(high)}` : `${say(estimate)} (${say(low)} to ${say(high)})`;
  if (low !== null) return estimate === null ? `at least ${say(low)}` : `${say(estimate)} (${say(low)} or more)`;
  if (high !== null) return `at most ${say(high)}`;
  return estimate === null ? "not known" : say(estimate);
}

/** A time in the unit that suits its length, as the program gives it. */
export function seconds(value: number): string {
  const short = (number: number) => String(Number(number.toPrecision(3)));
  if (value < 0.9995e-3) return `${short(value * 1e6)} us`;
  if (value < 0.9995) return `${short(value * 1e3)} ms`;
  if (value < 59.5) return `${short(value)} s`;
  if (value < 3570) return `${short(value / 60)} min`;
  if (value < 86000) return `${short(value / 3600)} h`;
  const days = short(value / 86400);
  if (value < 31000000) return days === "1" ? "1 day" : `${days} days`;
  const years = whole.format(Number((value / 31536000).toPrecision(2)));
  return years === "1" ? "1 year" : `${years} years`;
}
