// Style without style elements and attributes, which the policy of these pages forbids: anybody who could bring one in
// could change what a page seems to say. xterm.js makes both, and has no switch for it. What the policy allows does the
// same: sheets that a script constructs, and the object model of an element's style.

// replaceInlineStyle lets document.createElement give elements that do so, until the function that it answers is called.
export function replaceInlineStyle() {
  const sheets = new Set();
  const make = (name, options) => Document.prototype.createElement.call(document, name, options);
  document.createElement = (name, options) => {
    if (name === "style") return standIn(make("template"), sheets);
    const element = make(name, options);
    if (name === "span") element.setAttribute = setAttribute;
    return element;
  };
  return () => {
    delete document.createElement; // that of all documents counts again
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.has(sheet));
  };
}

// standIn is an element in the place of a style element: its text becomes the text of a sheet.
function standIn(element, sheets) {
  const sheet = new CSSStyleSheet();
  sheets.add(sheet);
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(element, "textContent", { set: (text) => sheet.replaceSync(text) });
  return element;
}

function setAttribute(name, value) {
  if (name === "style") this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}
