// Starting, stopping and restarting a service, and why one does not run: the same wherever services are shown. What is
// under way and what went wrong is kept by name, for pages are drawn anew whenever something changed.

import { post } from "../api.js";
import { ask } from "../dialog.js";
import { h, sentence } from "../dom.js";
import { empty, problem, status } from "../parts.js";
import { amend } from "../store.js";

const underWay = new Map(); // name → verb
const failures = new Map(); // name → error
const words = { start: ["Start", "Starting…"], stop: ["Stop", "Stopping…"], restart: ["Restart", "Restarting…"] };

// named says what a service is for, in words.
export function named(service) {
  if (service.kind === "gateway") return `Gateway of ${service.profile || "default"}`;
  if (service.kind === "dashboard") return "Dashboard";
  return service.name;
}

// nobody stands where no supervisor keeps services.
export function nobody() {
  return empty("No service is known here.", "A supervisor keeps gateways and the dashboard running. Run ", h("code", null, "hermes up"), " to start one on this machine.");
}

// state is a service's state; what people should look at is told by its tone.
export function state(service) {
  return status(service.state);
}

// buttons are what can be done with a service now; redraw is called when that changes.
export function buttons(service, redraw, size = "") {
  if (!service.supervised) return [];
  const running = ["up", "starting", "stopping"].includes(service.state);
  const verbs = running ? ["restart", "stop"] : service.state === "backoff" ? ["start", "stop"] : ["start"];
  const current = underWay.get(service.name);
  return verbs.map((verb) => h("button", {
    key: verb,
    "data-of": service.name,
    type: "button",
    class: `button ${size} ${verb === "start" ? "primary" : verb === "stop" ? "danger" : ""}`,
    disabled: Boolean(current),
    "aria-busy": current === verb ? "true" : null,
    "aria-label": size ? `${words[verb][0]} ${service.name}` : null,
    onclick: () => act(service, verb, redraw),
  }, words[verb][current === verb ? 1 : 0]));
}

async function act(service, verb, redraw) {
  if (verb === "stop" && !await ask(stopping(service))) return;
  underWay.set(service.name, verb);
  failures.delete(service.name);
  redraw();
  try {
    const answer = await post(`/api/services/${encodeURIComponent(service.name)}/${verb}`);
    underWay.delete(service.name);
    amend(answer);
  } catch (error) {
    underWay.delete(service.name);
    failures.set(service.name, error);
  }
  redraw();
  refocus(service.name);
}

// refocus gives the focus back that a button lost by being disabled, to what can be done now.
function refocus(name) {
  const lost = document.activeElement === document.body || document.activeElement?.disabled;
  if (lost) document.querySelector(`[data-of="${CSS.escape(name)}"]:not(:disabled)`)?.focus();
}

function stopping(service) {
  const effect = {
    gateway: "Requests under way get a few seconds to end. Nothing can reach this profile by network until the gateway is started again.",
    dashboard: `This page is served by it: it goes away, and only the command line brings it back (hermes service start ${service.name}).`,
  }[service.kind] ?? "It stays down until it is started again.";
  return { title: `Stop ${service.name}?`, text: effect, action: "Stop", danger: true };
}

// trouble is what went wrong with the last thing that was asked of a service, or null.
export function trouble(service, redraw) {
  const error = failures.get(service.name);
  return error && problem(error, h("button", {
    type: "button",
    class: "button small quiet",
    onclick: () => {
      failures.delete(service.name);
      redraw();
    },
  }, "Dismiss"));
}

// why says the reason that a service is not up, with what to do, or is null.
export function why(service) {
  const reason = service.reason ? sentence(service.reason) : "";
  switch (service.state) {
    case "parked":
      return note("bad", reason || "It ended and said that starting it again is of no use.", "It is parked, which means not tried again by itself. Mend the cause, then start it.");
    case "backoff":
      return note("warn", reason || "It ended.", "It is tried again shortly. The log says what happened; start it to try at once.");
    case "down":
      if (service.want === "up") return note("warn", reason || "It is wanted up and is down.", "Start it to try now.");
  }
  return reason && service.state !== "up" ? h("p", { class: "muted" }, reason) : null;
}

function note(tone, reason, advice) {
  return h("div", { class: "note", "data-tone": tone }, h("p", null, reason, " ", h("span", { class: "advice" }, advice)));
}
