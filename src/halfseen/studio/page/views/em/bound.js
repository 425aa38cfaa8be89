// Log-likelihood and lower bound along the line from the present parameters to those after the M-step.
import { html, useRef } from "../../lib.js";
import { number } from "../../format.js";
import { extent, scale, ticks, tickText } from "../../parts/axis.js";
import { Waiting } from "../../parts/field.js";
import { useWidth } from "../../parts/measure.js";

const [LEFT, BOTTOM, DIGITS] = [66, 40, 5];

/** Runs of points where a curve is finite, as one path. */
function path(places, values, x, y) {
  let open = false;
  return places
    .map((place, i) => {
      if (values[i] === null) {
        open = false;
        return "";
      }
      const step = `${open ? "L" : "M"}${x(place).toFixed(1)} ${y(values[i]).toFixed(1)}`;
      open = true;
      return step;
    })
    .join("");
}

/** The picture in words. */
export function boundText(line) {
  const { name, bound_name: lower, touch, end } = line;
  const lands = line.is_step ? "At the parameters after the M-step, where the bound is highest," : "At the other end";
  return `At the parameters before the iteration the ${lower} touches the ${name}: both are ${number(touch.objective, DIGITS)}. ${lands} the ${lower} is ${number(end.bound, DIGITS)} and the ${name} ${number(end.objective, DIGITS)}.`;
}

function Drawing({ line, height }) {
  const box = useRef(null);
  const width = useWidth(box);
  const { places, objective, bound, touch, end } = line;
  const rangeX = extent(places, 0.03);
  const rangeY = extent([...objective, ...bound], 0.1);
  const x = scale(rangeX, [LEFT, width - 10]);
  const y = scale(rangeY, [height - BOTTOM, 26]);
  const floor = height - BOTTOM;
  const narrow = width < 420;
  return html`<div class="picture" ref=${box}>
    <svg class="bound" width=${width} height=${height} role="img" aria-label=${boundText(line)}>
      <g class="axes">
        ${ticks(...rangeY, 5).map((at) => html`<g key=${at}><line class="grid" x1=${LEFT} x2=${width - 4} y1=${y(at)} y2=${y(at)} /><text x=${LEFT - 6} y=${y(at)} dy=".32em" text-anchor="end">${tickText(at)}</text></g>`)}
        <line class="floor" x1=${LEFT} x2=${width - 4} y1=${floor} y2=${floor} />
        ${[0, 1].map((place) => html`<line key=${place} class="grid place" x1=${x(place)} x2=${x(place)} y1="26" y2=${floor} />`)}
        <text x=${x(0)} y=${floor + 17} text-anchor="middle">${narrow ? "before" : "parameters before"}</text>
        <text x=${x(1)} y=${floor + 17} text-anchor="middle">${line.is_step ? (narrow ? "M-step" : "after the M-step") : "other end"}</text>
        <text class="name" x="2" y="12">${line.name}, sum over rows</text>
      </g>
      <path class="curve" d=${path(places, objective, x, y)} />
      <path class="curve lower" d=${path(places, bound, x, y)} />
      ${end.bound !== null && end.objective !== null && html`<line class="gap" x1=${x(1)} x2=${x(1)} y1=${y(end.bound)} y2=${y(end.objective)} />`}
      <circle class="touch" cx=${x(0)} cy=${y(touch.objective)} r="6" />
      ${end.bound !== null && html`<circle class="lands" cx=${x(1)} cy=${y(end.bound)} r="6" />`}
      ${end.objective !== null && html`<circle class="reaches" cx=${x(1)} cy=${y(end.objective)} r="5" />`}
    </svg>
  </div>`;
}

/** found: the answer to POST /api/bound, as of usePost. height: of the picture, in pixels. */
export function Bound({ found, height = 300 }) {
  if (!found.answer) return html`<${Waiting} found=${found} what="Computing the bound" />`;
  const line = found.answer;
  if (line.problem) return html`<p class="note">${line.problem}</p>`;
  return html`<figure class="bound-figure">
    <ul class="legend"><li><svg width="28" height="10" aria-hidden="true"><path class="curve" d="M1 5H27" /></svg> ${line.name}</li><li><svg width="28" height="10" aria-hidden="true"><path class="curve lower" d="M1 5H27" /></svg> ${line.bound_name}</li></ul>
    <${Drawing} line=${line} height=${height} />
    <figcaption>${boundText(line)}</figcaption>
  </figure>`;
}
