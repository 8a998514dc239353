// The whole home on one page: whether all is well, what needs somebody, what runs, and the last hour.

import { count, h, sentence, since, update } from "../dom.js";
import { card, empty, head, loading, problem, sheet, status } from "../parts.js";
import { drawn } from "../store.js";
import { buttons, named, state, trouble, why } from "./control.js";
import { mountPlots } from "./plots.js";
import { tail } from "./tail.js";

const shownBoxes = 8;

export default {
  title: "Hermes",
  mount(root) {
    const top = h("div", { class: "page" });
    const plots = h("section", { "aria-label": "The last hour" });
    const rest = h("div", { class: "page" });
    root.append(top, plots, rest);
    const endPlots = mountPlots(plots);
    const leave = drawn((overview, redraw) => {
      update(top, ...summary(overview, redraw));
      if (overview) update(rest, ...parts(overview, redraw));
    });
    return () => {
      leave();
      endPlots();
    };
  },
};

function summary(overview, redraw) {
  if (!overview) return [head("Overview"), loading()];
  const services = overview.services ?? [];
  const troubled = services.filter((service) => ["parked", "backoff"].includes(service.state) || (service.state === "down" && service.want === "up"));
  const word = troubled.length ? count(troubled.length, "service does not run as it should", "services do not run as they should") : services.length ? "All is well" : "Nothing is supervised";
  return [
    head("Overview", { lead: status(word, troubled.some((service) => service.state === "parked") ? "bad" : troubled.length ? "warn" : services.length ? "good" : "idle") }),
    overview.problem ? problem(overview.problem) : null,
    troubled.map((service) => h("section", { class: "card trouble", "data-tone": service.state === "parked" ? "bad" : "warn", key: `trouble-${service.name}`, "aria-label": service.name },
      h("header", null,
        h("h2", null, h("a", { href: `/services/${encodeURIComponent(service.name)}` }, service.name), " ", state(service)),
        h("div", { class: "toolbar" }, buttons(service, redraw, "small"))),
      why(service), tail(service, redraw), trouble(service, redraw))),
  ];
}

function parts(overview, redraw) {
  return [h("div", { class: "columns wide-first" },
    h("div", null, services(overview, redraw), sandboxes(overview)),
    h("div", null, home(overview), addons(overview), profiles(overview)))];
}

function services(overview, redraw) {
  const all = overview.services ?? [];
  return flush("Services", "/services", all.length
    ? h("ul", { class: "list" }, all.map((service) => h("li", { key: service.name },
      h("div", null, h("a", { href: `/services/${encodeURIComponent(service.name)}` }, service.name), " ",
        named(service) === service.name ? null : h("span", { class: "muted beside" }, named(service)),
        ["parked", "backoff"].includes(service.state) ? null : trouble(service, redraw)),
      service.since ? h("span", { class: "muted when" }, since(service.since)) : null,
      state(service))))
    : empty("No supervisor runs here.", "Run ", h("code", null, "hermes up"), " to have a gateway kept running."));
}

function sandboxes(overview) {
  const all = [...(overview.sandboxes ?? [])].sort((a, b) => (b.state === "running") - (a.state === "running") || b.running - a.running);
  const rows = all.slice(0, shownBoxes).map((box) => h("li", { key: `${box.profile}/${box.task}` },
    h("div", null, h("a", { href: `/sandboxes/${encodeURIComponent(box.profile)}/${encodeURIComponent(box.task)}` }, box.task), " ",
      h("span", { class: "muted beside" }, box.profile)),
    h("span", { class: "muted when" }, use(box)),
    box.problem ? status("problem") : status(box.state)));
  return flush("Sandboxes", "/sandboxes", [
    rows.length ? h("ul", { class: "list" }, rows) : empty("No sandbox yet.", "The first command makes one: ", h("code", null, "hermes run -- echo hello"), "."),
    all.length > shownBoxes ? h("p", { class: "more" }, h("a", { href: "/sandboxes" }, `${all.length - shownBoxes} more`)) : null,
  ]);
}

function use(box) {
  if (box.state !== "running") return "";
  if (box.running) return count(box.running, "command");
  return box.connections ? count(box.connections, "connection") : "idle";
}

function home(overview) {
  const engine = overview.engine ?? {};
  return card("Home", null, sheet([
    ["Directory", overview.home ? h("span", { class: "mono" }, overview.home) : ""],
    ["Engine", engine.name ? [engine.name, engine.why ? h("div", { class: "hint" }, engine.why) : null] : ""],
    ["Version", version(overview.version ?? "")],
  ]), engine.problem ? problem(engine.problem) : null);
}

// version puts what a program was built of beneath what it is called.
function version(text) {
  const parts = /^(?:hermes )?(\S+) \((.*)\)$/.exec(text);
  return parts ? [parts[1], h("div", { class: "hint" }, parts[2])] : text;
}

function addons(overview) {
  const installed = overview.addons?.installed ?? [];
  const trouble = overview.addons?.problem;
  if (trouble && !installed.length) {
    return card("Add-ons", h("a", { href: "/addons" }, "All add-ons"), h("p", { class: "muted" }, sentence(`none can be installed here yet: ${trouble}`)));
  }
  return card("Add-ons", h("a", { href: "/addons" }, "All add-ons"),
    trouble ? problem(trouble) : null,
    installed.length
      ? h("p", { class: "chips" }, installed.map((name) => h("span", { class: "badge", key: name }, name)))
      : h("p", { class: "muted" }, "None installed. A feature is installed when it is first used, or ahead of that."),
    overview.addons?.features ? h("p", { class: "hint" }, `${installed.length} of ${count(overview.addons.features, "feature")}`) : null);
}

function profiles(overview) {
  const all = overview.profiles ?? [];
  return card("Profiles", h("a", { href: "/profiles" }, "All profiles"),
    all.length
      ? h("ul", { class: "list" }, all.map((profile) => h("li", { key: profile.name }, h("span", null, profile.name),
        profile.gateway ? state(profile.gateway) : h("span", { class: "muted" }, "no gateway"))))
      : h("p", { class: "muted" }, "None yet."));
}

function flush(title, href, ...children) {
  const box = card(title, h("a", { href }, `All ${title.toLowerCase()}`), ...children);
  box.classList.add("flush");
  return box;
}
