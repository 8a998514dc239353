// The colours of the terminal, which are the page's own (rooms.css).

import { h } from "../dom.js";

const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

// theme reads them as they are now, in this theme of the page.
export function theme(place) {
  const probe = h("span", { hidden: true });
  place.append(probe);
  const colour = (token) => {
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  };
  const all = {
    background: colour("--terminal"), foreground: colour("--ink"), cursor: colour("--accent"), cursorAccent: colour("--terminal"),
    selectionBackground: colour("--terminal-selection"),
    scrollbarSliderBackground: colour("--line-strong"), scrollbarSliderHoverBackground: colour("--muted"), scrollbarSliderActiveBackground: colour("--muted"),
  };
  for (const name of names) {
    all[name] = colour(`--ansi-${name}`);
    all[`bright${name[0].toUpperCase()}${name.slice(1)}`] = colour(`--ansi-bright-${name}`);
  }
  probe.remove();
  return all;
}
