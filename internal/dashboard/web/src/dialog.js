// Questions before something that cannot be taken back.

import { h } from "./dom.js";

// ask shows a question and promises whether its action was chosen. The other button has the focus, so that a key pressed
// too much does no harm. {title, text, action, danger}; text may be nodes.
export function ask({ title, text, action, danger = false }) {
  return show({
    title,
    body: h("p", null, text),
    buttons: [
      h("button", { class: "button", value: "", autofocus: true }, "Cancel"),
      h("button", { class: danger ? "button danger" : "button primary", value: "yes" }, action),
    ],
  }).then((value) => value === "yes");
}

// show opens a dialog and promises the value of the button that closed it, "" for none.
export function show({ title, body, buttons }) {
  const dialog = h("dialog", { "aria-labelledby": "dialog-title" },
    h("form", { method: "dialog" },
      h("h2", { id: "dialog-title" }, title),
      body,
      h("footer", { class: "toolbar end" }, buttons)));
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close("");
    });
    dialog.showModal();
  });
}
