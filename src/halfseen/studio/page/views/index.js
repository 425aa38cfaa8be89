// The views by the key of their screen.
import classes from "./classes.js";
import compare from "./compare.js";
import data from "./data.js";
import decide from "./decide.js";
import em from "./em.js";
import exporting from "./export.js";
import fit from "./fit.js";
import lesson from "./lesson.js";
import links from "./links.js";
import network from "./network.js";
import timeline from "./timeline.js";
import trees from "./trees.js";
import utterances from "./utterances.js";

export const views = { classes, compare, data, decide, em, export: exporting, fit, lesson, links, network, timeline, trees, utterances };
