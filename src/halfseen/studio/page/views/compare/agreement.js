// How the classes of two versions overlap: a cross table and the adjusted Rand index.
import { html } from "../../lib.js";
import { number, percent } from "../../format.js";
import { Table } from "../../parts/table.js";

function said({ rand, same }) {
  const strong = rand > 0.9 ? "nearly the same division" : rand > 0.65 ? "much alike" : rand > 0.3 ? "somewhat alike" : "hardly alike";
  return `Adjusted Rand index ${number(rand, 3)}: ${strong}${same === null ? "" : `; ${percent(same)} of the rows have the same name in both`}.`;
}

function Cross({ pair, state }) {
  const { a, b, rows, columns, counts } = pair;
  const named = (names) => names.map((text, k) => ({ text, k }));
  const shown = counts.map((line, i) => [named(rows)[i], ...line]);
  return html`<div>
    <h3>Versions ${a} and ${b}</h3>
    <p>${said(pair)}</p>
    <${Table} caption=${`Rows: version ${a}; columns: version ${b}.`} head=${["", ...named(columns)]} rows=${shown} label=${`Rows by their ${state.component[0]} in version ${a} and in version ${b}`} />
  </div>`;
}

export function Agreement({ answer, state }) {
  if (!answer.agreement.length) return null;
  return html`
    <h2>Do they agree?</h2>
    <p class="note">Rows counted by their ${state.component[0]} in one version and in the other. The index is 1 for the same division and about 0 for one by chance.</p>
    <div class="beside">${answer.agreement.map((pair) => html`<${Cross} key=${`${pair.a} ${pair.b}`} pair=${pair} state=${state} />`)}</div>`;
}
