// A log as it is written. Lines come in batches and are drawn once a frame; the page keeps the newest and forgets the
// rest, so that neither a fast log nor a long one makes it grow.

import { events } from "../api.js";
import { count, h, replace, update } from "../dom.js";
import { problem } from "../parts.js";
import { dated, lines as ring } from "./lines.js";

const keep = 2000; // lines
const near = 4; // pixels from the end that still count as being at the end
const pace = 100; // milliseconds between two drawings
const patience = 1000; // milliseconds after which a log without lines is called empty

// mountLog follows the log at a path (events "lines" with {lines} and "dropped" with {lines: N}) until the function that
// it answers is called.
export function mountLog(root, path) {
  const view = logView(root);
  let came = false;
  const stream = events(path, {
    lines: ({ lines }) => {
      if (!came) view.clear();
      came = true;
      view.push(lines.map(dated));
    },
    dropped: ({ lines }) => view.dropped(lines),
    end: () => view.say("The log has ended."),
  }, (state, error) => {
    // Another stream begins with the last lines again.
    if (state !== "open") came = false;
    view.stream(state, error);
  });
  return () => {
    stream.close();
    view.end();
  };
}

// logView is a log in root that is fed by push(lines), dropped(n) and clear; say shows a remark, stream why nothing comes.
export function logView(root, { title = "Log", hint = "Nothing has been written yet." } = {}) {
  const kept = ring(keep);
  const search = h("input", { type: "search", placeholder: "Search", "aria-label": `Search in the ${title.toLowerCase()}`, oninput: () => redraw() });
  const follow = h("button", { class: "button small", type: "button", "aria-pressed": "true", onclick: () => resume() }, "Follow");
  const narrow = matchMedia("(max-width: 680px)").matches; // there, hardly any line fits
  const wrap = h("button", { class: "button small quiet", type: "button", "aria-pressed": String(narrow), onclick: () => toggleWrap() }, "Wrap");
  const remark = h("span", { class: "muted log-remark" });
  const trouble = h("div", null);
  const body = h("div", { class: narrow ? "log wrap" : "log", role: "log", "aria-live": "off", "aria-label": title, tabindex: 0 });
  let following = true;
  let missed = 0; // lines that came while somebody reads
  let lost = 0; // lines that the server dropped
  let said = "";
  let frame = 0;
  let last = 0; // when it was drawn
  let drawn = 0; // the number of the line after the last that is drawn
  let anew = false; // what is drawn is of no use any more
  const began = performance.now();

  replace(root, h("header", null, h("h2", null, title), h("div", { class: "toolbar" }, remark, search, wrap, follow)), trouble, body);

  function push(batch) {
    kept.push(batch);
    if (!following) missed += batch.length;
    plan();
  }

  // plan draws at the next frame, and not more often than the pace.
  function plan() {
    frame ||= requestAnimationFrame(function turn(now) {
      if (now - last < pace) {
        frame = requestAnimationFrame(turn);
        return;
      }
      frame = 0;
      last = now;
      draw();
    });
  }

  function draw() {
    tell();
    if (!following) return;
    if (anew) {
      body.replaceChildren();
      drawn = 0;
      anew = false;
    }
    const wanted = search.value.toLowerCase();
    const fresh = kept.from(drawn).filter((line) => matches(line, wanted)).map((line) => element(line, wanted));
    drawn = kept.next();
    body.querySelector(".empty")?.remove();
    body.append(...fresh);
    while (body.childElementCount > keep) body.firstChild.remove();
    if (!body.childElementCount && (wanted || performance.now() - began > patience)) {
      body.append(h("p", { class: "empty" }, wanted ? "No line has this." : hint));
    }
    body.scrollTop = body.scrollHeight;
  }

  function redraw() {
    anew = true;
    resume();
  }

  function resume() {
    if (missed) anew = true; // what is shown and what is kept need not touch
    following = true;
    missed = 0;
    draw();
  }

  function pause() {
    if (body.scrollHeight <= body.clientHeight) return;
    following = false;
    tell();
  }

  function tell() {
    const parts = [said, missed ? count(missed, "new line") : "", lost ? `${count(lost, "line")} left out` : ""];
    const text = parts.filter(Boolean).join(" · ");
    if (remark.textContent !== text) remark.textContent = text;
    follow.setAttribute("aria-pressed", String(following));
  }

  function toggleWrap() {
    const on = body.classList.toggle("wrap");
    wrap.setAttribute("aria-pressed", String(on));
    if (following) body.scrollTop = body.scrollHeight;
  }

  body.addEventListener("scroll", () => {
    const atEnd = body.scrollHeight - body.scrollTop - body.clientHeight < near;
    if (atEnd && !following) resume();
    else if (!atEnd && following) pause();
  }, { passive: true });
  // A fast log would pull somebody back to its end who moves away from it in small steps.
  body.addEventListener("wheel", (event) => { if (event.deltaY < 0) pause(); }, { passive: true });
  body.addEventListener("touchmove", pause, { passive: true });
  body.addEventListener("keydown", (event) => { if (["ArrowUp", "PageUp", "Home"].includes(event.key)) pause(); });
  plan();
  const wait = setTimeout(plan, patience + 1);

  return {
    push,
    dropped(n) {
      lost += n;
      plan();
    },
    clear() {
      kept.clear();
      missed = 0;
      lost = 0;
      anew = true;
      plan();
    },
    say(text) {
      said = text;
      plan();
    },
    // stream tells how the stream is that feeds it.
    stream(state, error) {
      update(trouble, error ? problem(error) : null);
      said = state !== "lost" ? "" : error ? "It is tried again." : "Connection lost; it is tried again.";
      plan();
    },
    end() {
      clearTimeout(wait);
      cancelAnimationFrame(frame);
    },
  };
}

function matches(line, wanted) {
  return !wanted || line.toLowerCase().includes(wanted);
}

const levels = [[/\b(ERROR|FATAL|PANIC|panic:|error:)/, "bad"], [/\b(WARN|WARNING|warning:)/, "warn"]];

function element(line, wanted) {
  const tone = levels.find(([form]) => form.test(line))?.[1];
  const div = h("div", { "data-tone": tone });
  if (!wanted) {
    div.textContent = line || "\u200b"; // an empty line has a height too
    return div;
  }
  const low = line.toLowerCase();
  let at = 0;
  for (let i = low.indexOf(wanted); i >= 0; i = low.indexOf(wanted, at)) {
    div.append(line.slice(at, i), h("mark", null, line.slice(i, i + wanted.length)));
    at = i + wanted.length;
  }
  div.append(line.slice(at));
  return div;
}
