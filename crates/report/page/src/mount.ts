// Puts a picture into its figure: legend, drawing, readings by pointer and keyboard, and all values as a table.
import { colour, dash, element } from "./axes";
import type { Drawn, Picture, Reading, Renderer } from "./types";
import { count } from "./words";

const html = <K extends keyof HTMLElementTagNameMap>(name: K, className: string, ...inside: (Node | string)[]): HTMLElementTagNameMap[K] => {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...inside);
  return made;
};

function swatch(style: number): SVGSVGElement {
  const svg = element("svg", { viewBox: "0 0 28 10", "aria-hidden": "true" });
  const line = element("path", { d: "M1 5h26", "stroke-width": style === 0 ? 3 : 2.4, fill: "none", "stroke-dasharray": dash(style) || "none" });
  line.style.stroke = colour(style);
  svg.append(line);
  return svg;
}

/** One live region for the page: it reads out only what a key asked for. */
let announcing = 0;
function announce(reading: Reading): void {
  const text = `${reading.head}: ${reading.rows.map((row) => `${row.name} ${row.text}`).join("; ")}`;
  // Not with the next frame: a page in the background has none.
  clearTimeout(announcing);
  announcing = window.setTimeout(() => {
    const region = document.getElementById("reading");
    if (region) region.textContent = text;
  }, 50);
}

function tipOf(reading: Reading): Node[] {
  const rows = reading.rows.map((row) => {
    const line = html("span", "");
    if (row.colour) {
      const dot = line.appendChild(html("i", ""));
      dot.style.background = row.colour;
    }
    line.append(`${row.name}: ${row.text}`);
    return line;
  });
  return [html("b", "", reading.head), ...rows];
}

/** The most values that a table shows; more are of no use to anybody who reads them one by one. */
const MAX_ROWS = 2000;

function valuesOf<P extends Picture>(picture: P, renderer: Renderer<P>): HTMLElement {
  const details = html("details", "values", html("summary", "", "These values as a table"));
  // Made when it is opened: most never are.
  details.addEventListener("toggle", () => {
    if (!details.open || details.childElementCount > 1) return;
    const { head, rows } = renderer.values(picture);
    const table = html("table", "");
    table.append(html("caption", "", picture.title));
    const heading = table.createTHead().insertRow();
    for (const [index, name] of head.entries()) {
      const cell = heading.appendChild(html("th", index ? "n" : "", name));
      cell.scope = "col";
    }
    const body = table.createTBody();
    for (const row of rows.slice(0, MAX_ROWS)) {
      const line = body.insertRow();
      row.forEach((text, index) => {
        if (index === 0) line.appendChild(html("th", "", text)).scope = "row";
        else line.appendChild(html("td", "n", text));
      });
    }
    const wide = html("div", "wide", table);
    wide.tabIndex = 0;
    details.append(wide);
    if (rows.length > MAX_ROWS) details.append(html("p", "soft", `${count(rows.length - MAX_ROWS)} more are left out here.`));
  });
  return details;
}

export function mount<P extends Picture>(figure: HTMLElement, picture: P, renderer: Renderer<P>): void {
  const hidden = new Set<number>();
  const place = html("div", "drawing");
  const tip = html("div", "tip");
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  place.tabIndex = 0;
  place.setAttribute("role", "application");
  place.setAttribute("aria-roledescription", "chart");
  place.setAttribute("aria-label", `${picture.title} Arrow keys, Page Up, Page Down, Home and End read values.`);
  place.setAttribute("aria-keyshortcuts", "ArrowLeft ArrowRight ArrowUp ArrowDown PageUp PageDown Home End Escape");

  let drawn: Drawn | null = null;
  let at: number | null = null;
  let width = 0;

  const leave = () => {
    at = null;
    drawn?.leave();
    tip.hidden = true;
  };
  const go = (to: number | null): Reading | null => {
    if (to === null || !drawn) {
      leave();
      return null;
    }
    at = to;
    const reading = drawn.read(to);
    tip.replaceChildren(...tipOf(reading));
    tip.hidden = false;
    // Beside the cursor, on the side where there is room.
    const right = reading.x > width / 2;
    tip.style.left = right ? "" : `${reading.x + 12}px`;
    tip.style.right = right ? `${width - reading.x + 12}px` : "";
    const height = drawn.svg.clientHeight || Number(drawn.svg.getAttribute("height"));
    tip.style.top = `${Math.max(0, Math.min(reading.y, height - tip.offsetHeight))}px`;
    return reading;
  };
  const draw = () => {
    width = Math.floor(place.clientWidth);
    if (width < 40) return;
    const before = at;
    leave();
    drawn = renderer.draw(picture, width, hidden);
    drawn.svg.setAttribute("aria-hidden", "true");
    place.replaceChildren(drawn.svg, tip);
    if (before !== null && document.activeElement === place) go(before);
  };

  place.addEventListener("pointermove", (event) => {
    if (!drawn) return;
    const box = place.getBoundingClientRect();
    go(drawn.nearest(event.clientX - box.left, event.clientY - box.top));
  });
  place.addEventListener("pointerleave", () => document.activeElement !== place && leave());
  place.addEventListener("blur", leave);
  place.addEventListener("keydown", (event) => {
    if (!drawn || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape") {
      leave();
      return;
    }
    const to = drawn.step(at, event.key);
    if (to === null) return;
    event.preventDefault();
    const reading = go(to);
    if (reading) announce(reading);
  });

  const legend = renderer.legend?.(picture) ?? [];
  if (legend.length === 1) {
    // There is nothing to tell it from, and nothing to hide; but it says what is drawn.
    const only = legend.map((line) => html("li", "", swatch(line.style), ` ${line.name}`));
    figure.append(html("ul", "legend", ...only));
  }
  if (legend.length > 1) {
    const list = html("ul", "legend");
    list.setAttribute("aria-label", "Lines: press to hide or show");
    legend.forEach((line, index) => {
      const button = html("button", "", swatch(line.style), line.name);
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => {
        if (!hidden.delete(index)) hidden.add(index);
        button.setAttribute("aria-pressed", String(!hidden.has(index)));
        at = null;
        draw();
      });
      list.append(html("li", "", button));
    });
    figure.append(list);
  }
  if (renderer.key) figure.append(renderer.key(picture));
  figure.append(place, valuesOf(picture, renderer));
  draw();
  new ResizeObserver(() => {
    if (Math.floor(place.clientWidth) !== width) draw();
  }).observe(place);
}
