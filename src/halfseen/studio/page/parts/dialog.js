// A dialog in front of the page: the browser's own, so that focus stays inside and Escape closes it.
import { html, useLayoutEffect, useRef } from "../lib.js";

export function Dialog({ open, close, title, children, wide }) {
  const ref = useRef(null);
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (open && dialog && !dialog.open) dialog.showModal();
    return () => dialog?.open && dialog.close();
  }, [open]);
  if (!open) return null;
  const pressed = (event) => event.target === ref.current && close(); // outside of its box
  return html`<dialog ref=${ref} class=${wide ? "wide" : ""} aria-label=${title} onClose=${close} onClick=${pressed}>
    <div class="inside">
      <div class="title"><h2>${title}</h2><button type="button" class="quiet" onClick=${close} aria-label="Close">×</button></div>
      ${children}
    </div>
  </dialog>`;
}
