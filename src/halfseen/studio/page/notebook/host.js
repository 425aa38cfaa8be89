// An element of a notebook as a stage: a shadow root, so that neither style sheet touches the other, dark where the notebook is.

const SUPPRESS = "data-lm-suppress-shortcuts"; // by which JupyterLab leaves keys alone

const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

/** How bright a colour is, from 0 to 1, in whatever form it is written; null where it can hardly be seen. */
function brightness(colour) {
  pen.clearRect(0, 0, 1, 1);
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
  return alpha < 128 ? null : (0.299 * red + 0.587 * green + 0.114 * blue) / 255;
}

/** Whether the page around an element is dark: its nearest background that can be seen is, or its text is bright. */
function isDark(element) {
  for (let at = element; at; at = at.parentElement || at.getRootNode().host) {
    const found = brightness(getComputedStyle(at).backgroundColor);
    if (found !== null) return found < 0.5;
  }
  return (brightness(getComputedStyle(document.body).color) ?? 0) > 0.5;
}

/** Follow the theme of the notebook; returns what ends this. */
function followTheme(host, heard) {
  const look = () => {
    const dark = isDark(host.parentElement || document.body);
    if (host.classList.contains("dark") === dark) return;
    host.classList.toggle("dark", dark);
    heard.forEach((hear) => hear());
  };
  const later = () => setTimeout(look, 50); // when its own style sheets have followed
  const observer = new MutationObserver(later);
  const how = { attributes: true, attributeFilter: ["class", "style", "data-theme", "data-jp-theme-light", "data-vscode-theme-kind"] };
  observer.observe(document.documentElement, how);
  observer.observe(document.body, how);
  look();
  later(); // the element may not be in the document yet
  return () => observer.disconnect();
}

/** {stage, root, end}: a stage in an element, the element in it to show the page in, and what takes it away. */
export function hostIn(el, style, again) {
  const host = document.createElement("div");
  host.setAttribute(SUPPRESS, "true");
  const shadow = host.attachShadow({ mode: "open" });
  const sheet = document.createElement("style");
  sheet.textContent = style;
  const root = document.createElement("div");
  root.className = "page";
  shadow.append(sheet, root);
  const away = (event) => event.stopPropagation(); // the notebook's keys are not those of the page
  for (const type of ["keydown", "keyup", "keypress"]) host.addEventListener(type, away);
  el.append(host);
  const heard = new Set();
  const endTheme = followTheme(host, heard);
  const stage = {
    root: shadow,
    keys: root,
    styled: root,
    isDark: () => host.classList.contains("dark"),
    onDark(hear) {
      heard.add(hear);
      return () => heard.delete(hear);
    },
    title() {},
    again,
  };
  const end = () => {
    endTheme();
    host.remove();
  };
  return { stage, root, end };
}
