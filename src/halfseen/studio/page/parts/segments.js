// Words and units of an utterance over time: boxes, pale where their place is uncertain.
import { html } from "../lib.js";
import { number, percent } from "../format.js";
import { ticks } from "./axis.js";

const [TOP, ROW, GAP, AXIS] = [4, 34, 6, 24];
const WORD = 62; // pixels of a word, on average
const LETTER = 7.4;

/** A time in words: seconds, or frames. */
export const timeOf = (time, seconds) => (seconds ? `${time.toFixed(2)} s` : number(time));

/** What is said of a word or unit. */
export function segmentWords(part, seconds) {
  const sure = Math.max(part.start_sd, part.end_sd);
  return `${part.name}: ${timeOf(part.start, seconds)} to ${timeOf(part.end, seconds)}${sure > 0 ? ` (± ${seconds ? `${sure.toFixed(3)} s` : number(sure)})` : ""}, confidence ${percent(part.confidence)}`;
}

function Row({ parts, level, top, x, seconds, active, point }) {
  return parts.map((part, at) => {
    const [left, right] = [x(part.start), x(part.end)];
    const room = Math.floor((right - left - 4) / LETTER);
    const own = active && (active.part === part || (level === "unit" && active.level === "word" && active.part.word === part.word && part.word >= 0));
    return html`<g key=${`${level} ${at}`} class=${`segment ${level}${own ? " near" : ""}`} tabindex="0" role="img" aria-label=${segmentWords(part, seconds)} onPointerEnter=${() => point({ part, level })} onPointerLeave=${() => point(null)} onFocus=${() => point({ part, level })} onBlur=${() => point(null)}>
      <rect x=${left + 0.5} y=${top} width=${Math.max(1, right - left - 1)} height=${ROW} rx="3" fill-opacity=${0.1 + 0.45 * part.confidence} />
      ${room > 0 && html`<text x=${(left + right) / 2} y=${top + ROW / 2} dy=".34em" text-anchor="middle">${part.name.length <= room ? part.name : room > 2 ? `${part.name.slice(0, room - 1)}…` : ""}</text>`}
    </g>`;
  });
}

/** found: as the view `utterance` answers, with words and units. width: pixels there are; the picture may be wider. */
export function Segments({ found, width, active, point }) {
  const { words, units, seconds } = found;
  const from = Math.min(0, words[0]?.start ?? 0, units[0]?.start ?? 0);
  const end = Math.max(found.duration, units[units.length - 1]?.end ?? 0);
  const wide = Math.max(width, WORD * words.length);
  const x = (time) => 8 + ((time - from) / (end - from || 1)) * (wide - 16);
  const height = TOP + 2 * ROW + GAP + AXIS;
  const floor = height - AXIS + 4;
  return html`<svg class="segments" width=${wide} height=${height} role="group" aria-label=${`${words.length} words and ${units.length} units over time`}>
    <${Row} parts=${words} level="word" top=${TOP} x=${x} seconds=${seconds} active=${active} point=${point} />
    <${Row} parts=${units} level="unit" top=${TOP + ROW + GAP} x=${x} seconds=${seconds} active=${active} point=${point} />
    <g class="axes" aria-hidden="true"><line class="floor" x1="8" x2=${wide - 8} y1=${floor} y2=${floor} />
      ${ticks(from, end, wide / 90).map((at) => html`<text key=${at} x=${x(at)} y=${floor + 15} text-anchor=${at === from ? "start" : "middle"}>${seconds ? `${at} s` : number(at)}</text>`)}
    </g>
  </svg>`;
}
