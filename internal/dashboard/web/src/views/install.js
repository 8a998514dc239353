// Installations under way, with how far they are. One goes on in the home when the page is left: who comes back and
// asks again waits for the same one.

import { request } from "../api.js";
import { bytes, h } from "../dom.js";
import { api } from "../rooms.js";
import { read } from "../stream.js";

const phases = {
  waiting: "waiting for another installation", resolving: "choosing versions", downloading: "downloading", installing: "installing",
  building: "building", checking: "checking", publishing: "publishing", compiling: "compiling",
};

// installs keeps what was begun in this page: changed is called when there is something new to draw, done when a feature
// is there.
export function installs(changed, done) {
  const all = new Map();
  const leaving = new AbortController();
  const key = (profile, feature) => `${profile}/${feature}`;

  async function begin(profile, feature) {
    const one = { working: true, progress: null, error: null };
    all.set(key(profile, feature), one);
    changed();
    try {
      const response = await request("POST", api(profile, "addons", feature, "ensure"), { headers: { Accept: "text/event-stream" }, signal: leaving.signal });
      await read(response, (event) => hear(one, event));
      if (one.working) one.error = "the connection was lost; it may go on nevertheless";
    } catch (error) {
      one.error = error.message;
    }
    if (leaving.signal.aborted) return;
    one.working = false;
    if (!one.error) all.delete(key(profile, feature));
    changed();
    done();
  }

  function hear(one, { name, data }) {
    const said = JSON.parse(data);
    if (name === "progress") one.progress = said;
    else if (name === "done") one.working = false;
    else if (name === "problem" || name === "draining") {
      one.working = false;
      one.error = said.detail ?? said.title ?? "it cannot be had";
    }
    changed();
  }

  return { begin, draw, of: (profile, feature) => all.get(key(profile, feature)), leave: () => leaving.abort() };
}

function draw({ working, progress, error }) {
  if (error) return h("p", { class: "reason", role: "alert" }, error);
  if (!working) return null;
  const { phase, done = 0, total = 0, size = 0 } = progress ?? {};
  const said = [phases[phase] ?? phase ?? "beginning", total ? `${done} of ${total}` : null, size ? bytes(size) : null].filter(Boolean).join(", ");
  return h("div", { class: "progress", role: "status" },
    total ? h("progress", { max: total, value: done, "aria-label": "How far it is" }) : h("progress", { "aria-label": "It is under way" }),
    h("span", { class: "muted nowrap" }, said));
}
