// The log of a background process as it is written. What comes are pieces at offsets, not lines.

import { events } from "../api.js";
import { logView } from "./log.js";

const begin = 500; // lines before the end

// mountProcessLog follows the log at a path until the function that it answers is called.
export function mountProcessLog(root, path, title) {
  const view = logView(root, { title });
  const cut = cutter();
  let ended = false;
  const stream = events(`${path}?follow=true&lines=${begin}`, {
    log(piece) {
      if (piece.missed) view.push([`[${piece.missed} bytes are no longer kept]`]);
      view.push(cut.lines(bytesOf(piece)));
    },
    end() {
      ended = true;
      view.push(cut.rest());
      view.say("It has ended.");
    },
    problem: (said) => view.say(said.detail ?? "The log cannot be read."),
  }, (state, error) => {
    if (ended) return;
    view.stream(state, error);
  });
  return () => {
    stream.close();
    view.end();
  };
}

function bytesOf(piece) {
  if (piece.text !== undefined) return new TextEncoder().encode(piece.text);
  return Uint8Array.from(atob(piece.base64 ?? ""), (c) => c.charCodeAt(0));
}

// cutter makes lines of pieces that end anywhere, also within a character.
function cutter() {
  const decoder = new TextDecoder();
  let rest = "";
  return {
    lines(bytes) {
      const all = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = all.pop();
      return all;
    },
    rest() {
      const last = rest + decoder.decode();
      rest = "";
      return last ? [last] : [];
    },
  };
}
