// The newest lines of a log, numbered from the first that ever came.

const longest = 4000; // characters of a line that are shown
const controls = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[^[]|[\x00-\x08\x0b-\x1f\x7f]/g;

// lines keeps at most size of them.
export function lines(size) {
  let kept = [];
  let first = 0; // the number of kept[0]
  return {
    push(batch) {
      const newest = batch.length > size ? batch.slice(-size) : batch;
      first += batch.length - newest.length;
      kept.push(...newest.map(plain));
      // Forgetting half of the room at a time costs less than a line at a time.
      if (kept.length > 2 * size) {
        first += kept.length - size;
        kept = kept.slice(-size);
      }
    },
    // from answers the lines with this number and above that are kept, at most size.
    from(number) {
      return kept.slice(Math.max(0, number - first, kept.length - size));
    },
    next: () => first + kept.length,
    clear() {
      first = 0;
      kept = [];
    },
  };
}

// plain takes out what steers a terminal, and cuts a line that nobody reads to its end.
export function plain(line) {
  const text = line.replace(controls, "");
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

const stamp = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?Z?\s+(?:time=\S+ )?/;

// dated makes the moment that the supervisor puts before each line shorter, in the time of this place; the moment that
// our own programs say once more is left out.
export function dated(line) {
  const found = stamp.exec(line);
  if (!found) return line;
  const at = new Date(`${found[1]}T${found[2]}Z`);
  const two = (n) => String(n).padStart(2, "0");
  return `${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}  ${line.slice(found[0].length)}`;
}
