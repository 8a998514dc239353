// Runs a line in a shell by the pages' own way to one, and keeps in window.followed what came. Nothing of it
// counts as drawn while followed.draws is false.
async (line, draws) => {
  const { attach } = await import("/assets/attachment.js");
  const url = new URL("/api/profiles/default/v1/sandboxes/work/attach", location.href);
  url.protocol = "ws:";
  const decoder = new TextDecoder();
  const waiting = [];
  const all = { draws, text: "", gaps: 0, skips: 0, skipped: 0, opened: 0, pending: 0, most: 0, ended: "" };
  const drawing = setInterval(() => {
    for (const [size, done] of all.draws ? waiting.splice(0) : []) {
      all.pending -= size;
      done();
    }
  }, 5);
  const shell = attach({ url, id: `test-${Math.random()}`, size: { rows: 24, cols: 80 } }, {
    check: async () => {},
    gap: (n) => { all.gaps += n; },
    skipped(n) {
      all.skips++;
      all.skipped += n;
    },
    output(bytes, done) {
      all.text += decoder.decode(bytes, { stream: true });
      all.pending += bytes.length;
      all.most = Math.max(all.most, all.pending);
      waiting.push([bytes.length, done]);
    },
    state(word, text) {
      if (word === "open" && ++all.opened === 1) all.type(`stty -echo; PS1=; ${line}; exit 7\n`);
      if (word !== "ended") return;
      clearInterval(drawing);
      all.ended = text;
    },
  });
  all.type = (text) => shell.input(new TextEncoder().encode(text));
  all.offset = shell.offset;
  window.followed = all;
  return true;
}
