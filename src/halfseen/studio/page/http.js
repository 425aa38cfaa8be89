// Requests by fetch, events by EventSource: how the page in a browser reaches its server.

const TYPES = ["progress", "draws", "note", "done", "failed", "state", "reset"];
const SHORTEST = 500; // milliseconds until the first attempt to connect again
const LONGEST = 8000;

async function request(method, path, body, signal) {
  const options = { method, signal, credentials: "same-origin", headers: { Accept: "application/json" } };
  if (body instanceof Blob) options.body = body;
  else if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const response = await fetch(path, options);
  const text = await response.text();
  try {
    return { status: response.status, answer: text ? JSON.parse(text) : null };
  } catch {
    return { status: response.ok ? 500 : response.status, answer: { error: "The studio's answer cannot be read." } };
  }
}

function listen(after, hear) {
  let last = after;
  let wait = SHORTEST;
  let source = null;
  let timer = 0;
  const connect = () => {
    source = new EventSource(`/api/events?after=${last}`);
    source.onopen = () => {
      wait = SHORTEST;
      hear.open();
    };
    source.onerror = () => {
      source.close();
      hear.lost();
      timer = setTimeout(connect, wait);
      wait = Math.min(2 * wait, LONGEST);
    };
    for (const type of TYPES) {
      source.addEventListener(type, (event) => {
        if (event.lastEventId !== "") last = Number(event.lastEventId);
        hear.event(type, JSON.parse(event.data || "{}"), last);
      });
    }
  };
  connect();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}

function download(path) {
  const link = document.createElement("a");
  link.href = path;
  link.download = "";
  document.body.append(link);
  link.click();
  link.remove();
}

const lost = "The connection to the studio is lost: trying again. If halfseen studio was ended in its terminal, start it again; a session that was saved can be reopened.";

export const http = { request, listen, download, lost };
