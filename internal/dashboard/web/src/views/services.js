// All services of the home: their state, why one does not run, and what can be done about it.

import { h, since, update } from "../dom.js";
import { head, loading, problem, table } from "../parts.js";
import { drawn } from "../store.js";
import { buttons, named, nobody, state, trouble, why } from "./control.js";
import { tail } from "./tail.js";

const columns = [
  { title: "Service", class: "main" }, { title: "State" }, { title: "Since", class: "nowrap" },
  { title: "Process", class: "num" }, { title: "Restarts", class: "num" }, { title: "", class: "act" },
];

export default {
  title: "Services",
  mount(root) {
    return drawn((overview, redraw) => update(root, head("Services", { lead: "What the supervisor of this home keeps running." }), content(overview, redraw)));
  },
};

function content(overview, redraw) {
  if (!overview) return loading();
  const services = overview.services ?? [];
  if (!services.length) {
    return [overview.problem ? problem(overview.problem) : null, h("section", { class: "card", key: "none" }, nobody())];
  }
  return [
    overview.problem ? problem(overview.problem) : null,
    h("section", { class: "card flush", key: "all", "aria-label": "All services" }, table("Services", columns, services.flatMap((service) => rows(service, redraw)))),
  ];
}

function rows(service, redraw) {
  const about = [why(service), ["parked", "backoff"].includes(service.state) ? tail(service, redraw) : null, trouble(service, redraw)].filter(Boolean);
  return [{
    key: service.name,
    cells: [
      [h("a", { href: `/services/${encodeURIComponent(service.name)}` }, service.name), named(service) === service.name ? null : h("small", null, named(service)), about.length ? h("div", { class: "about" }, about) : null],
      state(service),
      service.since ? since(service.since) : "",
      service.pid || "",
      service.restarts || "0",
      h("div", { class: "toolbar end" }, buttons(service, redraw, "small")),
    ],
  }];
}
