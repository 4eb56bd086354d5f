// Whether now is a good time to buy, from what was seen, with the reasons.
import { figures, steps } from './chart.js';

const DAY = 86400000;
const ENOUGH = 14 * DAY;

/**
 * A verdict {word, reasons: [{key, values}]}: word is "good", "usual", "wait" or
 * "early". Money values are {amount, currency}. Null where there is no price.
 */
export function verdict(points, listing, days, now) {
  if (!listing.price) return null;
  if (listing.availability === 'out_of_stock') return { word: 'wait', reasons: [{ key: 'sold', values: {} }] };
  const all = steps(points, now - days * DAY, now).filter((s) => s.money.currency === listing.price.currency);
  const known = figures(all);
  if (!known || now - all[0].from < ENOUGH) return { word: 'early', reasons: [{ key: 'early', values: { days: Math.max(1, Math.floor((now - (all[0]?.from ?? now)) / DAY)) } }] };
  const price = Number(listing.price.amount);
  const low = Number(known.low.amount);
  const median = Number(known.median.amount);
  const off = Math.round((price / median - 1) * 100);
  const reasons = [];
  if (price <= low) reasons.push({ key: 'lowest', values: { days } });
  if (off <= -1) reasons.push({ key: 'under', values: { percent: -off, median: known.median } });
  else if (off >= 1) reasons.push({ key: 'over', values: { percent: off, median: known.median } });
  else reasons.push({ key: 'same', values: { median: known.median } });
  if (price > low) reasons.push({ key: 'low', values: { low: known.low } });
  if (price <= low && off <= -1 || off <= -5) return { word: 'good', reasons };
  return { word: off >= 3 ? 'wait' : 'usual', reasons };
}
