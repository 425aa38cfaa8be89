// Rows as points over two columns, in the colours of their classes, with outlines at one and two standard deviations.
import { html } from "../../lib.js";
import { useGet } from "../../ask.js";
import { count, number } from "../../format.js";
import { Select, Waiting } from "../../parts/field.js";
import { Scatter } from "../../parts/svg.js";

function drawnOf(found) {
  const classes = found.classes.map((name, k) => ({
    name,
    ellipses: found.outlines.filter((outline) => outline.class === k).flatMap((outline) => outline.paths),
  }));
  const centres = found.outlines.filter((outline) => !outline.paths.length).map((outline) => ({ at: outline.centre, k: outline.class, name: found.classes[outline.class] }));
  return { classes, centres };
}

function noteOf(found, several) {
  const spread = found.outlines.some((outline) => outline.paths.length);
  const parts = spread ? [`Outlines are at one and two standard deviations of the ${several}.`] : found.outlines.length ? ["Crosses are the means."] : [];
  if ([found.x, found.y].some((name) => found.levels[name])) parts.push("Points of a category lie apart at random.");
  const drawn = found.points.length + found.left_out;
  if (drawn < found.n_given) parts.push(`A random sample of ${number(drawn)} of ${number(found.n_given)} rows.`);
  if (found.left_out) parts.push(`${count(found.left_out, "row")} without one of the two values ${found.left_out === 1 ? "is" : "are"} not drawn.`);
  return parts.join(" ");
}

export function Points({ state, route, set, answer, one, several, of }) {
  const { x, y, row, class: own } = route.params;
  const found = useGet("scatter", { version: of.number, x, y }, state.spec.missing.join("\n"));
  const answered = found.answer;
  if (answered && answered.columns.length < 2) return null;
  const picks = of.shown && (answer.can_say_why || answer.labels);
  const pick = (chosen) => set({ row: String(chosen), class: own ?? "all", against: undefined });
  const choose = (changes) => {
    const next = { x: answered?.x, y: answered?.y, ...changes };
    set(next.x === next.y ? { x: answered.y, y: answered.x } : next);
  };
  return html`<section aria-label="Rows as points">
    <h2>Rows as points</h2>
    <${Waiting} found=${found} what="Drawing the rows" />
    ${found.error && html`<p><button type="button" onClick=${() => set({ x: undefined, y: undefined })}>The two columns that tell most</button></p>`}
    ${answered && html`
      <div class="form across">
        <${Select} label="Across" value=${answered.x} choices=${answered.columns} onChange=${(name) => choose({ x: name })} />
        <${Select} label="Up" value=${answered.y} choices=${answered.columns} onChange=${(name) => choose({ y: name })} />
      </div>
      <${Scatter} ...${drawnOf(answered)} points=${answered.points} names=${[answered.x, answered.y]} levels=${[answered.levels[answered.x], answered.levels[answered.y]]}
        label=${`Rows as points by ${answered.x} and ${answered.y}, in the colours of their ${several}`} onPick=${picks ? pick : undefined} picked=${row === undefined ? null : Number(row)} height=${400} />
      <p class="note">${noteOf(answered, several)}${picks ? ` A click on a point shows its row and why it has its ${one}.` : ""}</p>`}
  </section>`;
}
