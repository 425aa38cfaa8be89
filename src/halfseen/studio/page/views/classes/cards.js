// A card for each class: share, what marks it, and its rows; one form to name them all.
import { html, useLayoutEffect, useRef } from "../../lib.js";
import { useAct } from "../../ask.js";
import { href } from "../../route.js";
import { useFor } from "../../parts/draft.js";
import { Problem } from "../../parts/field.js";

const LONGEST = 200; // letters of a name

function Trait({ trait }) {
  return html`<div><dt>${trait.column}</dt><dd>${trait.way && html`<span class="side">${trait.way} </span>`}${trait.value} <span class="all">all ${trait.overall}</span></dd></div>`;
}

function What({ card }) {
  return html`
    <p class="share">${card.shown}<span class="of"> ${card.of}</span></p>
    <svg class="bar" aria-hidden="true" viewBox="0 0 100 2" preserveAspectRatio="none"><rect class="rest" width="100" height="2" /><rect width=${100 * card.share} height="2" /></svg>
    ${card.note && html`<p class="all">${card.note}</p>`}
    ${card.traits.length > 0 && html`<dl>${card.traits.map((trait, at) => html`<${Trait} key=${at} trait=${trait} />`)}</dl>`}
    ${!card.traits.length && !card.note && html`<p class="all">Like the whole table.</p>`}`;
}

function Card({ card, heading, link }) {
  return html`<article class=${`card k${card.k % 8}${link ? " opens" : ""}${link?.current ? " current" : ""}`}>
    ${heading}
    ${card.traits && html`<${What} card=${card} />`}
    ${link && html`<p class="open"><a href=${link.href} aria-current=${link.current ? "true" : undefined}>${link.text}</a></p>`}
  </article>`;
}

function NameField({ name, k, value, change, first, cancel }) {
  const field = useRef(null);
  useLayoutEffect(() => { // before the next key arrives: outside of a field letters are shortcuts
    if (!first) return;
    field.current?.focus();
    field.current?.select();
  }, []);
  const key = (event) => event.key === "Escape" && cancel();
  return html`<h4><input ref=${field} aria-label=${`Name of ${name}`} value=${value} maxlength=${LONGEST} autocomplete="off" spellcheck="false" autofocus=${first} onInput=${(event) => change(k, event.target.value)} onKeyDown=${key} /></h4>`;
}

export function Cards({ state, route, api, answer, one, several, of }) {
  const act = useAct();
  const [names, setNames] = useFor(of.number, null); // while they are edited
  const button = useRef(null);
  const left = useRef(false); // the form, whose focus goes back to the button
  const cards = answer.cards.length ? answer.cards : answer.names.map((name, k) => ({ name, k })); // without data: names
  const namesNow = of.version.names.length === cards.length ? of.version.names : cards.map((card) => card.name);
  const known = answer.version === of.number; // the cards are still those of another version: a form would be cut off
  const end = () => {
    left.current = true;
    setNames(null);
    act.clear();
  };
  useLayoutEffect(() => {
    if (!left.current || !button.current) return;
    left.current = false;
    button.current.focus();
  });
  const change = (k, name) => setNames((last) => last.map((old, at) => (at === k ? name : old)));
  const save = async (event) => {
    event.preventDefault();
    const changed = names.some((name, k) => name.trim() !== namesNow[k]);
    if (!changed || (await act.run(() => api.post("names", { names })))) end();
  };
  const linkOf = (k) => {
    if (!of.shown || !state.table || !answer.names.length || answer.names.length !== cards.length) return null;
    const current = route.params.class === String(k);
    const { class: own, row, ...rest } = route.params;
    return { current, href: href("classes", current ? rest : { ...rest, class: String(k) }), text: current ? "Close its rows" : `Rows of this ${one}` };
  };
  const edited = names && names.length === cards.length;
  const list = html`<div class="cards">${cards.map((card, k) => html`<${Card} key=${k} card=${card}
    heading=${edited ? html`<${NameField} name=${namesNow[k]} k=${k} value=${names[k]} change=${change} first=${k === 0} cancel=${end} />` : html`<h4>${namesNow[k]}</h4>`}
    link=${edited ? null : linkOf(k)} />`)}</div>`;
  if (edited) {
    return html`<form onSubmit=${save} aria-label=${`Names of the ${several}`}>
      ${list}
      <${Problem} error=${act.error} />
      <div class="buttons"><button type="submit" class="main" disabled=${act.busy}>Save the names</button><button type="button" onClick=${end}>Cancel</button></div>
    </form>`;
  }
  const { row, ...rest } = route.params;
  return html`
    ${list}
    <div class="buttons">
      ${of.shown && answer.can_rename && html`<button type="button" ref=${button} aria-disabled=${known ? undefined : "true"} onClick=${() => known && setNames(namesNow)}>Name the ${several}</button>`}
      ${of.shown && state.table && answer.names.length > 0 && route.params.class !== "all" && html`<a href=${href("classes", { ...rest, class: "all" })}>${answer.can_say_why ? "Rows of all, the least certain first" : `Rows of all ${several}`}</a>`}
    </div>`;
}
