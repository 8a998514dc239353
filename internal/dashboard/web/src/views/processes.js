// The background processes of a sandbox: how they are, the log of one of them, and how they are started and ended.

import { get, post, del } from "../api.js";
import { ask } from "../dialog.js";
import { duration, h, replace, since, update } from "../dom.js";
import { empty, problem, status } from "../parts.js";
import { api, busy } from "../rooms.js";
import { mountProcessLog } from "./processlog.js";

const pace = 2000; // milliseconds between two looks, while somebody looks

// mountProcesses shows those of a sandbox that runs until the function that it answers is called.
export function mountProcesses(root, profile, task) {
  const at = api(profile, "sandboxes", task, "processes");
  let all = null;
  let failure = null;
  let opened = null; // the id of the process whose log is open
  let endLog = () => {};
  let closed = false;
  let waiting = 0;
  const number = h("span", { class: "muted" });
  const trouble = h("div");
  const list = h("div");
  const log = h("section", { class: "log-card process-log", hidden: true });
  const form = startForm(begin);
  replace(root, h("section", { class: "card flush", "aria-label": "Background processes" },
    h("header", null, h("h2", null, "Background processes"), h("div", { class: "toolbar" }, number)), form, trouble, list, log));

  async function look() {
    clearTimeout(waiting);
    if (!document.hidden) {
      try {
        all = (await get(at)).processes;
        failure = null;
      } catch (error) {
        failure = error;
      }
      if (closed) return;
      draw();
    }
    waiting = setTimeout(look, pace);
  }

  function draw() {
    const newest = [...(all ?? [])].reverse();
    number.textContent = all ? `${newest.filter(({ state }) => state === "running").length} running` : "";
    update(trouble, failure ? problem(failure) : null);
    update(list, newest.length ? h("ul", { class: "processes" }, newest.map(entry))
      : all ? empty("Nothing runs in the background.", "Start a server or a long job above; it goes on when this page is closed.") : null);
  }

  function entry(process) {
    const open = process.id === opened;
    const runs = process.state === "running";
    return h("li", { key: process.id },
      h("div", null,
        h("strong", null, process.name || process.id), " ",
        h("code", { class: "command" }, process.line ?? process.argv?.join(" ") ?? ""),
        h("small", { class: "muted" }, facts(process)),
        process.remark ? h("small", { class: "muted" }, process.remark) : null),
      h("div", { class: "toolbar end" }, outcome(process),
        h("button", { class: "button small", type: "button", "aria-expanded": String(open), "aria-label": `Log of ${process.name || process.id}`,
          onclick: () => toggle(process) }, "Log"),
        runs ? h("button", { class: "button small danger", type: "button", "aria-label": `End ${process.name || process.id}`,
          onclick: (event) => kill(event.currentTarget, process) }, "End") : null));
  }

  function toggle(process) {
    endLog();
    endLog = () => {};
    opened = opened === process.id ? null : process.id;
    log.hidden = !opened;
    if (opened) endLog = mountProcessLog(log, `${at}/${encodeURIComponent(process.id)}/log`, `Log of ${process.name || process.id}`);
    draw();
  }

  async function begin(button, asked) {
    failure = null;
    try {
      const { process } = await busy(button, () => post(at, asked));
      await look();
      if (opened !== process.id) toggle(process);
      return true;
    } catch (error) {
      failure = error;
      draw();
      return false;
    }
  }

  async function kill(button, process) {
    const sure = await ask({ title: `End ${process.name || process.id}?`, text: "Everything that it has started ends with it.", action: "End it", danger: true });
    if (!sure) return;
    try {
      await busy(button, () => del(`${at}/${encodeURIComponent(process.id)}?grace=3`));
      failure = null;
    } catch (error) {
      failure = error;
    }
    look();
  }

  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    closed = true;
    clearTimeout(waiting);
    document.removeEventListener("visibilitychange", look);
    endLog();
  };
}

function facts(process) {
  return [
    process.pid ? `process ${process.pid}` : null,
    process.cwd ? `in ${process.cwd}` : null,
    process.session ? `session ${process.session}` : null,
    process.state === "running" ? ["started ", since(process.started)] : process.ended ? [`ran ${duration(ran(process))}, ended `, since(process.ended)] : null,
  ].filter(Boolean).flatMap((part, i) => (i ? [" · ", part] : [part]));
}

function ran(process) {
  return (Date.parse(process.ended) - Date.parse(process.started)) / 1000;
}

function outcome(process) {
  if (process.state === "running") return status("running");
  if (process.state === "lost") return status("lost", "bad");
  const { code, reason, signal } = process.result ?? {};
  const word = reason && reason !== "exited" ? `${reason}${signal ? ` (signal ${signal})` : ""}` : `ended with ${code ?? "an unknown status"}`;
  return status(word, code === 0 ? "idle" : "warn");
}

// startForm asks for a line of the shell; begin promises whether it was taken.
function startForm(begin) {
  const line = h("input", { id: "process-line", class: "mono", required: true, autocomplete: "off", autocapitalize: "off", spellcheck: "false", placeholder: "python3 -m http.server 8000" });
  const name = h("input", { id: "process-name", autocomplete: "off", maxlength: 100, placeholder: "optional" });
  const button = h("button", { class: "button" }, "Start");
  return h("form", { class: "row process-form", onsubmit: async (event) => {
    event.preventDefault();
    const asked = { line: line.value, notify: true };
    if (name.value.trim()) asked.name = name.value.trim();
    if (await begin(button, asked)) line.value = name.value = "";
  } },
  h("div", { class: "field grow" }, h("label", { for: "process-line" }, "Command"), line),
  h("div", { class: "field" }, h("label", { for: "process-name" }, "Name"), name),
  button);
}
