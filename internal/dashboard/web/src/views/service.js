// One service: how it is and why, what can be done, and its log as it is written.

import { h, since, update } from "../dom.js";
import { empty, head, loading, problem, sheet } from "../parts.js";
import { subscribe } from "../store.js";
import { buttons, named, nobody, state, trouble, why } from "./control.js";
import { mountLog } from "./log.js";

export default {
  title: ({ name }) => name,
  mount(root, { name }) {
    const top = h("div", { class: "page" });
    const log = h("section", { class: "card flush log-card", "aria-label": "Log" });
    root.append(top, log);
    let overview = null;
    let endLog = null;

    function draw() {
      const service = overview?.services?.find((each) => each.name === name);
      update(top, ...content(name, overview, service, draw));
      if (service && !endLog) endLog = mountLog(log, `/api/services/${encodeURIComponent(name)}/log?follow=1&lines=500`);
      log.hidden = !endLog;
    }

    draw();
    const leave = subscribe((next) => {
      overview = next;
      draw();
    });
    return () => {
      leave();
      endLog?.();
    };
  },
};

function content(name, overview, service, redraw) {
  const crumbs = [["Services", "/services"]];
  if (!overview) return [head(name, { crumbs }), loading()];
  if (!service) {
    return [head(name, { crumbs }), overview.problem ? problem(overview.problem) : null,
      h("section", { class: "card", key: "none" }, !overview.services?.length ? nobody() : empty("There is no such service.", "It may have gone with its profile. ", h("a", { href: "/services" }, "See all services"), "."))];
  }
  return [
    head(name, { crumbs, lead: named(service) === name ? null : named(service), actions: buttons(service, redraw) }),
    trouble(service, redraw),
    why(service),
    h("section", { class: "card facts", key: "facts", "aria-label": "State" }, sheet([
      ["State", state(service)],
      ["Since", service.since ? since(service.since) : ""],
      ["Process", service.pid || ""],
      ["Wanted", service.want],
      ["Restarts", String(service.restarts ?? 0)],
      ["Profile", service.profile ? h("a", { href: "/profiles" }, service.profile) : ""],
      ["Kept by", service.supervised ? "the supervisor" : "nobody: it was started by hand"],
    ])),
  ];
}
