// The columns of the file: kind, type, missing cells, distinct values and a sketch of each.
import { html, useState } from "../../lib.js";
import { number, percent } from "../../format.js";
import { KindChoice } from "../../parts/kind.js";
import { Sketch } from "../../parts/svg.js";

const AT_ONCE = 100; // columns shown before more are asked for
const MANY = 20; // columns from which on there is a field to find one
const OUT = "leave out";

function Kind({ column, kinds, ignored, choose }) {
  const automatic = column.given || ignored ? "automatic" : `automatic: ${column.left_out ? "left out" : column.kind}`;
  const choices = [{ value: "", text: automatic }, ...kinds, { value: OUT, text: OUT }];
  return html`<${KindChoice} name=${column.name} value=${ignored ? OUT : column.given ? column.kind : ""} choices=${choices} choose=${choose} />`;
}

function Missing({ missing, rows }) {
  const share = rows ? missing / rows : 0;
  return html`<span class="amount" title=${missing ? `${percent(share)} of the rows` : undefined}>
    ${missing > 0 && html`<svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="rest" width="100" height="6" /><rect width=${100 * share} height="6" /></svg>`}
    <span class="n">${number(missing)}</span>
  </span>`;
}

export function Columns({ columns, rows, kinds, ignore, change, failed }) {
  const [sought, setSought] = useState("");
  const [most, setMost] = useState(AT_ONCE);
  const choose = (name, kind) =>
    change((spec) => {
      const others = spec.ignore.filter((one) => one !== name);
      const ignored = kind === OUT ? { ignore: [...others, name] } : others.length < spec.ignore.length ? { ignore: others } : {};
      return { columns: { [name]: kind === OUT || kind === "" ? null : kind }, ...ignored };
    });
  const found = columns.filter((column) => column.name.toLowerCase().includes(sought.toLowerCase()));
  const refusals = failed ? failed.message : ""; // a refused choice goes back to what is
  return html`
    ${columns.length > MANY && html`<div class="tools"><input type="search" placeholder="Find a column" aria-label="Find a column" value=${sought} onInput=${(event) => setSought(event.target.value)} /></div>`}
    <div class="table"><div class="scroll" tabindex="0" role="region" aria-label="Columns">
      <table class="columns">
        <thead><tr><th scope="col" class="word">column</th><th scope="col" class="word">kind</th><th scope="col" class="word">values</th><th scope="col">missing</th><th scope="col">distinct</th><th scope="col" class="word">type</th></tr></thead>
        <tbody>${found.slice(0, most).map((column) => {
          const ignored = ignore.includes(column.name);
          return html`<tr key=${column.name} class=${column.left_out ? "out" : undefined}>
            <th scope="row" class="word" title=${column.name}>${column.name}</th>
            <td class="word"><${Kind} key=${refusals} column=${column} kinds=${kinds} ignored=${ignored} choose=${(kind) => choose(column.name, kind)} />
              ${column.left_out && !ignored && html`<span class="of">left out: ${column.left_out}</span>`}</td>
            <td class="word"><${Sketch} sketch=${column.sketch} name=${column.name} /></td>
            <td><${Missing} missing=${column.missing} rows=${rows} /></td>
            <td>${number(column.distinct)}</td>
            <td class="word">${column.type}</td>
          </tr>`;
        })}</tbody>
      </table>
    </div></div>
    ${found.length > most && html`<p><button type="button" class="quiet" onClick=${() => setMost(most + 5 * AT_ONCE)}>Show more: ${number(found.length - most)} columns are left</button></p>`}
    ${found.length === 0 && html`<p class="note">No column has ${sought} in its name.</p>`}
  `;
}
