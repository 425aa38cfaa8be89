// What the modules of the page use of Preact and htm: everything is shown through html`...`, as text nodes.
import htm from "./vendor/htm.js";
import { h } from "./vendor/preact.js";

export { Component, Fragment, createContext, h, render } from "./vendor/preact.js";
export { useCallback, useContext, useEffect, useErrorBoundary, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact-hooks.js";

/** html`<p class=${name}>${text}</p>`: elements with values as text; <${Part} ...${props} /> for components. */
export const html = htm.bind(h);
