// The requests of the pages. A session that has ended is renewed once and the request made again; where that fails, the
// login page takes over and comes back afterwards.

import { follow } from "./stream.js";

// Problem is a request that was answered with a refusal, or not at all (status 0).
export class Problem extends Error {
  constructor(message, status = 0, code = "") {
    super(message);
    this.name = "Problem";
    this.status = status;
    this.code = code;
  }
}

export const get = (path) => json("GET", path);
export const post = (path, body) => json("POST", path, body);
export const put = (path, body) => json("PUT", path, body);
export const del = (path) => json("DELETE", path);

// events follows a stream of server-sent events until close: handlers by the event's name get its data, parsed where it
// is JSON, and its id. A lost stream is opened again, each time after a longer pause, with the last id that was seen;
// onstate is told "open" and "lost", or "refused" with the Problem when trying again is of no use.
export function events(path, handlers, onstate = () => {}) {
  return follow((headers, signal) => request("GET", path, { headers, signal }), handlers, onstate);
}

// request makes a request with all that the door asks for, and answers the response if it is a good one. A body that is
// no string, bytes or file is sent as JSON.
export async function request(method, path, { body, headers = {}, signal } = {}) {
  let response = await send(method, path, body, headers, signal);
  if (response.status === 401 && await renew()) {
    response = await send(method, path, body, headers, signal);
  }
  if (response.status === 403 && changes(method) && await tokenChanged()) {
    response = await send(method, path, body, headers, signal);
  }
  if (response.status === 401) {
    location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function json(method, path, body) {
  const response = await request(method, path, { body });
  const text = await response.text();
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem("the answer cannot be read; load the page again", response.status);
  }
}

async function send(method, path, body, headers, signal) {
  const all = { Accept: "application/json", ...headers };
  let payload = body;
  if (body !== undefined && typeof body !== "string" && !(body instanceof Blob) && !ArrayBuffer.isView(body)) {
    payload = JSON.stringify(body);
    all["Content-Type"] = "application/json";
  }
  if (changes(method)) all["X-CSRF-Token"] = await token();
  try {
    return await fetch(path, { method, body: payload, headers: all, signal, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem("the dashboard does not answer; it is tried again");
  }
}

function changes(method) {
  return method !== "GET" && method !== "HEAD";
}

async function refusal(response) {
  let said = {};
  try {
    said = await response.json();
  } catch {
    // A proxy in between may answer with a page of its own.
  }
  const message = said.detail || said.error || said.title || `the dashboard answered with status ${response.status}`;
  return new Problem(message, response.status, said.code);
}

let visitor = null; // the promise of who is logged in, with the token that goes with it
let renewal = null; // the promise of a renewal under way: requests that fail together renew once

// me says who is logged in: {user, expires, csrf}.
export function me() {
  visitor ??= get("/api/auth/me").catch((error) => {
    visitor = null;
    throw error;
  });
  return visitor;
}

async function token() {
  return (await me())?.csrf ?? "";
}

async function tokenChanged() {
  const before = await token();
  visitor = null;
  return await token() !== before;
}

function renew() {
  renewal ??= fetch("/auth/refresh", { method: "POST", credentials: "same-origin" })
    .then((response) => {
      visitor = null;
      return response.ok;
    }, () => false)
    .finally(() => { renewal = null; });
  return renewal;
}
