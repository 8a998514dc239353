// The agent identities of the home, each with its gateway and its sandboxes.

import { count, h, update } from "../dom.js";
import { empty, head, loading, problem, table } from "../parts.js";
import { drawn } from "../store.js";
import { buttons, state, trouble, why } from "./control.js";

const columns = [{ title: "Profile", class: "main" }, { title: "Gateway" }, { title: "Sandboxes", class: "nowrap" }, { title: "", class: "act" }];

export default {
  title: "Profiles",
  mount(root) {
    return drawn((overview, redraw) => update(root, head("Profiles", { lead: "Each profile is an agent with settings, sandboxes and a gateway of its own." }), content(overview, redraw)));
  },
};

function content(overview, redraw) {
  if (!overview) return loading();
  const profiles = overview.profiles ?? [];
  return [
    overview.problem ? problem(overview.problem) : null,
    h("section", { class: "card flush", key: "all", "aria-label": "All profiles" },
      profiles.length
        ? table("Profiles", columns, profiles.map((profile) => row(profile, overview, redraw)))
        : empty("There is no profile yet.", "The first one is made when it is used.")),
    h("p", { class: "muted", key: "more" }, "Another one: ", h("code", null, "hermes profile create NAME"), ", then ", h("code", null, "hermes -p NAME gateway start"), "."),
  ];
}

function row(profile, overview, redraw) {
  const gateway = profile.gateway;
  const boxes = (overview.sandboxes ?? []).filter((box) => box.profile === profile.name).length;
  const about = gateway ? [why(gateway), trouble(gateway, redraw)].filter(Boolean) : [];
  return {
    key: profile.name,
    cells: [
      [profile.name, about.length ? h("div", { class: "about" }, about) : null],
      gateway ? h("a", { class: "plain", href: `/services/${encodeURIComponent(gateway.name)}` }, state(gateway)) : h("span", { class: "muted" }, "none"),
      boxes ? h("a", { class: "plain", href: "/sandboxes" }, count(boxes, "sandbox", "sandboxes")) : h("span", { class: "muted" }, "none"),
      gateway ? h("div", { class: "toolbar end" }, buttons(gateway, redraw, "small")) : null,
    ],
  };
}
