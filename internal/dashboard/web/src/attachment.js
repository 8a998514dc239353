// A command in a sandbox, with live input, over a WebSocket. docs/api.md has the messages.
//
// Its life: open connects and starts the command, or takes one up; what comes is handed on until it has ended or leave is
// called. A lost connection is made anew and goes on at the byte where the last one ended, for every piece of output says
// where it lies. The command itself does not notice.

const shortestPause = 500; // milliseconds
const longestPause = 10_000;
const largestInput = 64 << 10; // bytes of one message
const mostPending = 4 << 20; // bytes that were not drawn yet; above it the rest waits in the sandbox
const fewPending = 256 << 10;
const mostHeld = 100; // keys
// A shell that nobody comes back to would keep its sandbox in use for ever. Bash ends itself when it waited so many
// seconds at its prompt.
const idle = { TMOUT: "3600" };

// attach begins. {url, id, from, size} say which command: without from it is started, as a login shell of the size {rows,
// cols}, and otherwise taken up at the offset from. tell has the functions that are called:
//   output(bytes, drawn)  some of what it wrote; drawn is called when that was shown
//   gap(n)                so many bytes are no longer kept
//   state(word, text)     "connecting", "open", "lost" or "ended"
//   check()               promises that a connection may be tried, and may go to the login page
export function attach({ url, id, from, size }, tell) {
  const start = { type: "start", id, exec: { env: idle }, term: { ...size, term: "xterm-256color" } };
  let begun = from !== undefined;
  let at = from ?? 0; // the offset after the last byte that came
  let socket = null;
  let pause = shortestPause;
  let pending = 0;
  let over = false;
  let full = false; // the connection was given up until what came is drawn
  let held = null; // what is typed meanwhile, such as the key that stops a flood
  let waiting = 0;

  async function open() {
    waiting = 0;
    tell.state("connecting");
    try {
      await tell.check();
    } catch {
      return again();
    }
    if (over) return;
    const mine = new WebSocket(url);
    socket = mine;
    mine.binaryType = "arraybuffer";
    // The same start never begins a second command: it may be sent again when nobody knows whether it was received.
    mine.onopen = () => mine.send(JSON.stringify(begun ? { type: "follow", id, from: { stdout: at, stderr: 0 } } : start));
    mine.onmessage = ({ data }) => {
      if (mine !== socket) return;
      if (typeof data === "string") hear(JSON.parse(data));
      else take(new DataView(data));
    };
    mine.onclose = () => {
      if (mine !== socket) return;
      socket = null;
      if (!over && !full) again();
    };
  }

  function again() {
    if (over) return;
    held = null;
    tell.state("lost");
    waiting = setTimeout(open, pause * (0.75 + Math.random() / 2));
    pause = Math.min(pause * 2, longestPause);
  }

  // soon ends the pause before the next attempt: the network or the reader is back.
  function soon() {
    if (!waiting || document.hidden) return;
    clearTimeout(waiting);
    pause = shortestPause;
    open();
  }

  function hear(said) {
    if (said.type === "started") {
      begun = true;
      pause = shortestPause;
      resize(size);
      const typed = held ?? [];
      held = null;
      typed.forEach(input);
      tell.state("open");
    } else if (said.type === "exit") {
      end(said.result.message || `The shell ended with ${said.result.code}.`);
    } else if (said.type === "problem" && said.problem.status < 500 && said.problem.status !== 429) {
      end(said.problem.detail || "The shell cannot be had.");
    }
    // After anything else the other side closes, and it is tried again.
  }

  function take(message) {
    const offset = Number(message.getBigUint64(1));
    let bytes = new Uint8Array(message.buffer, message.byteOffset + 9);
    if (message.getUint8(0) !== 1) return; // a terminal has one stream
    if (offset > at) tell.gap(offset - at);
    if (offset < at) bytes = bytes.subarray(at - offset);
    at = Math.max(at, offset + message.byteLength - 9);
    if (!bytes.length) return;
    pending += bytes.length;
    tell.output(bytes, () => drawn(bytes.length));
    if (pending > mostPending && !full) {
      full = true;
      held = [];
      drop();
    }
  }

  function drawn(n) {
    pending -= n;
    if (full && pending < fewPending) {
      full = false;
      if (!over) open();
    }
  }

  function drop() {
    const last = socket;
    socket = null;
    last?.close();
  }

  function end(text) {
    over = true;
    leave();
    tell.state("ended", text);
  }

  function send(message) {
    if (socket?.readyState !== WebSocket.OPEN || !begun) return false;
    socket.send(message);
    return true;
  }

  // input sends bytes to the command. What is typed while the connection is lost is not sent later, when nobody looks.
  function input(bytes) {
    if (held) {
      if (held.length < mostHeld) held.push(bytes);
      return;
    }
    for (let i = 0; i < bytes.length; i += largestInput) {
      if (!send(bytes.subarray(i, i + largestInput))) return;
    }
  }

  function resize(next) {
    size = next;
    send(JSON.stringify({ type: "resize", term: size }));
  }

  function leave() {
    over = true;
    clearTimeout(waiting);
    removeEventListener("online", soon);
    document.removeEventListener("visibilitychange", soon);
    drop();
  }

  addEventListener("online", soon);
  document.addEventListener("visibilitychange", soon);
  open();
  return {
    input,
    resize,
    interrupt: () => send(JSON.stringify({ type: "interrupt" })),
    offset: () => at,
    leave,
  };
}
