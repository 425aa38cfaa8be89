// The numbers of classes that were tried for the model that is shown: a picture of the criteria, and a table.
import { html, useMemo } from "../../lib.js";
import { count, number } from "../../format.js";
import { Chart } from "../../parts/chart.js";

const COLOURS = { bic: "--c0", aic: "--c4", icl: "--c2" };

/** Lines of the criteria, by the number of components; of several shapes of covariance the criterion of each. */
function linesOf(tried, criterion) {
  const shapes = [...new Set(tried.map((row) => row.covariance).filter(Boolean))];
  if (shapes.length > 1) {
    return shapes.map((shape, at) => {
      const own = tried.filter((row) => row.covariance === shape && row[criterion] !== null);
      return { x: own.map((row) => row.n_components), y: own.map((row) => row[criterion]), name: shape, colour: `--c${at % 8}`, dots: true };
    });
  }
  const there = Object.keys(COLOURS).filter((name) => tried.every((row) => typeof row[name] === "number"));
  const x = tried.map((row) => row.n_components);
  return there.map((name) => ({ x, y: tried.map((row) => row[name]), name: name.toUpperCase(), colour: COLOURS[name], dots: true, pale: name !== criterion, width: name === criterion ? 2.5 : 1.5 }));
}

function marksOf(tried) {
  const at = (name, text) => tried.filter((row) => row[name]).map((row) => ({ x: row.n_components, text }));
  return [...at("chosen", "shown"), ...at("preferred", "preferred")];
}

const agree = (row) => (row.n_starts > 1 ? `${number(row.n_reached_best)} of ${count(row.n_starts, "start")} reached it` : row.n_starts === 1 ? "one start" : "");

function Row({ row, columns, use, fit, busy, several, shape }) {
  const same = row.covariance === undefined || row.covariance === shape;
  return html`<tr class=${row.chosen ? "current" : undefined} aria-current=${row.chosen ? "true" : undefined}>
    <th scope="row">${row.n_components}</th>
    ${columns.map(({ name, text }) => html`<td key=${name} class=${name === "agree" || name === "covariance" ? "word" : undefined}>${text(row)}</td>`)}
    <td class="word">${row.chosen
      ? html`<strong>shown</strong>`
      : row.usable && same
        ? html`<button type="button" class="small" disabled=${busy} aria-label=${`Use ${row.n_components} ${several}`} onClick=${() => use(row.n_components)}>Use this number</button>`
        : same && html`<button type="button" class="small" disabled=${busy} aria-label=${`Fit ${row.n_components} ${several}`} onClick=${() => fit(row.n_components)}>Fit this number</button>`}
      ${row.preferred && html` <span class="of">preferred</span>`}</td>
  </tr>`;
}

export function Tried({ answer, state, use, fit, busy }) {
  const { tried, criterion } = answer;
  const [, several] = state.component;
  const lines = useMemo(() => linesOf(tried, criterion), [tried, criterion]);
  if (!tried.length) return null;
  const chosen = tried.find((row) => row.chosen);
  const sizes = new Set(tried.map((row) => row.n_components));
  const figure = (name) => ({ name, title: name.toUpperCase(), text: (row) => number(row[name], 1) });
  const columns = [
    ...(tried[0].covariance ? [{ name: "covariance", title: "covariance", text: (row) => row.covariance }] : []),
    { name: "loglik", title: "log-likelihood", text: (row) => number(row.loglik, 1) },
    { name: "n_parameters", title: "parameters", text: (row) => number(row.n_parameters) },
    ...["bic", "aic", "icl"].filter((name) => name in tried[0]).map(figure),
    ...("entropy" in tried[0] ? [{ name: "entropy", title: "entropy", text: (row) => number(row.entropy, 2) }] : []),
    ...("lr_p" in tried[0] ? [{ name: "lr_p", title: "p, one more", text: (row) => number(row.lr_p) }] : []),
    { name: "agree", title: "starts", text: agree },
  ];
  const told = chosen ? `${chosen.n_components} of version ${answer.version}` : "";
  return html`
    <h2>Numbers of ${several} that were tried</h2>
    ${sizes.size > 1 && html`
      <${Chart} lines=${lines} x=${`number of ${several}`} y="lower is better" height=${260} marks=${marksOf(tried)} rangeX=${[Math.min(...sizes) - 0.25, Math.max(...sizes) + 0.25]} whole
        label=${`Criteria by the number of ${several}; ${told} is shown`} />
      <ul class="legend">${lines.map((line) => html`<li key=${line.name}><span class=${`c k${line.colour.slice(3)}`}>${line.name}${line.name === criterion.toUpperCase() ? ", which chose" : ""}</span></li>`)}</ul>`}
    <div class="table"><div class="scroll" tabindex="0" role="region" aria-label=${`Numbers of ${several} that were tried`}>
      <table class="tried">
        <thead><tr><th scope="col">${several}</th>${columns.map(({ name, title }) => html`<th key=${name} scope="col" class=${name === "agree" || name === "covariance" ? "word" : undefined}>${title}</th>`)}<td></td></tr></thead>
        <tbody>${tried.map((row, at) => html`<${Row} key=${at} row=${row} columns=${columns} use=${use} fit=${fit} busy=${busy || Boolean(state.job)} several=${several} shape=${chosen?.covariance} />`)}</tbody>
      </table>
    </div></div>
    <p class="note">${"entropy" in tried[0] ? `Entropy is 1 where every row has its ${state.component[0]} for certain. ` : ""}A number whose best solution few starts reached may have a better one.</p>`;
}
