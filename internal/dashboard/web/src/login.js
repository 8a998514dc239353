// Logging in. Without this script the form still posts by itself; with it the answer is shown here, and the page that was
// asked for comes next.

import { h, replace, sentence } from "./dom.js";

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

// wanted is the page that somebody was sent here from. Only a path of this dashboard counts: an address of another site
// must not be made to look like ours. What is left of /..//elsewhere is one too.
function wanted() {
  const next = new URLSearchParams(location.search).get("next") ?? "/";
  try {
    const address = new URL(next, location.origin);
    const ours = next.startsWith("/") && address.origin === location.origin && !address.pathname.startsWith("//");
    if (ours && address.pathname !== "/login") return address.pathname + address.search;
  } catch {
    // What is no address leads to the overview.
  }
  return "/";
}

// offer shows the ways to log in that there are, and why the last one was of no use. That comes as a word in the address,
// and the door says what it means: a sentence in an address could say anything in our name.
async function offer() {
  const failure = new URLSearchParams(location.search).get("error");
  let known;
  try {
    const response = await fetch(`/api/auth/providers${failure ? `?error=${encodeURIComponent(failure)}` : ""}`, { headers: { Accept: "application/json" } });
    known = await response.json();
  } catch {
    return; // the form stays: it says what is wrong when it is used
  }
  if (failure) tell(sentence(known.error ?? "you were not let in; try again, or look into the dashboard's log"));
  show(known.providers ?? []);
}

function show(providers) {
  const others = providers.filter((each) => !each.supports_password);
  const password = providers.some((each) => each.supports_password);
  form.hidden = !password;
  document.getElementById("ticket").hidden = providers.length > 0;
  document.getElementById("or").hidden = !password || !others.length;
  const list = document.getElementById("providers");
  list.hidden = !others.length;
  replace(list, others.map((each) => (each.problem
    ? h("div", { class: "note", "data-tone": "warn" }, h("p", null, sentence(`nobody can log in with ${each.display_name} yet: ${each.problem}`)))
    : h("a", { class: password ? "button" : "button primary", href: onwards(each.login) }, `Log in with ${each.display_name}`))));
}

// onwards adds to an address of the door which page comes after it.
function onwards(login) {
  const address = new URL(login, location.origin);
  address.searchParams.set("next", wanted());
  return address.pathname + address.search;
}

// alreadyIn says whether this browser has a session after all: to a page that a link on another site leads to it shows
// none, and the door sends it here.
async function alreadyIn() {
  try {
    return (await (await fetch("/api/status", { headers: { Accept: "application/json" } })).json()).authenticated === true;
  } catch {
    return false;
  }
}

if (await alreadyIn()) location.replace(wanted());
else offer();
