// All sandboxes of the home.

import { put } from "../api.js";
import { show } from "../dialog.js";
import { count, duration, h, since, update } from "../dom.js";
import { card, empty, head, problem, status, table } from "../parts.js";
import { go } from "../place.js";
import { api, busy, pageOf, remove } from "../rooms.js";
import { subscribe } from "../store.js";

const many = 8; // above it a search field helps

const columns = [
  { title: "Task", class: "main" }, { title: "State" }, { title: "Engine" }, { title: "Commands", class: "num" },
  { title: "Idle", class: "num" }, { title: "Made", class: "num" }, { title: "", class: "act" },
];

export default {
  title: "Sandboxes",
  mount(root) {
    let overview = null;
    let wanted = "";
    let failure = null;
    const field = h("input", { type: "search", placeholder: "Search tasks", "aria-label": "Search tasks", hidden: true,
      oninput: () => { wanted = field.value.toLowerCase(); draw(); } });
    const make = h("button", { class: "button primary", type: "button", onclick: () => create(overview?.profiles ?? []) }, "New sandbox");
    const body = h("div", { class: "stack" });
    root.append(head("Sandboxes", { lead: "Places in which commands run, kept until they are removed.", actions: [field, make] }), body);

    function draw() {
      const boxes = overview?.sandboxes ?? [];
      field.hidden = boxes.length <= many;
      const shown = boxes.filter((box) => `${box.profile} ${box.task}`.toLowerCase().includes(wanted));
      update(body,
        failure ? problem(failure) : null,
        overview?.engine?.problem ? problem(overview.engine.problem) : null,
        byProfile(shown).map(([profile, its]) => section(profile, its)),
        overview && !boxes.length ? card("None yet", null, empty("No sandbox has been made.",
          "The first command of a task makes one: ", h("code", null, "hermes sandbox exec --task build -- make"), ", or New sandbox above.")) : null,
        boxes.length && !shown.length ? empty("No task is called like that.", `${count(boxes.length, "sandbox", "sandboxes")} are hidden by the search.`) : null,
        overview ? null : h("p", { class: "muted" }, "Looking …"));
    }

    function section(profile, boxes) {
      const part = card(profile, h("span", { class: "muted" }, count(boxes.length, "sandbox", "sandboxes")), table(`Sandboxes of ${profile}`, columns, boxes.map(row)));
      part.classList.add("flush");
      part.setAttribute("key", profile);
      return part;
    }

    function row(box) {
      const at = pageOf(box.profile, box.task);
      return {
        key: `${box.profile}/${box.task}`,
        cells: [
          [h("a", { href: at }, box.task), box.problem ? h("small", null, box.problem) : null],
          status(box.problem ? "problem" : box.state),
          box.engine,
          box.running ? String(box.running) : h("span", { class: "muted" }, "none"),
          box.idle_seconds === undefined || box.state !== "running" ? "" : duration(box.idle_seconds),
          box.created ? since(box.created) : "",
          [h("a", { class: "button small", href: `${at}/terminal`, "aria-label": `Terminal of ${box.task}` }, "Terminal"), " ",
            h("button", { class: "button small danger", type: "button", "aria-label": `Remove ${box.task}`, onclick: (event) => away(event.currentTarget, box) }, "Remove")],
        ],
      };
    }

    async function away(button, box) {
      failure = null;
      try {
        await busy(button, () => remove(box.profile, box.task));
      } catch (error) {
        failure = error;
      }
      draw();
    }

    draw();
    return subscribe((newest) => {
      overview = newest;
      draw();
    });
  },
};

function byProfile(boxes) {
  const groups = new Map();
  for (const box of boxes) groups.set(box.profile, [...(groups.get(box.profile) ?? []), box]);
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
}

// create asks for a name and makes a sandbox as the profile's configuration wants it.
async function create(profiles) {
  const names = profiles.length ? profiles.map(({ name }) => name) : ["default"];
  const task = h("input", { id: "new-task", required: true, autofocus: true, autocomplete: "off", spellcheck: "false", maxlength: 200, placeholder: "build" });
  const profile = h("select", { id: "new-profile" }, names.map((name) => h("option", { value: name }, name)));
  const refused = h("div");
  const make = h("button", { class: "button primary", value: "made", onclick: (event) => {
    event.preventDefault();
    const form = make.form;
    const name = task.value.trim();
    if (!name) return task.focus();
    busy(make, () => put(api(profile.value, "sandboxes", name))).then(() => {
      form.closest("dialog").close("made");
      go(pageOf(profile.value, name));
    }, (error) => update(refused, problem(error)));
  } }, "Make it");
  await show({
    title: "A new sandbox",
    body: [
      h("div", { class: "field" }, h("label", { for: "new-task" }, "Task"), task, h("span", { class: "hint" }, "The name under which its commands find it again.")),
      h("div", { class: "field", hidden: names.length === 1 }, h("label", { for: "new-profile" }, "Profile"), profile),
      refused,
    ],
    buttons: [h("button", { class: "button", value: "", formnovalidate: true }, "Cancel"), make],
  });
}
