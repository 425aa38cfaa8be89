// Numbers and counts as words, the same everywhere on the page.

const GROUPED = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const formats = new Map();

function fixed(digits) {
  if (!formats.has(digits)) {
    formats.set(digits, new Intl.NumberFormat("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  }
  return formats.get(digits);
}

const minus = (text) => text.replace("-", "−");

/** 10558.123 is "10,558.1"; whole numbers stay whole; null is "". `digits` sets the decimals. */
export function number(value, digits) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "" : value > 0 ? "∞" : "−∞";
  if (digits !== undefined) return minus(fixed(digits).format(value));
  if (Number.isInteger(value)) return minus(GROUPED.format(value));
  const size = Math.abs(value);
  if (size < 1e-4) return minus(value.toExponential(1));
  const decimals = size >= 1000 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;
  return minus(fixed(decimals).format(value));
}

/** .431 is "43%", .004 is "0.4%", .9999 is ">99.9%": only what is certain is 100%. */
export function percent(share) {
  if (share === null || share === undefined || Number.isNaN(share)) return "";
  const hundred = 100 * share;
  const near = Math.min(hundred, 100 - hundred);
  if (near > 0 && near < 0.05) return hundred > 50 ? ">99.9%" : "<0.1%";
  return `${fixed(near > 0 && near < 1 ? 1 : 0).format(hundred)}%`;
}

/** count(344, "row") is "344 rows"; count(2, ["class", "classes"]) is "2 classes". */
export function count(n, word) {
  const [one, many] = Array.isArray(word) ? word : [word, `${word}s`];
  return `${number(n)} ${n === 1 ? one : many}`;
}

/** 72.4 seconds is "1 min 12 s". */
export function seconds(value) {
  if (value === null || value === undefined) return "";
  if (value < 10) return `${fixed(1).format(value)} s`;
  if (value < 60) return `${Math.round(value)} s`;
  const whole = Math.round(value);
  return whole < 3600 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** "first, second and third". */
export function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

/** The CSS classes of component k: its colour in --own, a square mark from the ninth on. */
export function shade(k) {
  return `c k${k % 8}${k >= 8 ? " again" : ""}`;
}
