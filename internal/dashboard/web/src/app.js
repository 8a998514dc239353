// The frame of all pages: which view a path shows, the navigation, the banner, the keys.

import { me, post } from "./api.js";
import { h, replace, tick } from "./dom.js";
import { listen } from "./keys.js";
import { empty, head, problem } from "./parts.js";
import { go } from "./place.js";
import { onConnection, subscribe } from "./store.js";

// A view is loaded when it is first shown, so that the first page does not wait for the terminal. Its module has a
// default export {title, mount(root, params)}: title is text or a function of params; mount draws at once, with a heading
// by head(), and answers a function that ends what it began.
const routes = [
  ["/", () => import("./views/overview.js")],
  ["/services", () => import("./views/services.js")],
  ["/services/:name", () => import("./views/service.js")],
  ["/sandboxes", () => import("./views/sandboxes.js")],
  ["/sandboxes/:profile/:task", () => import("./views/sandbox.js")],
  ["/sandboxes/:profile/:task/terminal", () => import("./views/terminal.js")],
  ["/addons", () => import("./views/addons.js")],
  ["/profiles", () => import("./views/profiles.js")],
];

const main = document.getElementById("main");
let dispose = () => {};
let shown = 0; // counts navigations, so that a view that loads slowly does not replace a later one
let path = ""; // of the page that is shown

function match(pathname) {
  for (const [pattern, load] of routes) {
    const names = [];
    const form = pattern.replace(/:(\w+)/g, (_, name) => (names.push(name), "([^/]+)"));
    const found = new RegExp(`^${form}/?$`).exec(pathname);
    if (!found) continue;
    try {
      return { load, params: Object.fromEntries(names.map((name, i) => [name, decodeURIComponent(found[i + 1])])) };
    } catch {
      return null;
    }
  }
  return null;
}

async function show({ focus }) {
  const turn = ++shown;
  path = location.pathname;
  const found = match(location.pathname);
  mark();
  let view = missing;
  if (found) {
    try {
      view = (await found.load()).default;
    } catch {
      view = broken;
    }
  }
  if (turn !== shown) return;
  end();
  const params = found?.params ?? {};
  const title = typeof view.title === "function" ? view.title(params) : view.title;
  document.title = title === "Hermes" ? title : `${title} · Hermes`;
  const root = h("div", { class: "page" });
  replace(main, root);
  try {
    dispose = view.mount(root, params) ?? (() => {});
  } catch (error) {
    replace(root, head(title), problem(error));
  }
  if (!focus) return;
  scrollTo(0, 0);
  (main.querySelector("h1") ?? main).focus({ preventScroll: true });
}

// end lets the view that is shown end what it began; an error in it must not keep the next one away.
function end() {
  try {
    dispose();
  } catch (error) {
    console.error(error);
  }
  dispose = () => {};
}

const missing = {
  title: "Not here",
  mount: (root) => replace(root, head("There is no such page"),
    empty("This address leads nowhere.", h("a", { href: "/" }, "Go to the overview"), ".")),
};

const broken = {
  title: "Not loaded",
  mount: (root) => replace(root, head("This page could not be loaded"),
    problem("The dashboard may have been updated or stopped meanwhile.",
      h("button", { class: "button", onclick: () => location.reload() }, "Load again"))),
};

// mark tells which entry of the navigation the page belongs to.
function mark() {
  for (const link of document.querySelectorAll(".nav a")) {
    const to = link.getAttribute("href");
    const here = to === "/" ? location.pathname === "/" : `${location.pathname}/`.startsWith(`${to}/`);
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.target || link.hasAttribute("download") || link.origin !== location.origin || link.getAttribute("href").startsWith("#")) return;
  if (!match(link.pathname)) return;
  event.preventDefault();
  go(link.pathname + link.search);
});
addEventListener("place", () => show({ focus: true }));
addEventListener("popstate", () => { if (location.pathname !== path) show({ focus: true }); });
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

const banner = document.getElementById("banner");
onConnection((state) => {
  banner.hidden = state !== "lost";
  document.documentElement.classList.toggle("stale", state === "lost");
});

subscribe((overview) => {
  const parked = overview.services?.filter((service) => service.state === "parked").length ?? 0;
  const flag = document.getElementById("parked");
  flag.hidden = parked === 0;
  flag.textContent = parked;
  flag.title = `${parked} parked`;
});

document.getElementById("theme").addEventListener("click", switchTheme);

// switchTheme goes to the other of light and dark; going back to what the system shows forgets the choice.
function switchTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const root = document.documentElement;
  const next = (root.dataset.theme ?? system) === "dark" ? "light" : "dark";
  if (next === system) delete root.dataset.theme;
  else root.dataset.theme = next;
  try {
    if (next === system) localStorage.removeItem("theme");
    else localStorage.setItem("theme", next);
  } catch {
    // The choice then holds for this page alone.
  }
  dispatchEvent(new CustomEvent("theme", { detail: next }));
}

const leave = document.getElementById("logout");
leave.addEventListener("click", async () => {
  leave.disabled = true;
  try {
    await post("/auth/logout");
    location.assign("/login");
  } catch (error) {
    leave.disabled = false;
    leave.title = error.message;
  }
});
me().then(({ user }) => { document.getElementById("user").textContent = user; }, () => {});

listen({ switchTheme });
setInterval(tick, 5000);
show({ focus: false });
