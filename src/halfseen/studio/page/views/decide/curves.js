// The share of rows that are not decided, and the expected cost, by what not deciding costs.
import { html, useMemo } from "../../lib.js";
import { number, percent } from "../../format.js";
import { Chart } from "../../parts/chart.js";

export function Curves({ answer, reject }) {
  const { curve } = answer;
  const x = useMemo(() => curve.map((point) => point.reject), [curve]);
  const shares = useMemo(() => [{ x, y: curve.map((point) => point.rejected), name: "not decided", colour: "--c0" }], [curve]);
  const costs = useMemo(() => [{ x, y: curve.map((point) => point.risk), name: "cost", colour: "--c4" }], [curve]);
  const flat = curve.every((point) => point.risk === 0);
  const marks = reject === null ? [] : [{ x: reject, text: "now" }];
  const now = answer.counts[answer.counts.length - 1] / answer.rows;
  const said = reject === null ? "" : `; at ${number(reject)} it is`;
  return html`
    <h2>What not deciding costs</h2>
    <div class="beside">
      <${Chart} lines=${shares} marks=${marks} x="cost of not deciding" y="share not decided" rangeY=${[0, 1]} height=${230}
        label=${`Share of rows that are not decided, by what that costs${said && `${said} ${percent(now)}`}`} />
      <${Chart} lines=${costs} marks=${marks} x="cost of not deciding" y="expected cost per row" rangeY=${flat ? [0, 1] : undefined} height=${230}
        label=${`Expected cost per row, by what not deciding costs${said && `${said} ${number(answer.risk)}`}`} />
    </div>`;
}
