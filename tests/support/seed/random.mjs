// Numbers that look random and are the same for the same seed, and the distributions that the demo data are made of.

/** A sequence of numbers (mulberry32). */
export function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  /** A whole number from 0 to below `limit`. */
  const below = (limit) => Math.floor(next() * limit);
  /** One of `[value, weight]`. */
  const pick = (weighted) => {
    let rest = next() * weighted.reduce((sum, [, weight]) => sum + weight, 0);
    return (weighted.find(([, weight]) => (rest -= weight) < 0) ?? weighted.at(-1))[0];
  };
  /** Draws the number of events that happen `rate` times on average. */
  const poisson = (rate) => {
    const limit = Math.exp(-rate);
    let count = 0;
    for (let product = next(); product > limit; product *= next()) count += 1;
    return count;
  };
  const hex = (digits) => Array.from({ length: digits }, () => below(16).toString(16)).join('');
  /** A UUID of version 7. */
  const uuid7 = (at) => {
    const time = at.toString(16).padStart(12, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(3)}-${'89ab'[below(4)]}${hex(3)}-${hex(12)}`;
  };
  return { next, below, pick, poisson, hex, uuid7 };
}

/**
 * The value at a share of a distribution that is known by some of its quantiles, `[[share, value], …]` in ascending order: straight
 * lines between their logarithms over the normal distribution's quantiles, and on beyond the outer ones.
 */
export function quantileFunction(known) {
  const points = known.map(([share, value]) => [normal(share), Math.log(value)]);
  return (share) => {
    const at = normal(Math.min(Math.max(share, 1e-6), 1 - 1e-6));
    const after = points.findIndex(([place]) => place >= at);
    const right = after < 1 ? (after === 0 ? 1 : points.length - 1) : after;
    const [[x0, y0], [x1, y1]] = [points[right - 1], points[right]];
    return Math.exp(y0 + ((at - x0) / (x1 - x0)) * (y1 - y0));
  };
}

/** The standard normal distribution's quantile (Acklam's approximation, right to 1e-9). */
function normal(share) {
  const a = [-39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716, 2.506628277459239];
  const b = [-54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572];
  const c = [-0.007784894002430293, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968, 2.938163982698783];
  const d = [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416];
  const horner = (coefficients, x) => coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0);
  if (share < 0.02425) {
    const q = Math.sqrt(-2 * Math.log(share));
    return horner(c, q) / (horner(d, q) * q + 1);
  }
  if (share > 1 - 0.02425) return -normal(1 - share);
  const q = share - 0.5;
  const r = q * q;
  return (horner(a, r) * q) / (horner(b, r) * r + 1);
}
