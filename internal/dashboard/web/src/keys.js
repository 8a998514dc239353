// The keys of the pages. None of them works while somebody types, and none needs a modifier that browsers use.

import { show } from "./dialog.js";
import { h } from "./dom.js";
import { go } from "./place.js";

const places = { o: ["/", "Overview"], s: ["/services", "Services"], b: ["/sandboxes", "Sandboxes"], a: ["/addons", "Add-ons"], p: ["/profiles", "Profiles"] };
const patience = 1500; // milliseconds between g and the key of a place

// listen acts on keys from now on.
export function listen({ switchTheme }) {
  let going = 0; // when g was pressed
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector("dialog[open]")) return;
    const place = Date.now() - going < patience ? places[event.key] : null;
    going = 0;
    if (place) go(place[0]);
    else if (event.key === "g") going = Date.now();
    else if (event.key === "t") switchTheme();
    else if (event.key === "/" && search()) search().focus();
    else if (event.key === "?") help();
    else return;
    event.preventDefault();
  });
  document.getElementById("keys").addEventListener("click", help);
}

function typing(target) {
  return Boolean(target.closest?.("input, textarea, select, [contenteditable]"));
}

function search() {
  return document.querySelector("main input[type=search]");
}

function help() {
  const rows = [
    ...Object.entries(places).map(([key, [, name]]) => [["g", key], name]),
    [["/"], "Search in this page"],
    [["t"], "Light or dark"],
    [["?"], "These keys"],
  ];
  show({
    title: "Keys",
    body: h("dl", { class: "keys" }, rows.map(([keys, what]) => h("div", null,
      h("dt", null, keys.map((key) => h("kbd", null, key))), h("dd", null, what)))),
    buttons: [h("button", { class: "button", value: "" }, "Close")],
  });
}
