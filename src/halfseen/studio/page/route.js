// Where the user is: the screen and its settings, kept in the address ("#/fit?classes=2..6"), so that Back and reload work.
import { useLayoutEffect, useState } from "./lib.js";

/** {screen, params} of "#/fit?classes=2..6". */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  return { screen: safe(path), params: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a screen, for links: href("fit", {classes: "2..6"}) is "#/fit?classes=2..6". */
export function href(screen, params = {}) {
  const kept = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = kept.map(([name, value]) => `${encodeURIComponent(name)}=${readable(value)}`).join("&");
  return `#/${encodeURIComponent(screen)}${query ? `?${query}` : ""}`;
}

function readable(value) {
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return encodeURIComponent(text).replace(/%2C/g, ",").replace(/%3A/g, ":").replace(/%20/g, "+");
}

function safe(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

const browser = {
  read: () => location.hash,
  write(hash, replace) {
    if (hash === location.hash) return;
    if (replace) history.replaceState(null, "", hash);
    else history.pushState(null, "", hash);
    dispatchEvent(new Event("hashchange"));
  },
  listen(hear) {
    addEventListener("hashchange", hear);
    addEventListener("popstate", hear);
    return () => {
      removeEventListener("hashchange", hear);
      removeEventListener("popstate", hear);
    };
  },
};

/** A place that is kept in memory, for a page inside another page. */
export function inMemory(hash = "") {
  const heard = new Set();
  return {
    read: () => hash,
    write(other) {
      hash = other;
      heard.forEach((hear) => hear());
    },
    listen(hear) {
      heard.add(hear);
      return () => heard.delete(hear);
    },
  };
}

let place = browser;

/** Keep the place elsewhere than in the address of the browser. */
export function setPlace(other) {
  place = other;
}

/** The hash as it is now. */
export const here = () => place.read();

/** go("fit", {classes: "2..6"}): show a screen; {replace: true} leaves no step for Back. */
export function go(screen, params = {}, { replace = false } = {}) {
  place.write(href(screen, params), replace);
}

/** The route, current at every render. */
export function useRoute() {
  const [hash, setHash] = useState(here());
  useLayoutEffect(() => {
    const stop = place.listen(() => setHash(here()));
    setHash(here());
    return stop;
  }, []);
  return parse(hash);
}
