// What happened to the background processes of a sandbox: lines that somebody watches for, and ends.

import { events } from "../api.js";
import { h, replace, since } from "../dom.js";
import { card, empty } from "../parts.js";
import { api } from "../rooms.js";

const most = 50; // that are shown

// mountHappenings follows the events of a sandbox until the function that it answers is called.
export function mountHappenings(root, profile, task) {
  const list = h("ul", { class: "list" });
  const nothing = empty("Nothing has happened.", "Lines that a process is watched for and the ends of processes that are to be told appear here.");
  const box = card("Recent events", null, nothing);
  replace(root, box);
  const stream = events(api(profile, "sandboxes", task, "events"), {
    event(happened) {
      if (nothing.isConnected) nothing.replaceWith(list);
      list.prepend(h("li", null, h("span", null, tell(happened)), h("span", { class: "muted nowrap" }, since(happened.time))));
      while (list.children.length > most) list.lastChild.remove();
    },
  });
  return () => stream.close();
}

function tell(happened) {
  const who = h("strong", null, happened.name || happened.process || "a process");
  switch (happened.kind) {
    case "match":
      return [who, " wrote ", h("code", null, happened.line), happened.held ? `, and ${happened.held} lines like it before` : null];
    case "exit":
      return [who, " ended", happened.result ? ` with ${happened.result.code} (${happened.result.reason})` : null];
    case "gap":
      return `${happened.missed} earlier events are no longer kept`;
    default:
      return [who, ": ", happened.message || happened.kind];
  }
}
