// Logging in. Without this script the form still posts by itself; with it the answer is shown here, and the page that was
// asked for comes next.

import { h, replace } from "./dom.js";

const form = document.getElementById("password");
const trouble = document.getElementById("trouble");
const button = form.querySelector("button");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  busy(true);
  tell("");
  try {
    const response = await fetch(form.action, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      credentials: "same-origin",
      body: JSON.stringify({ username: form.username.value, password: form.password.value }),
    });
    if (response.ok) {
      location.replace(wanted());
      return;
    }
    tell(await refusal(response));
  } catch {
    tell("The dashboard does not answer. Try again in a moment.");
  }
  busy(false);
  form.password.select();
});

function busy(on) {
  button.disabled = on;
  button.setAttribute("aria-busy", String(on));
}

function tell(text) {
  trouble.hidden = !text;
  replace(trouble, h("p", null, text));
}

async function refusal(response) {
  let said = {};
  try {
    said = await response.json();
  } catch {
    // What is no JSON came from a proxy; its status is all there is to tell.
  }
  const text = said.detail || said.error || `The dashboard answered with status ${response.status}.`;
  const wait = Number(response.headers.get("Retry-After"));
  return sentence(response.status === 429 && wait ? `${text} (${wait} s)` : text);
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

// wanted is the page that somebody was sent here from. Only a path of this dashboard counts: an address of another site
// must not be made to look like ours.
function wanted() {
  const next = new URLSearchParams(location.search).get("next") ?? "/";
  try {
    const address = new URL(next, location.origin);
    if (next.startsWith("/") && address.origin === location.origin && address.pathname !== "/login") return address.pathname + address.search;
  } catch {
    // What is no address leads to the overview.
  }
  return "/";
}

async function offer() {
  let providers = [];
  try {
    ({ providers } = await (await fetch("/api/auth/providers", { headers: { Accept: "application/json" } })).json());
  } catch {
    return; // the form stays: it says what is wrong when it is used
  }
  const others = providers.filter((each) => !each.supports_password);
  const password = providers.some((each) => each.supports_password);
  form.hidden = !password;
  document.getElementById("ticket").hidden = providers.length > 0;
  document.getElementById("or").hidden = !password || !others.length;
  const list = document.getElementById("providers");
  list.hidden = !others.length;
  replace(list, others.map((each) => h("a", { class: password ? "button" : "button primary", href: each.login }, `Log in with ${each.display_name}`)));
}

const failure = new URLSearchParams(location.search).get("error");
if (failure) tell(sentence(failure));
offer();
