// The posture of a sandbox as a sheet: what is enforced on it, found out by trying, with what is weaker first.

import { count, h } from "../dom.js";
import { card, status } from "../parts.js";

// What the facts are about, in words. One that is not here is shown by its own name.
const facts = {
  "isolation": ["Isolation", "What stands between the sandbox and this machine."],
  "namespaces": ["Namespaces", "Views of the system that it has to itself: files, processes, users, network."],
  "ids": ["User ids", "Root inside is nobody outside, if its ids are a range of their own."],
  "capabilities": ["Capabilities", "The powers of root that are left to commands. Fewer are safer."],
  "no-new-privileges": ["No new privileges", "No program gives its caller more rights than it has."],
  "seccomp": ["System calls", "A filter decides which calls reach the kernel."],
  "landlock": ["Landlock", "The kernel's second wall around files, sockets and signals."],
  "root": ["Root file system", "What programs and system files are."],
  "host": ["Files of this machine", "What of them can be seen inside, found by looking."],
  "network": ["Network", "What can be reached from inside."],
  "calls": ["Attempts", "What a process inside tried and should be refused."],
  "memory": ["Memory", "More than this is not given."],
  "cpus": ["Processors", "How much computing time it may take."],
  "pids": ["Processes", "How many processes and threads it may have."],
  "disk": ["Disk", "How much it may write."],
  "tree-kill": ["Ending commands", "A command ends with everything that it has started."],
  "lifetime": ["Lifetime", "How long the sandbox stays."],
};

const groups = [
  ["Walls", ["isolation", "namespaces", "ids", "capabilities", "no-new-privileges", "seccomp", "landlock"]],
  ["What it reaches", ["network", "root", "host", "calls"]],
  ["Limits", ["memory", "cpus", "pids", "disk"]],
  ["Life", ["tree-kill", "lifetime"]],
];
const limits = groups[2][1];

const networks = {
  none: "Nothing: it has no network.",
  bridge: "What the engine's bridge lets through, usually the whole Internet.",
  host: "Everything that this machine reaches, and what listens on it for itself alone.",
};

// posture draws the sheet.
export function posture(sheet) {
  const all = sheet?.facts ?? [];
  if (!all.length) {
    return card("What is enforced", null, h("p", { class: "muted" }, "Nothing is known: what is enforced is found out by trying, and nothing runs."));
  }
  const weaker = all.filter((fact) => fact.deviation);
  const known = new Set(groups.flatMap(([, names]) => names));
  const others = all.filter((fact) => !known.has(fact.name)).map((fact) => fact.name);
  return h("section", { class: "card posture", "aria-label": "What is enforced" },
    h("header", null, h("h2", null, "What is enforced"), verdict(weaker)),
    sheet.untried ? h("div", { class: "note", "data-tone": "warn" }, h("p", null, `Not all could be tried: ${sheet.untried}`)) : null,
    weaker.length ? deviations(weaker) : null,
    h("div", { class: "posture-groups" },
      [...groups, ["Also", others]].map(([title, names]) => group(title, names, all, sheet))));
}

function verdict(weaker) {
  if (!weaker.length) return status("nothing is weaker than the default", "good");
  return status(`${count(weaker.length, "thing")} weaker than the default`, weaker.some((fact) => !fact.enforced) ? "bad" : "warn");
}

function deviations(weaker) {
  return h("div", { class: "note deviations", "data-tone": "warn" },
    h("ul", null, weaker.map((fact) => h("li", null,
      h("strong", null, nameOf(fact)), ": ", fact.deviation, ".", fact.enforced && explain(fact) ? h("span", { class: "muted" }, ` ${explain(fact)}`) : null))));
}

function nameOf(fact) {
  return facts[fact.name]?.[0] ?? fact.name;
}

function explain(fact) {
  return (fact.name === "network" && networks[fact.value]) || facts[fact.name]?.[1];
}

function group(title, names, all, sheet) {
  const its = names.map((name) => all.find((fact) => fact.name === name)).filter(Boolean);
  if (!its.length) return null;
  return h("section", { "aria-label": title }, h("h3", null, title),
    h("dl", { class: "fact-list" }, its.map((fact) => h("div", null,
      h("dt", null, nameOf(fact), h("small", null, explain(fact))),
      h("dd", null, h("span", { class: "value" }, fact.value), judgement(fact), details(fact, sheet))))));
}

// judgement says in a word how a fact is. What was never asked for is not weaker than the default: it is no limit.
function judgement(fact) {
  if (fact.deviation) return fact.enforced ? status("weaker", "warn") : status("not enforced", "bad");
  if (fact.enforced) return status("enforced", "good");
  return status(limits.includes(fact.name) ? "not limited" : "not enforced", "idle");
}

function details(fact, sheet) {
  if (fact.name === "host" && sheet.host?.length) return paths(sheet.host);
  if (fact.name === "calls" && sheet.trials?.length) return trials(sheet.trials);
  return null;
}

function paths(host) {
  const order = [...host].sort((a, b) => Number(b.writable && !b.device) - Number(a.writable && !a.device));
  return fold(count(host.length, "path"), order.map((one) => [one.path, one.device ? "device" : one.writable ? "writable" : "read-only"]));
}

function trials(tried) {
  const order = [...tried].sort((a, b) => Number(a.refused) - Number(b.refused));
  return fold(count(tried.length, "attempt"), order.map((one) => [one.name, `${one.refused ? "refused" : "not refused"}: ${one.answer}`]));
}

function fold(summary, rows) {
  return h("details", { class: "fold" }, h("summary", null, summary),
    h("ul", null, rows.map(([name, said]) => h("li", null, h("span", { class: "mono" }, name), h("span", { class: "muted" }, said)))));
}
