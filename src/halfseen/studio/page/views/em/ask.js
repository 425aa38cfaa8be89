// What the screen EM asks for: kept in the address, read from there, and made a request.

export const SHOWN = 10; // iterations asked for at first, and again each time their end is passed
export const MOST = 50; // iterations, as on the server

/** [0, 1, 2, 17] of "0-2, 17"; throws an Error in words. */
export function rowsOf(text) {
  const found = [];
  for (const part of text.split(/[,;\s]+/).filter(Boolean)) {
    const match = /^(\d{1,9})(?:(?:-|–|\.\.)(\d{1,9}))?$/.exec(part);
    if (!match) throw new Error(`Rows: “${part}” is neither a number nor a range such as 0-9.`);
    const [from, to] = [Number(match[1]), Number(match[2] ?? match[1])];
    if (to < from) throw new Error(`Rows: the range ${part} ends before it begins.`);
    if (to - from > 1000) throw new Error(`Rows: the range ${part} is too long to read number by number.`);
    for (let row = from; row <= to; row += 1) found.push(row);
  }
  return found.length ? found : null;
}

/** "0-2, 17" of [0, 1, 2, 17]. */
export function rowsText(rows) {
  const parts = [];
  for (const row of rows) {
    const last = parts[parts.length - 1];
    if (last && row === last[1] + 1) last[1] = row;
    else parts.push([row, row]);
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(", ");
}

function json(params, name) {
  if (!params[name]) return null;
  try {
    return JSON.parse(params[name]);
  } catch {
    throw new Error(`The address of this page is damaged: ${name}=${params[name].slice(0, 40)}`);
  }
}

const whole = (text) => (text === undefined || text === "" ? null : Number(text));

/** The iteration of the address; 0 is the start, before the first. */
export function iterationOf(params) {
  const at = Math.floor(Number(params.at));
  return Number.isFinite(at) ? Math.max(0, Math.min(MOST, at)) : 0;
}

/** {body} of POST /api/em, or {problem}: an Error in words. */
export function requestOf(params) {
  try {
    const chunks = Math.max(1, Math.ceil(iterationOf(params) / SHOWN));
    return {
      body: {
        rows: params.rows ? rowsOf(params.rows) : null,
        columns: json(params, "columns"),
        kinds: json(params, "kinds"),
        model: params.model || null,
        classes: whole(params.classes),
        assign: params.assign || null,
        covariance: params.covariance || null,
        start: json(params, "start"),
        shares: params.shares === "equal" ? "equal" : json(params, "shares"),
        seed: whole(params.seed),
        prior: params.prior || null,
        compare: params.compare === "1",
        n_iter: Math.min(MOST, SHOWN * chunks),
      },
    };
  } catch (problem) {
    return { body: null, problem };
  }
}

/** Changes of the address after which the start that was typed no longer fits are given without it. */
export function consistent(params, changes) {
  const anew = ["model", "classes", "covariance"].some((name) => name in changes);
  const found = { ...changes };
  if (anew && !("start" in changes)) found.start = null;
  if (anew && !("shares" in changes) && params.shares !== "equal") found.shares = null;
  if (!anew && ("columns" in changes || "kinds" in changes)) found.start = keptStart(params, changes);
  return found;
}

/** The start without columns that are no longer chosen, or have another kind. */
function keptStart(params, changes) {
  try {
    const start = json(params, "start");
    if (!start) return null;
    const columns = "columns" in changes ? JSON.parse(changes.columns || "null") : json(params, "columns");
    const [before, after] = [json(params, "kinds") || {}, "kinds" in changes ? JSON.parse(changes.kinds || "null") || {} : json(params, "kinds") || {}];
    const kept = Object.entries(start).filter(([name]) => (!columns || columns.includes(name)) && before[name] === after[name]);
    return kept.length ? JSON.stringify(Object.fromEntries(kept)) : null;
  } catch {
    return null;
  }
}
