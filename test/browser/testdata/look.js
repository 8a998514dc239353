// What the tests ask of a page that is drawn. Each answer is a text: empty if nothing is wrong.
var describe = (element) => {
  const words = (element.getAttribute("aria-label") || element.textContent || element.id || "").trim().slice(0, 40);
  return `<${element.tagName.toLowerCase()}${element.className?.trim?.() ? ` class=${element.className}` : ""}> ${JSON.stringify(words)}`;
};

var visible = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && element.getClientRects().length > 0;

// What a mouse can press. What belongs to one control, as the buttons of a radio group, counts once.
var pressable = () => [...document.querySelectorAll("a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary, [tabindex]:not([tabindex^='-'])")]
  .filter((element) => visible(element) && !element.closest("[inert]"));

var overflowing = () => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return "";
  const wide = [...document.body.querySelectorAll("*")].filter((element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.right > width + 1;
  });
  return `${document.documentElement.scrollWidth} of ${width}: ${wide.slice(0, 5).map(describe).join(", ")}`;
};

// WCAG 2.2 asks for 24 by 24 pixels. Links within text are exempt, and what is smaller but has so much room around it
// that a circle of that size touches nothing else.
var tooSmall = () => {
  const all = pressable().filter((element) => getComputedStyle(element).display !== "inline"
    && !(element.matches("input[type=checkbox], input[type=radio]") && element.closest("label")));
  const boxes = new Map(all.map((element) => [element, element.getBoundingClientRect()]));
  const small = (box) => box.width > 0 && (box.width < 23.5 || box.height < 23.5);
  const crowded = (element) => {
    const box = boxes.get(element);
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    return all.some((other) => {
      if (other === element || other.contains(element) || element.contains(other)) return false;
      const its = boxes.get(other);
      const [dx, dy] = [Math.max(its.left - x, 0, x - its.right), Math.max(its.top - y, 0, y - its.bottom)];
      return Math.hypot(dx, dy) < 12;
    });
  };
  return all.filter((element) => small(boxes.get(element)) && crowded(element))
    .map((element) => `${describe(element)} ${Math.round(boxes.get(element).width)}×${Math.round(boxes.get(element).height)}`).slice(0, 5).join(", ");
};

var canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });

// Whatever form a colour is written in, what is painted is these four numbers.
var painted = (colour) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
};

var over = (front, back) => [0, 1, 2].map((i) => front[i] * front[3] + back[i] * (1 - front[3])).concat(1);

var luminance = (colour) => {
  const [r, g, b] = colour.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

var contrast = (a, b) => {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
};

var behind = (element) => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) layers.push(painted(getComputedStyle(at).backgroundColor));
  return layers.reverse().reduce((back, front) => over(front, back), [255, 255, 255, 1]);
};

var faint = () => {
  const found = [];
  for (const element of document.body.querySelectorAll("*")) {
    const text = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()).length > 0;
    if (!text || !visible(element) || element.closest(":disabled, [aria-hidden=true], noscript, .skip, .xterm, .stale")) continue;
    const style = getComputedStyle(element);
    const back = behind(element);
    const colour = painted(style.color);
    for (let at = element; at; at = at.parentElement) colour[3] *= Number(getComputedStyle(at).opacity);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = contrast(over(colour, back), back);
    if (ratio < (large ? 3 : 4.5) - 0.005) found.push(`${describe(element)} has ${ratio.toFixed(2)}`);
  }
  return [...new Set(found)].slice(0, 8).join("; ");
};

// focused notes where the focus is, and names it if nothing shows that.
var focused = () => {
  const element = document.activeElement;
  window.reached.add(element);
  if (element === document.body || element === document.documentElement) return "";
  const shown = [element, ...element.querySelectorAll("*"), element.parentElement].some((part) => {
    const style = getComputedStyle(part);
    return (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
  });
  return shown ? "" : describe(element);
};

// A group of radio buttons is one stop, and so is a list whose parts are chosen by arrows.
var unreached = () => pressable().filter((element) => !window.reached.has(element)
  && !(element.type === "radio" && [...window.reached].some((other) => other.name === element.name)))
  .map(describe).slice(0, 8).join(", ");
