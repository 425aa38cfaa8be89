// Keys that step, wherever the focus is but in a field, a grid of numbers or something that scrolls sideways.
import { useLayoutEffect, useRef } from "../../lib.js";
import { stage } from "../../stage.js";

function isTaken({ target, key }) {
  if (!target.closest) return false;
  if (target.closest("input, select, textarea, dialog, [contenteditable], [role=grid], [data-keys]")) return true;
  if ((key === " " || key === "Enter") && target.closest("button, a, summary")) return true;
  const scrolls = target.scrollWidth > target.clientWidth && target.matches(".scroll");
  return scrolls && key.startsWith("Arrow");
}

/** keys: {ArrowRight: (event) => ...}. */
export function useKeys(keys) {
  const now = useRef(keys);
  now.current = keys;
  useLayoutEffect(() => { // heard from the moment that they can be seen to have a meaning
    const press = (event) => {
      const act = now.current[event.key];
      if (!act || event.defaultPrevented || event.altKey || event.metaKey || event.ctrlKey || isTaken(event)) return;
      event.preventDefault();
      act(event);
    };
    const { keys: heard } = stage;
    heard.addEventListener("keydown", press);
    return () => heard.removeEventListener("keydown", press);
  }, []);
}
