// xterm.js and the shell behind it.

import { attach } from "../attachment.js";
import { h } from "../dom.js";
import { Problem } from "../api.js";
import { api } from "../rooms.js";
import { replaceInlineStyle } from "../sheets.js";
import { theme } from "./palette.js";

const replayed = 512 << 10; // bytes of what was written before that are shown again to who comes back
const scrollback = 5000; // lines

// openShell draws a terminal in a place and promises {type, end, renew, close}. check promises that requests are let in,
// tell is called with the state, modify changes what was typed, leave takes the focus out of the terminal.
export async function openShell(place, { profile, task, check, tell, modify, leave }) {
  const { Terminal, FitAddon } = await load();
  const restore = replaceInlineStyle();
  const terminal = new Terminal({
    cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches, fontFamily: getComputedStyle(place).fontFamily,
    fontSize: matchMedia("(max-width: 680px)").matches ? 12 : 13, scrollback, theme: theme(place), minimumContrastRatio: 4.5,
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(place);
  fit.fit();
  terminal.attachCustomKeyEventHandler((event) => ours(event, terminal, leave));
  terminal.focus();

  const known = memory(profile, task);
  const encoder = new TextEncoder();
  const url = new URL(api(profile, "sandboxes", task, "attach"), location.href);
  url.protocol = url.protocol.replace("http", "ws");
  let attachment = null;
  let quiet = false; // what is shown again may hold questions to a terminal, which were answered long ago

  function begin() {
    const kept = known.get();
    const id = kept?.id ?? name();
    const from = kept ? Math.max(0, kept.at - replayed) : undefined;
    quiet = Boolean(kept) && from < kept.at;
    terminal.options.disableStdin = false;
    attachment = attach({ url, id, from, size: { rows: terminal.rows, cols: terminal.cols } }, {
      output(bytes, drawn) {
        const all = attachment.offset();
        terminal.write(bytes, () => {
          if (quiet && all >= kept.at) quiet = false;
          drawn();
        });
      },
      gap: (n) => { if (!quiet) terminal.write(`\r\n[${n} bytes are no longer kept]\r\n`); },
      check,
      state(word, text) {
        if (word === "open") known.set(id, attachment?.offset() ?? 0);
        if (word === "ended") {
          known.forget();
          terminal.options.disableStdin = true;
        }
        tell(word, text);
      },
    });
  }

  const remember = () => known.move(attachment.offset());
  const type = (bytes) => { if (!quiet) attachment.input(bytes); };
  terminal.onData((text) => type(encoder.encode(modify(text))));
  terminal.onBinary((text) => type(Uint8Array.from(text, (c) => c.charCodeAt(0))));
  terminal.onResize(({ rows, cols }) => attachment.resize({ rows, cols }));
  const observer = new ResizeObserver(() => fit.fit());
  observer.observe(place);
  const repaint = () => { terminal.options.theme = theme(place); };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  addEventListener("theme", repaint);
  dark.addEventListener("change", repaint);
  addEventListener("pagehide", remember);
  begin();

  return {
    type(text) {
      type(encoder.encode(text));
      terminal.focus();
    },
    end: () => attachment.interrupt(),
    renew() {
      attachment.leave();
      known.forget();
      terminal.reset();
      begin();
      terminal.focus();
    },
    close() {
      remember();
      attachment.leave();
      observer.disconnect();
      removeEventListener("theme", repaint);
      dark.removeEventListener("change", repaint);
      removeEventListener("pagehide", remember);
      terminal.dispose();
      restore();
    },
  };
}

// load fetches what only this page needs. It is not in every build.
async function load() {
  const there = await fetch("/assets/xterm/xterm.mjs", { method: "HEAD", credentials: "same-origin" });
  if (there.status === 404) {
    throw new Problem("This Hermes was built without its terminal: npm was not there or could not fetch it. Build it again with make where it can; until then hermes sandbox shell opens one.");
  }
  const [{ Terminal }, { FitAddon }] = await Promise.all([import("/assets/xterm/xterm.mjs"), import("/assets/xterm/addon-fit.mjs"), style()]);
  return { Terminal, FitAddon };
}

function style() {
  if (document.getElementById("xterm-style")) return null;
  return new Promise((resolve, reject) => {
    document.head.append(h("link", { id: "xterm-style", rel: "stylesheet", href: "/assets/xterm/xterm.css", onload: resolve, onerror: reject }));
  });
}

// ours are the keys that the shell does not get.
function ours(event, terminal, leave) {
  if (!event.ctrlKey || !event.shiftKey || event.type !== "keydown") return true;
  if (event.code === "Backspace") {
    event.preventDefault();
    leave();
    return false;
  }
  if (event.code === "KeyC" && terminal.hasSelection()) {
    event.preventDefault();
    copy(terminal.getSelection());
    terminal.focus();
    return false;
  }
  return event.code !== "KeyV"; // the browser pastes
}

// copy also works where the page did not come over TLS and has no clipboard.
function copy(text) {
  if (navigator.clipboard) {
    navigator.clipboard.writeText(text).catch(() => {});
    return;
  }
  const area = h("textarea", { class: "hidden-text" });
  document.body.append(area);
  area.value = text;
  area.select();
  document.execCommand("copy");
  area.remove();
}

// name makes an id that nobody else has. randomUUID is there only over TLS.
function name() {
  return `web-${[...crypto.getRandomValues(new Uint8Array(12))].map((b) => b.toString(16).padStart(2, "0")).join("")}`;
}

// memory keeps which shell this tab has in a sandbox, and how far it was read.
function memory(profile, task) {
  const key = `shell ${profile}/${task}`;
  const set = (id, at) => sessionStorage.setItem(key, JSON.stringify({ id, at }));
  const get = () => JSON.parse(sessionStorage.getItem(key));
  return {
    get, set,
    move: (at) => { if (get()) set(get().id, at); },
    forget: () => sessionStorage.removeItem(key),
  };
}
