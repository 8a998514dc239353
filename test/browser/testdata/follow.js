// Runs a line in a shell by the pages' own way to one, and keeps in window.followed what came. Drawing takes a moment for
// each piece, as many at a time as drawn says.
async (line, drawn) => {
  const { attach } = await import("/assets/attachment.js");
  const url = new URL("/api/profiles/default/v1/sandboxes/work/attach", location.href);
  url.protocol = "ws:";
  const decoder = new TextDecoder();
  const waiting = [];
  const all = { text: "", gaps: 0, opened: 0, pending: 0, most: 0, ended: "" };
  const drawing = setInterval(() => {
    for (const [size, done] of waiting.splice(0, drawn)) {
      all.pending -= size;
      done();
    }
  }, 5);
  const shell = attach({ url, id: `test-${Math.random()}`, size: { rows: 24, cols: 80 } }, {
    check: async () => {},
    gap: (n) => { all.gaps += n; },
    output(bytes, done) {
      all.text += decoder.decode(bytes, { stream: true });
      all.pending += bytes.length;
      all.most = Math.max(all.most, all.pending);
      waiting.push([bytes.length, done]);
    },
    state(word, text) {
      if (word === "open" && ++all.opened === 1) shell.input(new TextEncoder().encode(`stty -echo; PS1=; ${line}; exit 7\n`));
      if (word !== "ended") return;
      clearInterval(drawing);
      all.ended = text;
    },
  });
  window.followed = all;
  return true;
}
