// Parts that several pages are made of. The classes are explained at the top of style.css.

import { h, sentence } from "./dom.js";

// head is the top of a page: where it belongs, its heading, and what can be done. The heading takes the focus when the
// page is shown.
export function head(title, { crumbs = [], lead = null, actions = [] } = {}) {
  return h("header", { class: "page-head" },
    h("div", null,
      crumbs.length ? h("nav", { class: "crumbs", "aria-label": "Above this page" },
        crumbs.map(([text, href]) => h("a", { href }, text))) : null,
      h("h1", { tabindex: -1 }, title),
      lead ? h("p", { class: "lead" }, lead) : null),
    h("div", { class: "toolbar" }, actions));
}

const tones = {
  up: "good", running: "good", ready: "good", ok: "good", enforced: "good",
  starting: "busy", stopping: "busy", installing: "busy",
  backoff: "warn", weaker: "warn",
  parked: "bad", failed: "bad", lost: "bad", problem: "bad",
};

// status is a dot with a word beside it. The tone is good, busy, warn, bad or idle; by default the word decides.
export function status(word, tone = tones[word] ?? "idle") {
  return h("span", { class: "status", "data-tone": tone }, word);
}

// loading stands where something is fetched.
export function loading() {
  return h("p", { class: "muted", key: "loading", "aria-busy": "true" }, "Loading…");
}

// empty is what stands where nothing is yet, with what to do next.
export function empty(title, ...text) {
  return h("div", { class: "empty" }, h("strong", null, title), text.length ? h("p", null, text) : null);
}

// problem is an error in its place. It takes a Problem, another error, or text.
export function problem(error, ...actions) {
  return h("div", { class: "problem", role: "alert" }, h("p", null, sentence(error?.message ?? String(error))), actions);
}

// sheet is a list of terms with their values; rows without a value are left out.
export function sheet(rows) {
  return h("dl", { class: "sheet" }, rows.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([term, value]) => h("div", null, h("dt", null, term), h("dd", null, value))));
}

// table has columns of {title, class} and rows of {key, cells}; on a narrow screen each row is a small card, and the
// title of a column stands before its cell.
export function table(label, columns, rows) {
  return h("table", { class: "table", "aria-label": label },
    h("thead", null, h("tr", null, columns.map((column) => h("th", { scope: "col", class: column.class }, column.title)))),
    h("tbody", null, rows.map((row) => h("tr", { key: row.key },
      row.cells.map((cell, i) => h("td", { class: columns[i].class, "data-label": columns[i].title }, cell))))));
}

// card is a titled box.
export function card(title, actions, ...children) {
  return h("section", { class: "card", "aria-label": title },
    h("header", null, h("h2", null, title), actions ? h("div", { class: "toolbar" }, actions) : null),
    children);
}
