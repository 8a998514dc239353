// The newest overview of the home, for every part of the page, over one stream. What was known last is kept while the
// connection is lost.

import { events } from "./api.js";

const readers = new Set();
const watchers = new Set();
let newest = null;
let connection = "opening";
let stream = null;

// subscribe calls f with the overview, now if there is one and then whenever it changes, until the function that it
// answers is called.
export function subscribe(f) {
  readers.add(f);
  start();
  if (newest) f(newest);
  return () => readers.delete(f);
}

// drawn calls draw with the overview, null as long as there is none, and with a function that draws again: now and whenever
// the overview changes, until the function that it answers is called.
export function drawn(draw) {
  let overview = null;
  const again = () => draw(overview, again);
  again();
  return subscribe((next) => {
    overview = next;
    again();
  });
}

// onConnection calls f with "opening", "open" or "lost", now and whenever that changes.
export function onConnection(f) {
  watchers.add(f);
  f(connection);
  return () => watchers.delete(f);
}

// amend puts a service as it was just answered in the place of what was known of it, so that nobody waits for the next
// overview to see what a button did.
export function amend(service) {
  if (!newest || !service?.name) return;
  const replaced = (old) => (old?.name === service.name ? service : old);
  spread({
    ...newest,
    services: newest.services?.map(replaced),
    profiles: newest.profiles?.map((profile) => ({ ...profile, gateway: replaced(profile.gateway) })),
  });
}

function spread(overview) {
  newest = overview;
  for (const f of [...readers]) f(overview);
}

function start() {
  stream ??= events("/api/events", { overview: spread }, (state) => {
    connection = state;
    for (const f of [...watchers]) f(state);
  });
}
