// One sandbox: what it is, who uses it, what is enforced on it, what runs in it.

import { get, put } from "../api.js";
import { bytes, count, duration, h, replace, since, update } from "../dom.js";
import { card, head, problem, sheet, status } from "../parts.js";
import { go } from "../place.js";
import { api, boxOf, busy, pageOf, remove } from "../rooms.js";
import { subscribe } from "../store.js";
import { mountHappenings } from "./happenings.js";
import { posture } from "./posture.js";
import { mountProcesses } from "./processes.js";

export default {
  title: ({ task }) => task,
  mount(root, { profile, task }) {
    const at = api(profile, "sandboxes", task);
    let box = null; // what the overview says of it
    let running = null; // whether it ran when it was looked at
    let inner = () => {}; // ends what runs in the page of a running sandbox
    let turn = 0;
    const now = h("span", { class: "toolbar" });
    const failure = h("div");
    const body = h("div", { class: "stack" }, h("p", { class: "muted", "aria-busy": "true" }, "Looking at the sandbox; a process inside tries what should be refused …"));
    const again = h("button", { class: "button", type: "button", onclick: () => busy(again, look) }, "Look again");
    const away = h("button", { class: "button danger", type: "button", onclick: leave }, "Remove");
    root.append(
      head(task, { crumbs: [["Sandboxes", "/sandboxes"]], lead: now,
        actions: [h("a", { class: "button primary", href: pageOf(profile, task, "/terminal") }, "Open a terminal"), again, away] }),
      failure, body);

    // look asks for all that is known, which costs a process inside, and so only when something is to be seen.
    async function look() {
      const mine = ++turn;
      try {
        const known = await get(at);
        if (mine !== turn) return;
        running = known.state === "running";
        replace(failure);
        inner();
        inner = draw(body, known, { profile, task, start });
      } catch (error) {
        if (mine !== turn) return;
        inner();
        inner = () => {};
        replace(body);
        replace(failure, error.status === 404 ? gone() : problem(error));
      }
    }

    function gone() {
      return problem("There is no such sandbox.", h("button", { class: "button", type: "button", onclick: (event) => start(event.currentTarget) }, "Make it"),
        h("a", { class: "button quiet", href: "/sandboxes" }, "All sandboxes"));
    }

    async function start(button) {
      try {
        await busy(button, () => put(at));
        await look();
      } catch (error) {
        replace(failure, problem(error));
      }
    }

    async function leave() {
      try {
        if (await busy(away, () => remove(profile, task))) go("/sandboxes");
      } catch (error) {
        replace(failure, problem(error));
      }
    }

    const unsubscribe = subscribe((overview) => {
      box = boxOf(overview, profile, task);
      update(now, state(box));
      // A sandbox that ended or came back is another one to look at.
      if (running !== null && (box?.state === "running") !== running) {
        running = box?.state === "running";
        look();
      }
    });
    look();
    return () => {
      turn++;
      unsubscribe();
      inner();
    };
  },
};

function state(box) {
  if (!box) return status("not there");
  return [
    status(box.problem ? "problem" : box.state),
    box.problem ? h("span", { class: "muted" }, box.problem) : null,
    box.state === "running" ? h("span", { class: "muted" },
      box.running ? `${count(box.running, "command")} running` : `idle for ${duration(box.idle_seconds ?? 0)}`) : null,
    box.connections ? h("span", { class: "muted" }, `${count(box.connections, "connection")}`) : null,
  ];
}

// draw fills the page with what is known, and answers what ends it.
function draw(body, known, { profile, task, start }) {
  const runs = known.state === "running";
  const processes = h("div");
  const happened = h("div");
  replace(body,
    runs ? null : h("div", { class: "note" }, h("p", null, "It is stopped. What it keeps are its files; the next command starts it."),
      h("button", { class: "button", type: "button", onclick: (event) => start(event.currentTarget) }, "Start it")),
    known.problem ? problem(known.problem) : null,
    runs ? processes : null,
    posture(known.posture),
    h("div", { class: "columns" },
      card("What it is", null, sheet(identity(known))),
      card("What it was given", null, sheet(given(known.spec)))),
    runs ? happened : null);
  if (!runs) return () => {};
  const ends = [mountProcesses(processes, profile, task), mountHappenings(happened, profile, task)];
  return () => ends.forEach((end) => end());
}

function identity(known) {
  const at = known.status;
  return [
    ["Profile", known.identity.profile],
    ["Home", h("code", null, known.identity.home)],
    ["Engine", known.engine],
    ["Made", since(known.created)],
    ["Shell", at?.shell ? h("code", null, at.shell) : null],
    ["Processes", at ? String(at.processes) : null],
    ["Sessions", known.sessions ? h("ul", null, Object.entries(known.sessions).map(([name, session]) =>
      h("li", null, name, session.cwd ? [" in ", h("code", null, session.cwd)] : null))) : null],
    ["Guest", h("code", null, known.build)],
    ["Specification", h("code", null, known.spec_hash)],
  ];
}

function given(spec) {
  const { memory, cpus, pids, disk } = spec.limits ?? {};
  return [
    ["Programs", spec.image ? h("code", null, spec.image) : "those of this machine, read-only"],
    ["Network", spec.network ?? "the engine's default"],
    ["User", spec.user ?? "root of the sandbox, or whom the image names"],
    ["Commands begin in", spec.cwd ? h("code", null, spec.cwd) : null],
    ["Memory", limit(memory, bytes)],
    ["Processors", limit(cpus, String)],
    ["Processes", limit(pids, (n) => n.toLocaleString("en"))],
    ["Disk", limit(disk, bytes)],
    ["Mounts", spec.mounts?.length ? h("ul", null, spec.mounts.map((mount) => h("li", null,
      h("code", null, mount.source), " at ", h("code", null, mount.target), mount.read_only ? " read-only" : " writable"))) : "none"],
    ["Variables", spec.env ? Object.keys(spec.env).sort().join(", ") : null],
    ["Keeps", spec.ephemeral && !spec.keep ? "nothing: it ends with its last user" : "its files, until it is removed with them"],
  ];
}

function limit(value, say) {
  if (value === undefined) return null;
  return value < 0 ? "no limit" : say(value);
}
