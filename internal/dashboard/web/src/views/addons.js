// The features that can be added, of one profile at a time, and how they are installed.

import { get } from "../api.js";
import { count, h, replace, update } from "../dom.js";
import { card, empty, head, problem, status } from "../parts.js";
import { api } from "../rooms.js";
import { subscribe } from "../store.js";
import { installs } from "./install.js";

const states = {
  core: ["part of the core", "good"], installed: ["installed", "good"], outdated: ["outdated", "warn"], failed: ["failed", "bad"],
  available: ["available", "idle"], unavailable: ["cannot be had", "idle"],
};
const here = ["core", "installed"];
const never = ["unavailable"];

export default {
  title: "Add-ons",
  mount(root) {
    let profile = "default";
    let features = null;
    let trouble = ""; // of all of them, which need not be said of each
    let wanted = "";
    let turn = 0;
    const choice = h("select", { "aria-label": "Profile", hidden: true, onchange: () => { profile = choice.value; load(); } });
    const field = h("input", { type: "search", placeholder: "Search features", "aria-label": "Search features",
      oninput: () => { wanted = field.value.toLowerCase(); draw(); } });
    const notes = h("div", { class: "stack" });
    const body = h("div", { class: "stack" }, h("p", { class: "muted" }, "Looking …"));
    root.append(head("Add-ons", { lead: "Backends that are installed at their first use, by exact and checked versions. They only ever add.", actions: [choice, field] }), notes, body);

    const running = installs(draw, load);

    async function load() {
      const mine = ++turn;
      try {
        const list = await get(api(profile, "addons"));
        if (mine !== turn) return;
        features = list.addons;
        trouble = list.problem ?? "";
        update(notes,
          list.problem ? problem(list.problem) : null,
          list.refusal ? h("div", { class: "note", "data-tone": "warn" }, h("p", null, `Nothing more can be installed: ${list.refusal}`)) : null);
        draw();
      } catch (error) {
        if (mine !== turn) return;
        replace(notes, problem(error, h("button", { class: "button", type: "button", onclick: load }, "Try again")));
        replace(body);
      }
    }

    function draw() {
      if (!features) return;
      const shown = features.filter((feature) => `${feature.name} ${feature.for ?? ""}`.toLowerCase().includes(wanted));
      update(body,
        group("Here", shown.filter((feature) => here.includes(feature.state)), wanted ? null : "None yet: a feature comes by itself when it is first used, or by Install below."),
        group("Can be added", shown.filter((feature) => ![...here, ...never].includes(feature.state)), wanted ? "No feature is called like that." : "There is none."),
        group("Cannot be had here", shown.filter((feature) => never.includes(feature.state)), null));
    }

    function group(title, its, nothing) {
      if (!its.length && !nothing) return null;
      const part = card(title, h("span", { class: "muted" }, count(its.length, "feature")),
        its.length ? h("ul", { class: "features" }, its.map(entry)) : empty(nothing));
      part.classList.add("flush");
      part.setAttribute("key", title);
      return part;
    }

    function entry(feature) {
      const install = running.of(profile, feature.name);
      const [word, tone] = install?.working ? ["installing", "busy"] : states[feature.state] ?? [feature.state, "idle"];
      return h("li", { key: feature.name },
        h("div", null,
          h("h3", { class: "mono" }, feature.name),
          h("p", { class: "muted" }, feature.for ?? ""),
          feature.lock === "first-use" ? h("span", { class: "badge", "data-tone": "warn" }, "versions chosen at first use") : null,
          install ? running.draw(install) : null,
          !install && feature.reason && feature.reason !== trouble ? h("p", { class: "reason" }, feature.reason) : null),
        h("div", { class: "toolbar end" }, status(word, tone), action(feature, install)));
    }

    function action(feature, install) {
      if (here.includes(feature.state) || never.includes(feature.state)) return null;
      const word = feature.state === "failed" || install?.error ? "Try again" : feature.state === "outdated" ? "Update" : "Install";
      return h("button", { class: "button small", type: "button", disabled: Boolean(install?.working), "aria-label": `${word} ${feature.name}`,
        onclick: () => running.begin(profile, feature.name) }, word);
    }

    const unsubscribe = subscribe(({ profiles = [] }) => {
      const names = profiles.map(({ name }) => name);
      choice.hidden = names.length < 2;
      update(choice, names.map((name) => h("option", { value: name, key: name }, name)));
      if (names.length && !names.includes(profile)) {
        profile = names[0];
        load();
      }
      choice.value = profile;
    });
    load();
    return () => {
      turn++;
      unsubscribe();
      running.leave();
    };
  },
};
