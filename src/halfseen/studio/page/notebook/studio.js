// The page as a widget of a notebook: messages in place of HTTP, the route in the widget, the page in its element.
import { mount } from "../app.js";
import { setTransport } from "../api.js";
import { inMemory, setPlace } from "../route.js";
import { setStage } from "../stage.js";
import { hostIn } from "./host.js";
import { overMessages } from "./messages.js";

/** Show the studio in an element; returns what removes it. */
export function show({ model, el, style }) {
  let unmount = () => {};
  const again = () => {
    unmount();
    unmount = mount(root);
  };
  const { stage, root, end } = hostIn(el, style, again);
  const transport = overMessages(model);
  const place = inMemory(`#/${model.get("screen")}`);
  setStage(stage);
  setTransport(transport);
  setPlace(place);
  root.addEventListener("click", (event) => {
    const address = event.target.closest?.("a")?.getAttribute("href") ?? "";
    if (!address.startsWith("#/")) return;
    event.preventDefault(); // the address of the notebook stays its own
    place.write(address);
  });
  const follow = ({ events = [] }) => {
    const revisions = events.filter(([, type]) => type === "state").map(([, , text]) => JSON.parse(text).revision);
    const last = revisions[revisions.length - 1];
    if (last === undefined || last === model.get("revision")) return;
    model.set("revision", last); // cells of marimo that use the widget run again
    model.save_changes();
  };
  model.on("msg:custom", follow);
  again();
  return () => {
    model.off("msg:custom", follow);
    unmount();
    transport.end();
    end();
  };
}
