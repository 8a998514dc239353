// A terminal in a sandbox. The shell goes on when the page is left, and who comes back in the same tab finds it again.

import { get } from "../api.js";
import { h, replace } from "../dom.js";
import { head, problem, status } from "../parts.js";
import { pageOf } from "../rooms.js";
import { openShell } from "./shell.js";
import { keyRow } from "./keyrow.js";

const words = { connecting: ["connecting", "busy"], open: ["connected", "good"], lost: ["connection lost; it is tried again", "warn"], ended: ["ended", "idle"] };

export default {
  title: ({ task }) => `Terminal of ${task}`,
  mount(root, { profile, task }) {
    let shell = null;
    let closed = false;
    const now = h("span", { role: "status" }, status("loading", "busy"));
    const end = h("button", { class: "button", type: "button", disabled: true, onclick: () => shell?.end() }, "End the shell");
    const fresh = h("button", { class: "button primary", type: "button", hidden: true, onclick: () => shell?.renew() }, "New shell");
    const notice = h("div");
    const place = h("div", { class: "terminal-box", role: "group", "aria-label": `Terminal of ${task}`, "aria-describedby": "terminal-keys" });
    const keys = keyRow((bytes) => shell?.type(bytes));
    root.classList.add("terminal-page");
    root.append(
      head("Terminal", { crumbs: [["Sandboxes", "/sandboxes"], [task, pageOf(profile, task)]], lead: now, actions: [fresh, end] }),
      notice, place, keys.row,
      h("p", { id: "terminal-keys", class: "hint" }, "Every key goes to the shell. ", h("kbd", null, "Ctrl"), h("kbd", null, "Shift"), h("kbd", null, "Backspace"),
        " leaves the terminal; ", h("kbd", null, "Ctrl"), h("kbd", null, "Shift"), h("kbd", null, "C"), " copies, ",
        h("kbd", null, "Ctrl"), h("kbd", null, "Shift"), h("kbd", null, "V"), " pastes."));

    openShell(place, { profile, task, modify: keys.modify, check: () => get("/api/auth/me"), leave: () => end.focus(), tell }).then((opened) => {
      if (closed) opened.close();
      else shell = opened;
    }, (error) => {
      replace(now, status("not there", "bad"));
      replace(notice, problem(error));
    });

    function tell(state, text = "") {
      const [word, tone] = words[state];
      replace(now, status(word, tone));
      end.disabled = state !== "open";
      fresh.hidden = state !== "ended";
      replace(notice, state === "ended" ? h("div", { class: "note" }, h("p", null, text)) : null);
      if (state === "ended" && place.contains(document.activeElement)) fresh.focus();
    }

    return () => {
      closed = true;
      shell?.close();
    };
  },
};
