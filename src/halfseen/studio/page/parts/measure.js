// Hooks for pictures: the width of their box, colours of the style sheet, and whether motion is unwanted.
import { useEffect, useLayoutEffect, useState } from "../lib.js";
import { stage } from "../stage.js";

/** The width of an element in pixels, followed as it changes; `first` until it is measured. */
export function useWidth(ref, first = 480) {
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const measure = () => setWidth((last) => Math.floor(element.clientWidth) || last);
    measure();
    const observer = new ResizeObserver(() => requestAnimationFrame(measure)); // not within its own notice
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return width;
}

function useMedia(query) {
  const [matches, setMatches] = useState(matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const hear = () => setMatches(media.matches);
    media.addEventListener("change", hear);
    hear();
    return () => media.removeEventListener("change", hear);
  }, [query]);
  return matches;
}

/** Whether the page is dark. */
export function useDark() {
  const [dark, setDark] = useState(stage.isDark());
  useEffect(() => {
    const hear = () => setDark(stage.isDark());
    hear();
    return stage.onDark(hear);
  }, []);
  return dark;
}

/** Whether the user asked for less motion. */
export const useStill = () => useMedia("(prefers-reduced-motion: reduce)");

/** The value of a variable of the style sheet: colour("--ink"). */
export function colour(name, element = stage.styled) {
  return getComputedStyle(element).getPropertyValue(name).trim() || "#888";
}
