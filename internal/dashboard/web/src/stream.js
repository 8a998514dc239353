// Server-sent events, read by fetch and not by EventSource: a refusal can be read and acted upon, pauses grow, and a page
// that is behind leaves data with the server, which may then drop it, where EventSource would gather it in memory.

const shortestPause = 500; // milliseconds
const longestPause = 15_000;
const hiddenGrace = 10_000; // a page that nobody sees gives its connection back: a browser has six for a server

// follow reads events from the response that open(headers, signal) promises, and opens it again whenever it ends. The
// event "end" of the server closes it for good, and so does a refusal that would only be repeated: onstate is told
// "refused" with the problem then, and "lost" with the problem of a server that answered and could not serve it now.
export function follow(open, handlers, onstate) {
  let closed = false;
  let attempt = null; // aborts the connection that is open
  let wake = null; // ends the pause before the next one
  let pause = shortestPause;
  let lastID = "";
  let hiding = 0;

  async function run() {
    while (!closed) {
      if (hiding === -1) {
        await new Promise((resolve) => { wake = resolve; });
        continue;
      }
      attempt = new AbortController();
      let why = null;
      try {
        const headers = { Accept: "text/event-stream" };
        if (lastID) headers["Last-Event-ID"] = lastID;
        const response = await open(headers, attempt.signal);
        onstate("open");
        await read(response, deliver);
      } catch (error) {
        if (closed) break;
        if (final(error)) {
          onstate("refused", error);
          break;
        }
        if (error.status) why = error;
      }
      if (closed) break;
      if (hiding === -1) continue;
      onstate("lost", why);
      await new Promise((resolve) => {
        wake = resolve;
        setTimeout(resolve, pause * (0.75 + Math.random() / 2));
      });
      pause = Math.min(pause * 2, longestPause);
    }
  }

  function deliver(event) {
    pause = shortestPause;
    if (event.id) lastID = event.id;
    if (closed) return;
    handlers[event.name]?.(parsed(event.data), event.id);
    if (event.name === "end") close();
  }

  // A page that is left may be kept for the way back, with its connections: six such pages would leave none for the next.
  function left() {
    clearTimeout(hiding);
    hiding = -1;
    attempt?.abort();
  }

  function seen() {
    if (document.hidden && hiding === -1) return;
    clearTimeout(hiding);
    if (document.hidden) {
      hiding = setTimeout(() => {
        hiding = -1;
        attempt?.abort();
      }, hiddenGrace);
    } else {
      hiding = 0;
      pause = shortestPause;
      wake?.();
    }
  }

  function close() {
    closed = true;
    clearTimeout(hiding);
    document.removeEventListener("visibilitychange", seen);
    removeEventListener("online", seen);
    removeEventListener("pagehide", left);
    removeEventListener("pageshow", seen);
    attempt?.abort();
    wake?.();
  }

  document.addEventListener("visibilitychange", seen);
  addEventListener("online", seen);
  addEventListener("pagehide", left);
  addEventListener("pageshow", seen);
  run();
  return { close };
}

function final(error) {
  return error.status >= 400 && error.status < 500 && error.status !== 429;
}

// read hands each event of a response to deliver, as it comes.
export async function read(response, deliver) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let event = { name: "message", data: [], id: "" };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (event.data.length) deliver({ ...event, data: event.data.join("\n") });
        event = { name: "message", data: [], id: "" };
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "event") event.name = text;
      else if (field === "data") event.data.push(text);
      else if (field === "id") event.id = text;
    }
  }
}

function parsed(data) {
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}
