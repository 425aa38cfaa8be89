// The objective after each iteration, with the present one marked.
import { html, useRef } from "../../lib.js";
import { number } from "../../format.js";
import { extent, scale, ticks, tickText } from "../../parts/axis.js";
import { useWidth } from "../../parts/measure.js";

const [HEIGHT, LEFT, BOTTOM] = [150, 56, 40];

/** objective: {name, before, after}; at: the iteration; go(at): a point was chosen. */
export function Trace({ objective, at, go }) {
  const box = useRef(null);
  const width = useWidth(box);
  const values = [objective.before[0], ...objective.after];
  const last = values.length - 1;
  const [low, high] = extent(values, 0.08);
  const x = scale([0, Math.max(1, last)], [LEFT + 6, width - 14]);
  const y = scale([low, high], [HEIGHT - BOTTOM, 20]);
  const told = `${objective.name}: ${number(values[0], 4)} at the start, ${number(values[at], 4)} after iteration ${at}, ${number(values[last], 4)} after iteration ${last}`;
  return html`<figure class="trace">
    <div class="picture" ref=${box}>
      <svg width=${width} height=${HEIGHT} role="img" aria-label=${told}>
        <g class="axes">
          ${ticks(low, high, 3).map((value) => html`<g key=${value}><line class="grid" x1=${LEFT} x2=${width - 4} y1=${y(value)} y2=${y(value)} /><text x=${LEFT - 6} y=${y(value)} dy=".32em" text-anchor="end">${tickText(value)}</text></g>`)}
          ${ticks(0, Math.max(1, last), 6).filter(Number.isInteger).map((value) => html`<text key=${value} x=${x(value)} y=${HEIGHT - BOTTOM + 16} text-anchor="middle">${value}</text>`)}
          <text class="name" x="2" y="12">${objective.name}</text>
          <text class="name" x=${width - 14} y=${HEIGHT - 6} text-anchor="end">iteration</text>
        </g>
        <polyline class="curve" points=${values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" ")} />
        ${values.map((value, i) => html`<circle key=${i} class=${i === at ? "point now" : "point"} cx=${x(i)} cy=${y(value)} r=${i === at ? 6 : 3.5} onClick=${() => go(i)}><title>${i ? `after iteration ${i}` : "start"}: ${number(value, 6)}</title></circle>`)}
      </svg>
    </div>
  </figure>`;
}
