// A pair of sentences in two rows, with lines between the words that are linked; a word that is pointed at shows its own.
import { html, useLayoutEffect, useRef, useState } from "../lib.js";
import { percent } from "../format.js";

const HEIGHT = 58; // between the rows
const [THIN, THICK] = [0.8, 4.2]; // of lines with probability 0 and 1

/** The links of a word: [[word of the other side, probability, whether it is one of the best]], the surest first. */
function linksOf(pair, side, at) {
  const [own, other] = side === "source" ? [0, 1] : [1, 0];
  const words = side === "source" ? pair.target : pair.source;
  const found = pair.links.filter((link) => link[own] === at).map((link) => [words[link[other]], link[2], link[3]]);
  return found.sort((a, b) => b[1] - a[1]);
}

function told(pair, side, at) {
  const links = linksOf(pair, side, at).map(([word, share, best]) => `${word} ${percent(share)}${best ? "" : " (not in the alignment)"}`);
  const unseen = pair.unseen[side].includes(at) ? "; not seen when fitting" : "";
  return `${pair[side][at]}: ${links.length ? links.join(", ") : "no link"}${unseen}`;
}

function Row({ pair, side, active, point, open }) {
  const near = (at) => active && (active.side === side ? active.at === at : pair.links.some((link) => link[side === "source" ? 0 : 1] === at && link[side === "source" ? 1 : 0] === active.at));
  return html`<div class="tokens" role="group" aria-label=${side === "source" ? "Source words" : "Target words"}>
    ${pair[side].map((word, at) => {
      const own = `token${near(at) ? " near" : ""}${pair.unseen[side].includes(at) ? " unseen-word" : ""}`;
      const here = { side, at };
      return html`<button type="button" key=${at} class=${own} data-side=${side} data-at=${at} aria-label=${told(pair, side, at)} onPointerEnter=${() => point(here)} onPointerLeave=${() => point(null)} onFocus=${() => point(here)} onBlur=${() => point(null)} onClick=${() => open(word)}>${word}</button>`;
    })}
  </div>`;
}

/** The middles of all words, by side, in pixels of the box around both rows. */
function useMiddles(box, pair) {
  const [middles, setMiddles] = useState(null);
  useLayoutEffect(() => {
    const element = box.current;
    const measure = () => {
      const of = (side) => [...element.querySelectorAll(`[data-side=${side}]`)].map((token) => token.offsetLeft + token.offsetWidth / 2);
      setMiddles({ source: of("source"), target: of("target"), width: element.scrollWidth });
    };
    measure();
    document.fonts?.ready.then(() => box.current && measure());
    const observer = new ResizeObserver(() => requestAnimationFrame(() => box.current && measure()));
    observer.observe(element);
    return () => observer.disconnect();
  }, [pair]);
  return middles;
}

function path(from, to) {
  return `M${from} 0C${from} ${HEIGHT / 2} ${to} ${HEIGHT / 2} ${to} ${HEIGHT}`;
}

/** pair: as the view `pairs` answers, with links. open(word): a word was pressed. */
export function Pair({ pair, open }) {
  const box = useRef(null);
  const [active, point] = useState(null);
  const middles = useMiddles(box, pair);
  const there = middles && middles.source.length === pair.source.length && middles.target.length === pair.target.length;
  const isNear = ([i, j]) => active && (active.side === "source" ? active.at === i : active.at === j);
  const line = (link) => {
    const [i, j, share, best] = link;
    const own = `link${best ? " best" : ""}${active ? (isNear(link) ? " near" : " far") : ""}`;
    return html`<path key=${`${i} ${j}`} class=${own} d=${path(middles.source[i], middles.target[j])} stroke-width=${THIN + (THICK - THIN) * share} />`;
  };
  const best = pair.links.filter((link) => link[3]).length;
  return html`<div class="pair-of">
    <div class="scroll" tabindex="0" role="region" aria-label=${`Pair ${pair.number + 1}`}>
      <div class="rows-of" ref=${box}>
        <${Row} pair=${pair} side="source" active=${active} point=${point} open=${open} />
        <svg class="links" height=${HEIGHT} width=${middles?.width ?? 10} role="img" aria-label=${`${best} links between ${pair.source.length} and ${pair.target.length} words`}>${there && pair.links.map(line)}</svg>
        <${Row} pair=${pair} side="target" active=${active} point=${point} open=${open} />
      </div>
    </div>
    <p class="readout" aria-hidden="true">${active ? told(pair, active.side, active.at) : ""}</p>
  </div>`;
}
