// Times of steps as places on an axis, round ticks among them, and times as text. Dates are read without time zones.
import { ticks, tickText } from "./axis.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365.25 * DAY;
const SHORT = [1, 2, 5, 15, 30];
const EVEN = [...SHORT.map((n) => n * SECOND), ...SHORT.map((n) => n * MINUTE), ...[1, 3, 6, 12].map((n) => n * HOUR), DAY, 2 * DAY, 7 * DAY, 14 * DAY];
const MONTHS = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1200];
const MONDAY = 4 * DAY; // the first one after 1 January 1970

const format = (options) => new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...options });
const AS = {
  year: format({ year: "numeric" }),
  month: format({ month: "short" }),
  monthOfYear: format({ month: "short", year: "numeric" }),
  day: format({ day: "numeric", month: "short" }),
  dayOfYear: format({ day: "numeric", month: "short", year: "numeric" }),
  minute: format({ hour: "2-digit", minute: "2-digit" }),
  second: format({ hour: "2-digit", minute: "2-digit", second: "2-digit" }),
};

const milliseconds = (time) => Date.parse(time.includes("T") ? `${time}Z` : time);

/** The places of points on an axis: of dates milliseconds, of numbers the numbers; of other times the steps. */
export function placesOf(axis, times, steps) {
  if (!times || axis === "step" || axis === "text") return steps;
  return axis === "date" ? times.map(milliseconds) : times;
}

/** A time in words; `step` where there is none. */
export function timeText(time, step) {
  if (time === null || time === undefined) return `step ${step.toLocaleString("en-GB")}`;
  return typeof time === "number" ? String(time) : time.replace("T", " ").replace(/^(\d{4}-\d\d-\d\d \d\d:\d\d):00(\.0+)?$/, "$1");
}

/** Round places between low and high with their texts: [[place, text]], about `wanted` of them. */
export function timeTicks(axis, low, high, wanted) {
  if (axis !== "date") {
    const whole = ticks(low, high, wanted).filter((at) => axis === "number" || Number.isInteger(at));
    return whole.map((at) => [at, axis === "number" ? String(at).replace("-", "−") : tickText(at)]);
  }
  const room = (high - low) / Math.max(1, wanted);
  const even = EVEN.find((step) => step >= 0.8 * room);
  return even ? evenTicks(low, high, even) : monthTicks(low, high, room);
}

function evenTicks(low, high, step) {
  const from = step % (7 * DAY) === 0 ? MONDAY : 0;
  const found = [];
  for (let at = Math.ceil((low - from) / step) * step + from; at <= high; at += step) found.push(at);
  const days = step >= DAY;
  const usual = days ? AS.day : step >= MINUTE ? AS.minute : AS.second;
  const fuller = days ? AS.dayOfYear : AS.day;
  const period = days ? (at) => new Date(at).getUTCFullYear() : (at) => Math.floor(at / DAY);
  return named(found, usual, fuller, period);
}

function monthTicks(low, high, room) {
  const step = MONTHS.find((n) => (n * YEAR) / 12 >= 0.8 * room) ?? MONTHS[MONTHS.length - 1];
  const first = new Date(low);
  const found = [];
  for (let month = Math.floor((12 * first.getUTCFullYear() + first.getUTCMonth()) / step) * step; ; month += step) {
    const at = new Date(0).setUTCFullYear(Math.floor(month / 12), month % 12);
    if (at > high) break;
    if (at >= low) found.push(at);
  }
  if (step >= 12) return found.map((at) => [at, AS.year.format(at)]);
  return named(found, AS.month, AS.monthOfYear, (at) => new Date(at).getUTCFullYear());
}

/** The first tick of a period, such as a year, has the fuller text. */
function named(found, usual, fuller, period) {
  return found.map((at, i) => [at, (i === 0 || period(at) !== period(found[i - 1]) ? fuller : usual).format(at)]);
}
