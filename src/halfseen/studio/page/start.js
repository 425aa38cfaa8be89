// The page in a document of its own: index.html starts it here.
import { mount } from "./app.js";
import { here } from "./route.js";

const root = document.getElementById("studio");
addEventListener("hashchange", () => here().startsWith("#token=") && location.reload()); // another address, in the same tab
root.replaceChildren();
mount(root);
