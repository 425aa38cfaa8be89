// Scales and ticks of the pictures that are drawn as SVG.

/** Round numbers from low to high, about `wanted` of them. */
export function ticks(low, high, wanted = 5) {
  if (!(high > low)) return [low];
  const raw = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= raw * 0.999);
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n += 1) found.push(Number((n * step).toPrecision(12)));
  return found;
}

/** The text of a tick, short. */
export function tickText(value) {
  const size = Math.abs(value);
  const text = size >= 1e6 || (size > 0 && size < 1e-3) ? value.toExponential(0) : value.toLocaleString("en-GB", { maximumFractionDigits: 4 });
  return text.replace("-", "−");
}

/** [low, high] of values with a margin; values that are not finite do not count. */
export function extent(values, margin = 0.04) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  const room = (high - low || Math.abs(low) || 1) * margin;
  return [low - room, high + room];
}

/** The function that maps [low, high] to [from, to]. */
export function scale([low, high], [from, to]) {
  const slope = (to - from) / (high - low || 1);
  const map = (value) => from + (value - low) * slope;
  map.invert = (at) => low + (at - from) / slope;
  return map;
}
