// A command in a sandbox, with live input, over a WebSocket. docs/api.md has the messages.
//
// Its life: open connects and starts the command, or takes one up; what comes is handed on until it has ended or leave is
// called. A lost connection is made anew and goes on at the byte where the last one ended, for every piece of output says
// where it lies. The command itself does not notice.

const shortestPause = 500; // milliseconds
const longestPause = 10_000;
const largestInput = 64 << 10; // bytes of one message
const mostPending = 2 << 20; // bytes that were handed on and are not drawn yet; above it the rest waits here
const fewPending = 256 << 10;
const mostWaiting = 2 << 20; // bytes; of more the oldest are skipped. A terminal's scrollback holds hardly as much
// A shell that nobody comes back to would keep its sandbox in use for ever. Bash ends itself when it waited so many
// seconds at its prompt.
const idle = { TMOUT: "3600" };

// attach begins. {url, id, from, size} say which command: without from it is started, as a login shell of the size {rows,
// cols}, and otherwise taken up at the offset from. tell has the functions that are called:
//   output(bytes, drawn)  some of what it wrote; drawn is called when that was shown
//   gap(n)                so many bytes are no longer kept
//   skipped(n)            so many bytes came faster than they could be drawn, and are not shown
//   state(word, text)     "connecting", "open", "lost" or "ended"
//   check()               promises that a connection may be tried, and may go to the login page
export function attach({ url, id, from, size }, tell) {
  const start = { type: "start", id, exec: { env: idle }, term: { ...size, term: "xterm-256color" } };
  let begun = from !== undefined;
  let at = from ?? 0; // the offset after the last byte that came
  let socket = null;
  let pause = shortestPause;
  let pending = 0;
  const rest = backlog(mostWaiting);
  let over = false;
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
      if (!over) again();
    };
  }

  function again() {
    if (over) return;
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
    if (offset > at && rest.waits()) rest.lose(offset - at);
    else if (offset > at) tell.gap(offset - at);
    if (offset < at) bytes = bytes.subarray(at - offset);
    at = Math.max(at, offset + message.byteLength - 9);
    if (!bytes.length) return;
    if (pending > mostPending || rest.waits()) rest.push(bytes);
    else hand(bytes);
  }

  function hand(bytes) {
    pending += bytes.length;
    tell.output(bytes, () => {
      pending -= bytes.length;
      if (pending < fewPending) catchUp();
    });
  }

  // catchUp hands on what waits: the whole of it, for it is not more than may be pending.
  function catchUp() {
    if (!rest.waits()) return;
    const { skipped, pieces } = rest.take();
    if (skipped) tell.skipped(skipped);
    pieces.forEach(hand);
  }

  function drop() {
    const last = socket;
    socket = null;
    last?.close();
  }

  function end(text) {
    over = true;
    catchUp();
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

// backlog keeps the newest of what came, at most size bytes, from the beginning of a line on where some had to go.
function backlog(size) {
  let pieces = [];
  let kept = 0;
  let skipped = 0;
  return {
    waits: () => kept + skipped > 0,
    push(bytes) {
      pieces.push(bytes);
      kept += bytes.length;
      while (kept > size) {
        kept -= pieces[0].length;
        skipped += pieces.shift().length;
      }
    },
    // lose counts bytes that nobody has any more among those that are skipped, and with them what came before.
    lose(n) {
      skipped += kept + n;
      pieces = [];
      kept = 0;
    },
    take() {
      const line = skipped && pieces.length ? pieces[0].indexOf(10) + 1 : 0; // before it may be half of a character or a sequence
      if (line) pieces[0] = pieces[0].subarray(line);
      const all = { skipped: skipped + line, pieces };
      pieces = [];
      kept = 0;
      skipped = 0;
      return all;
    },
  };
}
