// Draws every picture of the page that contains this script. A kind of picture is a line here and a file beside this
// one.
import { band } from "./band";
import { bars } from "./bars";
import { curve } from "./curve";
import { heat } from "./heat";
import { intervals } from "./intervals";
import { mount } from "./mount";
import { series } from "./series";
import type { Picture, Renderer } from "./types";

const renderers: { [K in Picture["kind"]]: Renderer<Extract<Picture, { kind: K }>> } = { band, bars, curve, heat, intervals, series };

/** Shows on the page what went wrong: a missing picture must not look like an empty one. */
function complain(what: unknown): void {
  const place = document.getElementById("errors");
  if (!place) return;
  place.hidden = false;
  place.append(`${what instanceof Error ? (what.stack ?? what.message) : String(what)}\n`);
}

addEventListener("error", (event) => complain(event.error ?? event.message));
addEventListener("unhandledrejection", (event) => complain(event.reason));

const data = JSON.parse(document.getElementById("data")?.textContent ?? "{}") as { pictures: Picture[] };
for (const picture of data.pictures) {
  const figure = document.getElementById(picture.id);
  try {
    if (!figure) throw new Error(`no place for ${picture.id}`);
    mount(figure, picture, renderers[picture.kind] as Renderer);
  } catch (error) {
    complain(error);
  }
}
// How long it took from the beginning, for measurements.
document.documentElement.dataset.readyMs = performance.now().toFixed(0);
