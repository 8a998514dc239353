// One plot of a series over time as SVG, drawn for the width that it has. Values that are not known leave a gap. It is
// read by pointer, by touch and with the arrow keys.

import { h, replace } from "../dom.js";

const height = 132;
const gutter = { left: 44, right: 8, top: 8, bottom: 20 };

// plot makes one. kind is "area" or "bars"; format says a value in words; ceiling(max) answers where the axis ends. The
// plot has the element, show(series) with {start, step, values} (seconds), and point(i) to mark a value from outside;
// onpoint(i or null) is told what is pointed at here.
export function plot({ title, kind, format, ceiling, onpoint }) {
  const value = h("output", { class: "plot-value" });
  const moment = h("span", { class: "plot-moment" });
  const canvas = h("div", { class: "plot-canvas", tabindex: 0, role: "slider", "aria-label": `${title}, last hour`, "aria-valuemin": 0 });
  const element = h("figure", { class: "card plot" },
    h("figcaption", null, h("h2", null, title), h("div", null, value, moment)), canvas);
  let series = null;
  let marked = null;
  let width = 0;

  function show(next) {
    series = next;
    draw();
  }

  function point(i) {
    marked = i === null || !series ? null : Math.max(0, Math.min(series.values.length - 1, i));
    draw();
  }

  function draw() {
    if (!series || width < 100) return;
    const { values, start, step } = series;
    const inner = width - gutter.left - gutter.right;
    const top = ceiling(Math.max(0, ...values.filter((v) => v !== null)));
    const x = (i) => gutter.left + ((i + 0.5) / values.length) * inner;
    const y = (v) => gutter.top + (1 - v / top) * (height - gutter.top - gutter.bottom);
    replace(canvas, h("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
      runs(values.map((v) => (v === null ? 0 : null))).map(([first, last]) => h("rect", {
        class: "unknown", x: x(first - 0.5), width: x(last + 0.5) - x(first - 0.5), y: gutter.top, height: y(0) - gutter.top,
      })),
      [0, 0.5, 1].map((part) => [
        h("line", { class: part ? "grid" : "grid base", x1: gutter.left, x2: width - gutter.right, y1: y(top * part), y2: y(top * part) }),
        h("text", { class: "axis", x: gutter.left - 6, y: y(top * part) + 4, "text-anchor": "end" }, format(top * part)),
      ]),
      marks(start, step * values.length).map(({ part, text }) => {
        const at = gutter.left + part * inner;
        return h("text", { class: "axis", x: at, y: height - 4, "text-anchor": "middle" }, text);
      }),
      kind === "bars" ? bars(values, x, y, inner / values.length) : runs(values).map((run) => area(run, values, x, y)),
      marked === null ? null : [
        h("line", { class: "cursor", x1: x(marked), x2: x(marked), y1: gutter.top, y2: y(0) }),
        values[marked] === null ? null : h("circle", { class: "cursor-dot", cx: x(marked), cy: y(values[marked]), r: 3.5 }),
      ]));
    tell();
  }

  function tell() {
    const { values, start, step } = series;
    let i = marked ?? values.findLastIndex((v) => v !== null);
    if (i < 0) i = values.length - 1;
    const told = values[i] === null ? "not known" : format(values[i]);
    value.textContent = values[i] === null ? "–" : told;
    moment.textContent = marked === null ? "now" : clock(start + i * step);
    canvas.setAttribute("aria-valuemax", values.length - 1);
    canvas.setAttribute("aria-valuenow", i);
    canvas.setAttribute("aria-valuetext", `${told}, ${clock(start + i * step)}`);
  }

  function under(event) {
    if (!series) return null;
    const at = event.clientX - canvas.getBoundingClientRect().left - gutter.left;
    const i = Math.floor((at / (width - gutter.left - gutter.right)) * series.values.length);
    return Math.max(0, Math.min(series.values.length - 1, i));
  }

  canvas.onpointermove = (event) => onpoint(under(event));
  canvas.onpointerleave = () => onpoint(null);
  canvas.onblur = () => onpoint(null);
  canvas.onkeydown = (event) => {
    if (!series) return;
    const last = series.values.length - 1;
    const here = marked ?? last;
    const large = Math.round(last / 12);
    const next = { ArrowLeft: here - 1, ArrowRight: here + 1, PageDown: here - large, PageUp: here + large, Home: 0, End: last, Escape: null }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    onpoint(next === null ? null : Math.max(0, Math.min(last, next)));
  };

  const observer = new ResizeObserver(([entry]) => {
    width = Math.floor(entry.contentRect.width);
    draw();
  });
  observer.observe(canvas);
  return { element, show, point, end: () => observer.disconnect() };
}

// runs are the stretches without a gap, as [first, last].
function runs(values) {
  const found = [];
  values.forEach((v, i) => {
    if (v === null) return;
    if (i && values[i - 1] !== null) found.at(-1)[1] = i;
    else found.push([i, i]);
  });
  return found;
}

function area([first, last], values, x, y) {
  const points = [];
  for (let i = first; i <= last; i++) points.push(`${x(i).toFixed(1)},${y(values[i]).toFixed(1)}`);
  if (first === last) return h("circle", { class: "lone", cx: x(first), cy: y(values[first]), r: 1.5 });
  return [
    h("path", { class: "area", d: `M${x(first).toFixed(1)},${y(0)}L${points.join("L")}L${x(last).toFixed(1)},${y(0)}Z` }),
    h("polyline", { class: "line", points: points.join(" ") }),
  ];
}

function bars(values, x, y, room) {
  const wide = Math.max(1, Math.min(room - 1.5, 10));
  return values.map((v, i) => (v === null || v === 0 ? null
    : h("rect", { class: "bar", x: x(i) - wide / 2, width: wide, y: y(v), height: Math.max(1, y(0) - y(v)), rx: Math.min(1.5, wide / 2) })));
}

// marks are the full quarters of an hour within a stretch of time.
function marks(start, length) {
  const quarter = 900;
  const found = [];
  for (let t = Math.ceil(start / quarter) * quarter; t <= start + length; t += quarter) {
    const part = (t - start) / length;
    if (part > 0.03 && part < 0.97) found.push({ part, text: clock(t) });
  }
  return found;
}

// clock is the local time of day of a moment.
export function clock(unix) {
  return new Date(unix * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}
