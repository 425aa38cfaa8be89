// Where the page is: a document of its own, or an element of another page, such as a notebook.

const media = matchMedia("(prefers-color-scheme: dark)");

const own = {
  root: document, // in which elements have ids
  keys: window, // what hears the keys of the page
  styled: document.documentElement, // has the variables of the style sheet
  isDark: () => media.matches,
  onDark(hear) {
    media.addEventListener("change", hear);
    return () => media.removeEventListener("change", hear);
  },
  title(text) {
    document.title = text;
  },
  again: () => location.reload(),
};

/** The present stage. */
export let stage = own;

/** Show the page elsewhere than in a document of its own. */
export function setStage(other) {
  stage = other;
}

/** The element with an id. */
export const find = (id) => stage.root.getElementById(id);
