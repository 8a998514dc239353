// What the pages about sandboxes share: their addresses, and how they are removed.

import { del } from "./api.js";
import { ask } from "./dialog.js";
import { h } from "./dom.js";

// pageOf is the address of a sandbox's page.
export function pageOf(profile, task, below = "") {
  return `/sandboxes/${encodeURIComponent(profile)}/${encodeURIComponent(task)}${below}`;
}

// api is where the API of a profile's gateway is served to these pages.
export function api(profile, ...parts) {
  return ["/api/profiles", profile, "v1", ...parts].map((part, i) => (i ? encodeURIComponent(part) : part)).join("/");
}

// boxOf finds a sandbox in an overview.
export function boxOf(overview, profile, task) {
  return overview?.sandboxes?.find((box) => box.profile === profile && box.task === task) ?? null;
}

// remove asks whether a sandbox is to go and lets it go. It promises whether it went.
export async function remove(profile, task) {
  const files = h("input", { type: "checkbox" });
  const sure = await ask({
    title: `Remove the sandbox ${task}?`,
    text: [
      "Everything that runs in it ends. Its files are kept for the next sandbox of this task, unless they are removed with it.",
      h("label", { class: "check" }, files, " Remove its files too"),
    ],
    action: "Remove",
    danger: true,
  });
  if (!sure) return false;
  await del(api(profile, "sandboxes", task) + (files.checked ? "?files=true" : ""));
  return true;
}

// busy lets a button show that it works until the promise of its work is kept.
export async function busy(button, work) {
  button.disabled = true;
  button.setAttribute("aria-busy", "true");
  try {
    return await work();
  } finally {
    button.disabled = false;
    button.removeAttribute("aria-busy");
  }
}
