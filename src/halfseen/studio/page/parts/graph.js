// A network as a picture: a box for each variable with bars of its states, and edges from parents to children.
import { html } from "../lib.js";
import { percent } from "../format.js";

const [PAD, BAR] = [8, 10]; // inside a box; height of a bar

const short = (name, letters) => (name.length <= letters ? name : `${name.slice(0, letters - 1)}…`);

/** The path of an edge: curves between layers, straight lines past the boxes of a layer. */
export function edgePath(points) {
  let path = `M${points[0].join(" ")}`;
  for (let i = 1; i < points.length; i += 1) {
    const [[x0, y0], [x1, y1]] = [points[i - 1], points[i]];
    const bend = (y1 - y0) / 2;
    path += i % 2 ? `C${x0} ${y0 + bend} ${x1} ${y1 - bend} ${x1} ${y1}` : `L${x1} ${y1}`;
  }
  return path;
}

/** The states that have a row in a box: all, or the most probable ones and the others together. */
export function rowsOf({ states, rows }, shares) {
  const all = states.map((name, at) => ({ name, at, share: shares?.[at] ?? null }));
  if (all.length <= rows) return all;
  const chosen = [...all].sort((a, b) => (b.share ?? 0) - (a.share ?? 0)).slice(0, Math.max(0, rows - 1));
  const left = all.filter((one) => !chosen.includes(one));
  const others = { name: `${left.length} others`, at: null, share: left.reduce((sum, one) => sum + (one.share ?? 0), 0) };
  return rows ? [...chosen.sort((a, b) => a.at - b.at), others] : [];
}

/** What a box says, for screen readers. */
export function words(variable, shares, given) {
  if (given !== undefined) return `${variable.name}: given as ${given}`;
  const ranked = variable.states.map((name, at) => [shares?.[at] ?? 0, name]).sort((a, b) => b[0] - a[0]).slice(0, 4);
  return `${variable.name}${variable.hidden ? " (hidden)" : ""}: ${ranked.map(([share, name]) => `${name} ${percent(share)}`).join(", ")}`;
}

function Row({ variable, row, at, geometry, given, before, onState }) {
  const { x, width, label } = variable;
  const top = variable.y + geometry.head + geometry.line * at;
  const left = x + PAD + (label ? label + 8 : 0);
  const room = x + width - PAD - geometry.share - left;
  const set = row.at !== null && given === variable.states[row.at];
  const press = (event) => {
    event.stopPropagation();
    if (row.at !== null) onState(variable.name, variable.states[row.at]);
  };
  const told = row.at === null ? row.name : set ? `${row.name} is given: take it back` : `${row.name} ${percent(row.share)}: set as evidence`;
  return html`<g class=${`row${set ? " set" : ""}${row.at === null ? " rest" : ""}`} onClick=${press}>
    <title>${told}</title>
    <rect class="hit" x=${x + 3} y=${top} width=${width - 6} height=${geometry.line} rx="4" />
    <text x=${x + PAD} y=${top + geometry.line / 2} dy=".34em">${short(row.name, geometry.letters[1])}</text>
    <rect class="track" x=${left} y=${top + (geometry.line - BAR) / 2} width=${room} height=${BAR} rx="2" />
    <rect class="amount" x=${left} y=${top + (geometry.line - BAR) / 2} width=${room * Math.min(1, row.share ?? 0)} height=${BAR} rx="2" />
    ${before !== null && html`<line class="before" x1=${left + room * before} x2=${left + room * before} y1=${top + 2} y2=${top + geometry.line - 2} />`}
    <text class="share" x=${x + width - PAD} y=${top + geometry.line / 2} dy=".34em" text-anchor="end">${row.share === null ? "" : percent(row.share)}</text>
  </g>`;
}

function Box({ variable, shares, prior, given, chosen, geometry, onState, onOpen, onKey }) {
  const { name, x, y, width, height, hidden } = variable;
  const rows = rowsOf(variable, shares);
  const moved = prior && given === undefined;
  const kind = `node${hidden ? " hidden" : ""}${given !== undefined ? " given" : ""}${chosen ? " chosen" : ""}`;
  return html`<g class=${kind} tabindex="0" role="button" aria-label=${`${words(variable, shares, given)}. Enter opens its states.`} data-name=${name} onClick=${() => onOpen(name)} onKeyDown=${(event) => onKey(event, variable)}>
    <title>${name}${hidden ? " (hidden)" : ""}</title>
    <rect class="box" x=${x} y=${y} width=${width} height=${height} rx="7" />
    <text class="name" x=${x + width / 2} y=${y + geometry.head / 2 + 1} dy=".34em" text-anchor="middle">${short(name, geometry.letters[0])}</text>
    ${rows.map((row, at) => html`<${Row} key=${row.at ?? "rest"} variable=${variable} row=${row} at=${at} geometry=${geometry} given=${given} before=${moved && row.at !== null ? prior[row.at] : null} onState=${onState} />`)}
  </g>`;
}

/** The nearest other variable in the direction of an arrow key; null where there is none. */
function neighbour(variables, from, key) {
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  if (!way) return null;
  const centre = (one) => [one.x + one.width / 2, one.y + one.height / 2];
  const [x, y] = centre(from);
  const far = (one) => {
    const [dx, dy] = [centre(one)[0] - x, centre(one)[1] - y];
    const along = dx * way[0] + dy * way[1];
    const beside = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
    return along > 1 ? along + 2 * beside : Infinity;
  };
  const best = variables.reduce((least, one) => (far(one) < far(least) ? one : least), from);
  return far(best) < Infinity ? best : null;
}

/**
 * graph: as the view `graph` answers. marginals, prior: name -> shares of its states. evidence: name -> state. chosen: name
 * of the variable whose states are open. zoom: size in the page. onState(name, state): a state was pressed; onOpen(name).
 */
export function Graph({ graph, marginals, prior, evidence, chosen, zoom, onState, onOpen }) {
  const [PADX, PADY] = [6, 6];
  const [width, height] = [graph.width + 2 * PADX, graph.height + 2 * PADY];
  const key = (event, variable) => {
    const next = neighbour(graph.variables, variable, event.key);
    if (next) {
      event.preventDefault();
      [...event.currentTarget.parentNode.querySelectorAll(".node")].find((node) => node.dataset.name === next.name)?.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      onOpen(variable.name, true);
    }
  };
  const label = `Network of ${graph.variables.length} variables and ${graph.edges.length} edges. Arrow keys move between variables.`;
  return html`<svg class="graph" data-keys="true" role="group" aria-label=${label} viewBox=${`${-PADX} ${-PADY} ${width} ${height}`} width=${width * zoom} height=${height * zoom}>
    <defs><marker id="network-tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path class="tip" d="M0 0.5 8 4 0 7.5z" /></marker></defs>
    <g aria-hidden="true">
      ${graph.edges.map((edge) => html`<path key=${JSON.stringify([edge.from, edge.to])} class=${`edge${edge.from === chosen || edge.to === chosen ? " near" : ""}`} d=${edgePath(edge.points)} marker-end="url(#network-tip)"><title>${edge.from} → ${edge.to}</title></path>`)}
    </g>
    ${graph.variables.map((variable) => html`<${Box} key=${variable.name} variable=${variable} shares=${marginals?.[variable.name]} prior=${prior?.[variable.name]} given=${Object.hasOwn(evidence, variable.name) ? evidence[variable.name] : undefined} chosen=${variable.name === chosen} geometry=${graph} onState=${onState} onOpen=${onOpen} onKey=${key} />`)}
  </svg>`;
}
