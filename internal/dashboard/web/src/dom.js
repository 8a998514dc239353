// Elements without a framework. Whatever comes from outside becomes a text node or an attribute and never markup, so
// that no name, log line or message can bring a script with it.

const svgTags = new Set(["svg", "g", "path", "line", "rect", "circle", "polyline", "text", "title", "use"]);
const asProperty = new Set(["value", "checked", "disabled", "hidden", "open", "selected", "readOnly", "indeterminate"]);

// h makes an element: attributes by name, listeners as onclick and the like, children as strings, nodes, arrays or null.
// An attribute that is null, undefined or false is left out.
export function h(tag, attributes, ...children) {
  const element = svgTags.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on") || asProperty.has(name)) element[name] = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...nodes(children));
  return element;
}

// replace puts children in the place of all that root holds.
export function replace(root, ...children) {
  root.replaceChildren(...nodes(children));
}

// update makes root hold what children say and keeps what is there already, so that focus, selection and open details
// survive a change of data. Only for children that were made for this call: they may end up unused. An element with a
// `key` attribute is only ever taken for one with the same key.
export function update(root, ...children) {
  const wanted = nodes(children);
  let here = root.firstChild;
  for (const next of wanted) {
    const match = find(here, next);
    if (!match) {
      root.insertBefore(next, here);
      continue;
    }
    if (match !== here) root.insertBefore(match, here);
    else here = here.nextSibling;
    adopt(match, next);
  }
  while (here) {
    const gone = here;
    here = here.nextSibling;
    gone.remove();
  }
}

function find(here, next) {
  const key = next.getAttribute?.("key");
  if (!key) return here && same(here, next) ? here : null;
  for (let node = here; node; node = node.nextSibling) {
    if (same(node, next)) return node;
  }
  return null;
}

function same(a, b) {
  return a.nodeName === b.nodeName && a.getAttribute?.("key") === b.getAttribute?.("key");
}

function adopt(old, next) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const name of ["onclick", "oninput", "onchange", "onsubmit", "onkeydown"]) {
    if (old[name] !== next[name]) old[name] = next[name];
  }
  if ("disabled" in next) old.disabled = next.disabled;
  update(old, ...next.childNodes);
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

// seconds reads a moment: Unix seconds, or text as in RFC 3339.
function seconds(moment) {
  return typeof moment === "number" ? moment : Date.parse(moment) / 1000;
}

// duration says how long a number of seconds is, in the two largest units.
export function duration(total) {
  const s = Math.max(0, Math.round(total));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return pair(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "min");
  return pair(Math.floor(s / 86400), "d", Math.floor((s % 86400) / 3600), "h");
}

function pair(large, unit, small, smaller) {
  return small ? `${large} ${unit} ${small} ${smaller}` : `${large} ${unit}`;
}

// ago says how long ago a moment was.
export function ago(moment) {
  const passed = Date.now() / 1000 - seconds(moment);
  if (!Number.isFinite(passed)) return "";
  return passed < 5 ? "just now" : `${duration(passed)} ago`;
}

// since is an element that goes on telling how long ago a moment was; app.js lets all of them tick.
export function since(moment) {
  const at = new Date(seconds(moment) * 1000);
  if (Number.isNaN(at.getTime())) return null;
  return h("time", { datetime: at.toISOString(), title: at.toLocaleString(), "data-since": seconds(moment) }, ago(moment));
}

// tick brings what since made up to date.
export function tick() {
  for (const element of document.querySelectorAll("time[data-since]")) {
    const text = ago(Number(element.dataset.since));
    if (element.textContent !== text) element.textContent = text;
  }
}

// bytes says a size in the unit that leaves at most three digits before the point.
export function bytes(n) {
  if (!Number.isFinite(n)) return "";
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  let size = n;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${unit && size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

// count says how many there are of something: count(2, "sandbox", "sandboxes").
export function count(n, one, many = `${one}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

// sentence makes a line of a program one: with a capital and a full stop.
export function sentence(line) {
  const text = line.trim();
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?…]$/.test(text) ? "" : ".");
}
