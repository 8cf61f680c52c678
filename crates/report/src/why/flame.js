"use strict";
// How wide a letter of a name is, rather more than less; flame.rs has the same.
const LETTER = 7.5;
// Zoom, search and keyboard of a flame graph. Without this script the graph shows everything, at one size.
for (const figure of document.querySelectorAll("figure.flames")) {
  const svg = figure.querySelector("svg");
  const said = figure.querySelector(".said-of");
  const search = figure.querySelector("input");
  const back = figure.querySelector("button");
  const width = svg.viewBox.baseVal.width;
  const frames = [...svg.querySelectorAll("g")].map((group) => ({
    group,
    rect: group.querySelector("rect"),
    text: group.querySelector("text"),
    title: group.querySelector("title").textContent,
    left: Number(group.dataset.left),
    size: Number(group.dataset.size),
    level: Number(group.dataset.level),
  }));
  const first = frames[0];
  if (!first) continue;
  // Frames are in the order of a walk through the tree.
  const open = [];
  for (const frame of frames) {
    while (open.length && open.at(-1).level >= frame.level) open.pop();
    frame.parent = open.at(-1);
    open.push(frame);
  }
  let zoomed = null;
  const share = (size) => `${(size * 100).toFixed(1)} %`;
  const end = (frame) => frame.left + frame.size;
  const holds = (outer, inner) => outer.level <= inner.level && outer.left <= inner.left + 1e-9 && end(inner) <= end(outer) + 1e-9;

  function draw() {
    const from = zoomed ? zoomed.left : 0;
    const scale = width / (zoomed ? zoomed.size : 1);
    for (const frame of frames) {
      const isAround = zoomed && frame !== zoomed && holds(frame, zoomed);
      const isShown = !zoomed || isAround || holds(zoomed, frame);
      const at = isAround ? 0 : (frame.left - from) * scale;
      const wide = isAround ? width : frame.size * scale;
      frame.group.style.display = isShown && wide >= 0.5 ? "" : "none";
      frame.group.classList.toggle("around", Boolean(isAround));
      frame.rect.setAttribute("x", at.toFixed(1));
      frame.rect.setAttribute("width", Math.max(wide - 0.5, 0.3).toFixed(1));
      const room = Math.max(Math.floor((wide - 6) / LETTER), 0);
      const name = frame.title.replace(/: [^:]*$/, "");
      frame.text.textContent = room >= 3 ? [...name].slice(0, room).join("") : "";
      frame.text.setAttribute("x", (at + 3).toFixed(1));
    }
    back.hidden = !zoomed;
  }
  function say(frame) {
    said.textContent = `${frame.title}, ${share(frame.size)} of the lateness`;
  }
  function zoom(frame) {
    zoomed = frame && frame.size < 1 ? frame : null;
    draw();
    const now = frame ?? first;
    focus(now);
    say(now);
  }
  function focus(frame) {
    for (const other of frames) other.group.setAttribute("tabindex", other === frame ? "0" : "-1");
    frame.group.focus({ preventScroll: true });
  }
  function find() {
    const wanted = search.value.trim().toLowerCase();
    let found = 0, covered = 0, until = -1;
    for (const frame of frames) {
      const is = wanted !== "" && frame.title.toLowerCase().includes(wanted);
      frame.group.classList.toggle("found", is);
      if (!is) continue;
      found += 1;
      // What is below a found frame is part of it.
      if (frame.left >= until - 1e-9) {
        covered += frame.size;
        until = end(frame);
      }
    }
    svg.classList.toggle("searched", wanted !== "");
    said.textContent = wanted === "" ? "" : `${found} found, ${share(covered)} of the lateness`;
  }
  const shown = () => frames.filter((frame) => frame.group.style.display !== "none");
  const steps = {
    ArrowUp: (frame) => frame.parent,
    ArrowDown: (frame) => shown().find((other) => other.parent === frame),
    ArrowLeft: (frame) => shown().findLast((other) => other.level === frame.level && other.left < frame.left),
    ArrowRight: (frame) => shown().find((other) => other.level === frame.level && other.left > frame.left),
    Home: () => first,
  };
  for (const frame of frames) {
    frame.group.addEventListener("click", () => zoom(frame === zoomed ? null : frame));
    frame.group.addEventListener("focus", () => say(frame));
    frame.group.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") zoom(frame === zoomed ? null : frame);
      else if (event.key === "Escape") zoom(null);
      else if (steps[event.key]) {
        const next = steps[event.key](frame);
        if (next) focus(next);
      } else return;
      event.preventDefault();
    });
  }
  back.addEventListener("click", () => zoom(null));
  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    search.value = "";
    find();
  });
  // The keys are the graph's own, and the line above it says what they lead to: names are cut to fit.
  svg.setAttribute("role", "application");
  svg.classList.add("alive");
  figure.querySelector(".tools").hidden = false;
  first.group.setAttribute("tabindex", "0");
}
