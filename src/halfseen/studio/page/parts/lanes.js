// Paths of a timeline: areas of probabilities, lines and bands of numbers, runs of states. Places are on x and y scales.

const round = (value) => Math.round(value * 10) / 10;

/** Where points begin and end: halfway between single steps, or from one to the next where each stands for several. */
export function edgesOf(places, end, thinned) {
  const n = places.length;
  const gap = n > 1 ? (places[n - 1] - places[0]) / (n - 1) : 1;
  if (thinned > 1) return [...places, end];
  const inner = places.slice(1).map((place, i) => (place + places[i]) / 2);
  return [places[0] - (inner.length ? inner[0] - places[0] : gap / 2), ...inner, places[n - 1] + (inner.length ? places[n - 1] - inner[n - 2] : gap / 2)];
}

/** The area between two lines of steps; equal neighbours are one. */
export function stepArea(low, high, edges, x, y) {
  const there = [];
  const back = [];
  let last = "";
  for (let i = 0; i < high.length; i += 1) {
    const key = `${round(y(high[i]))} ${round(y(low[i]))}`;
    if (key !== last) {
      const at = round(x(edges[i]));
      const [top, floor] = key.split(" ");
      if (i) {
        const [before, below] = last.split(" ");
        there.push(`${at} ${before}`);
        back.push(`${at} ${below}`);
      }
      there.push(`${at} ${top}`);
      back.push(`${at} ${floor}`);
      last = key;
    }
  }
  const [top, floor] = last.split(" ");
  const end = round(x(edges[high.length]));
  return `M${there.join("L")}L${end} ${top}L${end} ${floor}L${back.reverse().join("L")}Z`;
}

/** The areas of all states, one above the other: [path, highest share] for each. */
export function stacked(shares, edges, x, y) {
  const n = shares[0].length;
  let floor = new Array(shares.length).fill(0);
  return Array.from({ length: n }, (_, k) => {
    const top = shares.map((row, i) => floor[i] + row[k]);
    const path = stepArea(floor, top, edges, x, y);
    floor = top;
    return [path, Math.max(...shares.map((row) => row[k]))];
  });
}

/** Runs of equal values: [[first, last + 1, value]]; null is a value too. */
export function runs(values) {
  const found = [];
  values.forEach((value, i) => {
    if (i && value === values[i - 1]) found[found.length - 1][1] = i + 1;
    else found.push([i, i + 1, value]);
  });
  return found;
}

const isThere = (value) => value !== null && value !== undefined;

/** A line through values, with gaps where they are missing. */
export function line(values, places, x, y) {
  let path = "";
  let open = false;
  values.forEach((value, i) => {
    if (!isThere(value)) open = false;
    else {
      path += `${open ? "L" : "M"}${round(x(places[i]))} ${round(y(value))}`;
      open = true;
    }
  });
  return path;
}

/** A dot for each value, as a path of round caps. */
export function dots(values, places, x, y, alone = false) {
  return values
    .map((value, i) => {
      const lonely = !isThere(values[i - 1]) && !isThere(values[i + 1]);
      return isThere(value) && (!alone || lonely) ? `M${round(x(places[i]))} ${round(y(value))}h0` : "";
    })
    .join("");
}

/** The bands between lowest and highest values, at least a pixel high, with gaps where all are missing. */
export function band(low, high, edges, x, y) {
  return runs(low.map(isThere))
    .filter(([, , there]) => there)
    .map(([from, to]) => {
      const tops = high.slice(from, to).map((value) => y(value) - 0.5);
      const floors = low.slice(from, to).map((value) => y(value) + 0.5);
      return stepArea(floors, tops, edges.slice(from, to + 1), x, (place) => place);
    })
    .join("");
}

/** The area between two lines through points. */
export function ribbon(low, high, places, x, y) {
  const top = high.map((value, i) => `${round(x(places[i]))} ${round(y(value))}`);
  const floor = low.map((value, i) => `${round(x(places[i]))} ${round(y(value))}`).reverse();
  return `M${[...top, ...floor].join("L")}Z`;
}
