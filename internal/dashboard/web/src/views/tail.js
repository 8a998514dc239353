// The last lines of a service that does not run: mostly they say why, where the exit status cannot.

import { events } from "../api.js";
import { h } from "../dom.js";
import { dated, plain } from "./lines.js";

const shown = 3; // lines
const known = new Map(); // name of a service → {since, lines}

// tail is what a service said last, as soon as that is known; redraw is called then. It is asked for once in each state.
export function tail(service, redraw) {
  let last = known.get(service.name);
  if (last?.since !== service.since) {
    last = { since: service.since, lines: last?.lines ?? [] };
    known.set(service.name, last);
    fetchInto(last, service.name, redraw);
  }
  return last.lines.length ? h("pre", { class: "tail", "aria-label": `What ${service.name} said last` }, last.lines.join("\n")) : null;
}

function fetchInto(last, name, redraw) {
  const stream = events(`/api/services/${encodeURIComponent(name)}/log?lines=${shown}`, {
    lines({ lines }) {
      last.lines = lines.map(dated).map(plain);
      stream.close();
      redraw();
    },
  }, (state) => { if (state === "lost") stream.close(); }); // a log without lines ends at once
}
