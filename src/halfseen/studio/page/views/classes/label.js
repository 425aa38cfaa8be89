// The probability of a class in words, and the choice of a label for a row.
import { html } from "../../lib.js";
import { Choices } from "../../parts/field.js";

const BEFORE = "the class that the model gives"; // what no label means

/** .99999 is ">0.999", not 1: a label alone makes it 1. */
export function probability(value) {
  if (value === null || value === undefined) return "";
  if (value === 1) return "1";
  return value > 0.999 ? ">0.999" : value < 0.001 ? "<0.001" : value.toFixed(3);
}

export function LabelSelect({ row, names, value, label, ...rest }) {
  const choices = [{ value: "", text: "no label" }, ...names.map((name, k) => ({ value: String(k), text: name }))];
  return html`<${Choices} ...${rest} aria-label=${`Label of row ${row}`} title=${BEFORE} value=${value === undefined ? "" : String(names.indexOf(value))} choices=${choices} onChange=${(k) => label(row, k === "" ? null : names[Number(k)])} />`;
}
