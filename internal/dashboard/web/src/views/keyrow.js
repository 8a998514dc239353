// Keys that the keyboard of a phone lacks.

import { h } from "../dom.js";

const keys = [["Esc", "\x1b"], ["Tab", "\t"], ["←", "\x1b[D", "Left"], ["↓", "\x1b[B", "Down"], ["↑", "\x1b[A", "Up"], ["→", "\x1b[C", "Right"]];

// keyRow has the row of buttons, which call type, and modify, through which goes what is typed: Ctrl counts for the next
// letter.
export function keyRow(type) {
  const press = (text) => h("button", { class: "button small", type: "button", "aria-label": text[2], onclick: () => type(text[1]) }, text[0]);
  const control = h("button", { class: "button small", type: "button", "aria-pressed": "false", onclick: () => hold(!held()) }, "Ctrl");
  const held = () => control.getAttribute("aria-pressed") === "true";
  const hold = (on) => control.setAttribute("aria-pressed", String(on));
  return {
    row: h("div", { class: "toolbar key-row", role: "toolbar", "aria-label": "Keys" }, control, keys.map(press)),
    modify(text) {
      if (!held()) return text;
      hold(false);
      return /^[@-~]$/.test(text) ? String.fromCharCode(text.toUpperCase().charCodeAt(0) & 31) : text;
    },
  };
}
