// The whole of a sequence as a strip with a window that is dragged, stretched, and moved with the keyboard.
import { html, useRef } from "../lib.js";
import { scale } from "./axis.js";
import { useWidth } from "./measure.js";

const HANDLE = 9; // pixels beside an edge of the window that stretch it
const MOVED = 4; // pixels from which a press is a drag
const STEP = 0.1; // of the window, for a press of an arrow
export const LEAST = 8; // steps in a window

/** A window of whole steps inside the sequence, as long as it was where it can be. */
export function within([from, to], length) {
  const size = Math.min(length, Math.max(Math.min(LEAST, length), Math.round(to - from)));
  const first = Math.round(Math.min(Math.max(0, from), length - size));
  return [first, first + size];
}

/** The window made larger (factor above 1) or smaller around its middle. */
export function zoomed([from, to], factor, length) {
  const half = ((to - from) * factor) / 2;
  const middle = (from + to) / 2;
  return within([middle - half, middle + half], length);
}

/** The window moved by a share of its size. */
export function moved([from, to], share, length) {
  const by = Math.sign(share) * Math.max(1, Math.round(Math.abs(share) * (to - from)));
  return within([from + by, to + by], length);
}

/** The window that a key asks for; null where it asks for none. */
export function keyed(key, window, length, shift = false) {
  const far = shift ? 1 : STEP;
  const size = window[1] - window[0];
  const answers = {
    ArrowLeft: () => moved(window, -far, length),
    ArrowRight: () => moved(window, far, length),
    PageUp: () => moved(window, -1, length),
    PageDown: () => moved(window, 1, length),
    Home: () => within([0, size], length),
    End: () => within([length - size, length], length),
    "+": () => zoomed(window, 1 / 1.5, length),
    "=": () => zoomed(window, 1 / 1.5, length),
    "-": () => zoomed(window, 1.5, length),
    0: () => [0, length],
  };
  return answers[key] ? answers[key]() : null;
}

function grip(at, [left, right], whole) {
  if (Math.abs(at - left) <= HANDLE && (at < left + HANDLE / 2 || right - left > 3 * HANDLE)) return "left";
  if (Math.abs(at - right) <= HANDLE) return "right";
  return at > left && at < right && !whole ? "inside" : "new";
}

function dragged(grip, at, start, window, length) {
  if (grip === "inside") return within([window[0] + at - start, window[1] + at - start], length);
  const fixed = grip === "left" ? window[1] : grip === "right" ? window[0] : start;
  return within([Math.min(fixed, at), Math.max(fixed, at)], length);
}

/**
 * length: steps. window: [from, to). stepAt: maps a share of the width (0 to 1) to a step, shareAt back. words: the
 * window in words. onMove(window) while it is dragged, onDone(window) at the end. draw(x, width): what is behind it.
 */
export function Brush({ length, window: own, stepAt, shareAt, words, onMove, onDone, draw, left = 0, right = 0, height = 54 }) {
  const box = useRef(null);
  const drag = useRef(null);
  const width = useWidth(box);
  const x = scale([0, 1], [left, Math.max(left + 1, width - right)]);
  const sides = own.map((step) => x(shareAt(step)));
  const place = (event) => event.clientX - box.current.getBoundingClientRect().left;
  const step = (at) => stepAt(Math.min(1, Math.max(0, x.invert(at))));
  const press = (event) => {
    if (event.button) return;
    const at = place(event);
    box.current.setPointerCapture(event.pointerId);
    drag.current = { grip: grip(at, sides, own[1] - own[0] >= length), at, start: step(at), window: own, last: null };
  };
  const pull = (event) => {
    const now = drag.current;
    if (!now) {
      box.current.style.cursor = { left: "ew-resize", right: "ew-resize", inside: "grab", new: "crosshair" }[grip(place(event), sides, own[1] - own[0] >= length)];
      return;
    }
    const at = place(event);
    if (!now.last && Math.abs(at - now.at) < MOVED) return;
    now.last = dragged(now.grip, step(at), now.start, now.window, length);
    onMove(now.last);
  };
  const release = () => {
    const now = drag.current;
    drag.current = null;
    if (now?.last) onDone(now.last);
    else if (now?.grip === "new") onDone(moved([now.start - (own[1] - own[0]) / 2, now.start + (own[1] - own[0]) / 2], 0, length));
  };
  const stop = () => {
    drag.current = null;
    onDone(own);
  };
  const key = (event) => {
    const found = event.ctrlKey || event.metaKey || event.altKey ? null : keyed(event.key, own, length, event.shiftKey);
    if (!found) return;
    event.preventDefault();
    onDone(found);
  };
  const all = { role: "slider", tabindex: "0", "aria-label": "Part of the sequence that is shown", "aria-valuemin": 0, "aria-valuemax": length, "aria-valuenow": own[0], "aria-valuetext": words };
  return html`<div class="brush" ref=${box} data-keys="true" ...${all} onKeyDown=${key} onPointerDown=${press} onPointerMove=${pull} onPointerUp=${release} onPointerCancel=${stop} onDblClick=${() => onDone([0, length])}>
    <svg width=${width} height=${height} aria-hidden="true">
      ${draw(x, height)}
      <rect class="veil" x=${left} y="0" width=${Math.max(0, sides[0] - left)} height=${height} />
      <rect class="veil" x=${sides[1]} y="0" width=${Math.max(0, width - right - sides[1])} height=${height} />
      <rect class="window" x=${sides[0]} y="1" width=${Math.max(2, sides[1] - sides[0])} height=${height - 2} rx="3" />
      ${sides.map((side, i) => html`<rect key=${i} class="handle" x=${side - 3} y=${height / 2 - 9} width="6" height="18" rx="3" />`)}
    </svg>
  </div>`;
}
