// What the user is about to change, over a value that may change too. Both are settled while the page is drawn: an effect
// comes frames later where the machine is busy, and would undo what was typed meanwhile.
import { useRef, useState } from "../lib.js";

/** As useState, but `first` again whenever `of` is another value. */
export function useFor(of, first) {
  const held = useRef({ of, value: first });
  const [, draw] = useState(0);
  if (!Object.is(held.current.of, of)) held.current = { of, value: first };
  const set = (next) => {
    held.current.value = typeof next === "function" ? next(held.current.value) : next;
    draw((n) => n + 1);
  };
  return [held.current.value, set];
}

/**
 * What is typed over a value: {text, typing, type(text), settle(), forget()}. A text that is settled stays until the value
 * changes; one that is being typed stays whatever the value does.
 */
export function useDraft(value) {
  const [settled, keep] = useFor(value, null);
  const [typed, type] = useState(null);
  const end = (text) => {
    keep(text);
    type(null);
  };
  return { text: String(typed ?? settled ?? value ?? ""), typing: typed !== null, type, settle: () => end(typed ?? settled), forget: () => end(null) };
}
