// CPU, memory and commands of the last hour beside each other, with the same figures as a table for whoever does not read
// plots.

import { get } from "../api.js";
import { bytes, h, replace } from "../dom.js";
import { problem } from "../parts.js";
import { clock, plot } from "./plot.js";

const interval = 10_000; // milliseconds; the server measures as often

// mountPlots fills root and keeps it up to date until the function that it answers is called.
export function mountPlots(root) {
  let per = 1; // values of the finest series for one of the coarsest
  const point = (fine) => {
    cpu.point(fine);
    memory.point(fine);
    commands.point(fine === null ? null : Math.floor(fine / per));
  };
  const cpu = plot({ title: "CPU", kind: "area", format: percent, ceiling: (max) => [5, 10, 25, 50, 100].find((c) => max <= c) ?? 100, onpoint: point });
  const memory = plot({ title: "Memory", kind: "area", format: bytes, ceiling: roundBytes, onpoint: point });
  const commands = plot({ title: "Commands a minute", kind: "bars", format: whole, ceiling: roundCount, onpoint: (i) => point(i === null ? null : i * per + per - 1) });
  const trouble = h("div", { hidden: true });
  const figures = h("div", null);
  const details = h("details", { class: "figures", ontoggle: () => fill() }, h("summary", null, "As a table"), figures);
  replace(root, trouble, h("div", { class: "plots" }, cpu.element, memory.element, commands.element), details);

  let history = null;
  let timer = 0;
  let ended = false;

  async function load() {
    clearTimeout(timer);
    if (!document.hidden) {
      try {
        show(await get("/api/history"));
        trouble.hidden = true;
      } catch (error) {
        replace(trouble, problem(error));
        trouble.hidden = error.status === 0; // the banner says it
      }
    }
    if (!ended) timer = setTimeout(load, interval);
  }

  function show(next) {
    if (ended || !next) return;
    history = next;
    const { step, end } = next;
    per = Math.max(1, Math.round(60 / step));
    const start = end - step * next.cpu.length;
    cpu.show({ start, step, values: next.cpu });
    memory.show({ start, step, values: next.memory });
    commands.show({ start, step: step * per, values: groups(next.commands, per, sum) });
    fill();
  }

  function fill() {
    if (history && details.open) replace(figures, asTable(history));
  }

  const seen = () => { if (!document.hidden) load(); };
  document.addEventListener("visibilitychange", seen);
  load();
  return () => {
    ended = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
    for (const each of [cpu, memory, commands]) each.end();
  };
}

// asTable has a row for each five minutes, the newest first.
function asTable({ step, end, cpu, memory, commands }) {
  const size = Math.max(1, Math.round(300 / step));
  const start = end - step * cpu.length;
  const c = groups(cpu, size, mean);
  const m = groups(memory, size, mean);
  const n = groups(commands, size, sum);
  const said = (value, format) => (value === null ? "not known" : format(value));
  return h("table", { class: "table" },
    h("caption", { class: "hidden-text" }, "The last hour in steps of five minutes"),
    h("thead", null, h("tr", null, ["From", "CPU, mean", "Memory, mean", "Commands"].map((t, i) => h("th", { scope: "col", class: i ? "num" : null }, t)))),
    h("tbody", null, c.map((_, i) => h("tr", null,
      h("td", { class: "main" }, clock(start + i * size * step)),
      h("td", { class: "num", "data-label": "CPU, mean" }, said(c[i], percent)),
      h("td", { class: "num", "data-label": "Memory, mean" }, said(m[i], bytes)),
      h("td", { class: "num", "data-label": "Commands" }, said(n[i], whole)))).reverse()));
}

// groups makes one value of each size values; it is null only where all of them are.
function groups(values, size, fold) {
  const found = [];
  for (let i = 0; i < values.length; i += size) {
    const known = values.slice(i, i + size).filter((v) => v !== null);
    found.push(known.length ? fold(known) : null);
  }
  return found;
}

const sum = (values) => values.reduce((a, b) => a + b, 0);
const mean = (values) => sum(values) / values.length;
const whole = (v) => Math.round(v).toLocaleString("en");
const percent = (v) => `${v < 10 && v % 1 ? v.toFixed(1) : Math.round(v)} %`;

function roundCount(max) {
  let top = 4;
  while (top < max) top *= String(top)[0] === "2" ? 2.5 : 2;
  return top;
}

function roundBytes(max) {
  let top = 32 << 20;
  while (top < max) top *= 2;
  return top;
}
