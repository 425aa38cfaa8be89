// The only module that talks to the server: requests and events, over HTTP or through what a notebook puts in its place.
import { http } from "./http.js";

let transport = http;
const heard = new Set();
const STOP = "stop"; // waits for no other write
let written = Promise.resolve(); // the last write

/** An answer that is an error: `status` as in HTTP (0: no connection), `message` a sentence to show. */
export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * Replace HTTP by another transport: {request(method, path, body, signal) -> {status, answer}, listen(after, hear) -> stop,
 * download(path, name), lost}. Paths are as in HTTP, "/api/rows?start=0"; `lost` is what to say while there is no answer.
 */
export function setTransport(other) {
  transport = other;
}

/** What to say while the connection is lost. */
export const lostText = () => transport.lost;

/**
 * Call a function with each state of the session that an answer brings, and with null when a job began: the state is
 * another one then, and what began it waits until a promise that is returned is kept. Returns what ends this.
 */
export function onState(hear) {
  heard.add(hear);
  return () => heard.delete(hear);
}

/** "/api/rows?start=0" of "rows" and {start: 0}; values that are null, undefined or empty are left out. */
export function address(path, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === undefined || value === "") continue;
    query.set(name, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  const text = query.toString();
  return `/api/${path}${text ? `?${text}` : ""}`;
}

async function ask(method, path, body, signal) {
  let found;
  try {
    found = await transport.request(method, path, body, signal);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The studio does not answer. Is halfseen studio still running in its terminal?", 0);
  }
  const { status, answer } = found;
  if (status >= 400) throw new ApiError(answer?.error || `The studio answered with status ${status}.`, status);
  if (method === "POST" && answer !== null && typeof answer === "object") {
    if ("revision" in answer) heard.forEach((hear) => hear(answer));
    else if ("job" in answer) await Promise.all([...heard].map((hear) => hear(null))); // or a second press begins another
  }
  return answer;
}

/**
 * Writes go one after the other: of two at once the second may arrive first, and a fit miss what was just chosen for it.
 * A body that is a function is made when its turn comes, of what the writes before it left.
 */
function write(path, body) {
  const own = written.then(() => ask("POST", address(path), typeof body === "function" ? body() : body));
  written = own.catch(() => {});
  return own;
}

export const api = {
  /** get("rows", {start: 0, view: {...}}): the answer; objects among the values are sent as JSON. */
  get: (path, params, signal) => ask("GET", address(path, params), undefined, signal),
  /** post("spec", {changes}): the answer; where it is a state of the session, the whole page follows. */
  post: (path, body = {}, signal) => (signal || path === STOP ? ask("POST", address(path), body, signal) : write(path, body)),
  /** view("timeline", {...}): what a family's own view shows. */
  view: (name, given = {}, signal) => ask("POST", address("view"), { name, ask: given }, signal),
  /** Send a file in place of the data of the session. */
  upload: (file) => ask("POST", address("upload", { name: file.name }), file),
  /** download("rows", {version: 2}): save a file. */
  download: (what, params) => transport.download(address(`download/${what}`, params), what),
  /** listen(after, {event(type, data, id), open(), lost()}): events with an id above `after`; returns what ends this. */
  listen: (after, hear) => transport.listen(after, hear),
  /** Exchange the token of the printed address for a cookie. */
  enter: (token) => ask("POST", address("enter"), { token }),
};
