// Whether now is a good time to buy, from what was seen, with the reasons.
// Pure, like history.js: it takes the time and gives keys and numbers, so it
// runs anywhere and its tests need no browser. Words are the screen's.
import { figures, steps } from './history.js';

const DAY = 86400000;
const ENOUGH = 14 * DAY;

/**
 * @param {Array} points  of GET /watches/{id}/history, the oldest first
 * @param {{price: ?{amount, currency}, availability: string}} listing  as it is now
 * @param {number} days   how far back to look
 * @param {number} now    ms since 1970
 * @returns {?{word: string, reasons: Array<{key: string, values: Object}>}}
 *   null where there is no price. word and its reasons, the strongest first:
 *   - "good"   at the low and under the median, or 5 % and more under it
 *   - "wait"   3 % and more over the median; or sold out, with "sold" alone
 *   - "usual"  between the two
 *   - "early"  under 14 days of prices, with "early" {days} alone
 *   Keys: "lowest" {days}, of which prices are known; "under" and "over" {percent, median}, "same" {median},
 *   "low" {low}. median and low are money as the API writes it; percent is whole.
 */
export function verdict(points, listing, days, now) {
  if (!listing.price) return null;
  if (listing.availability === 'out_of_stock') return { word: 'wait', reasons: [{ key: 'sold', values: {} }] };
  const all = steps(points, now - days * DAY, now).filter((s) => s.money.currency === listing.price.currency);
  const known = figures(all);
  const seen = now - (all[0]?.from ?? now);
  if (!known || seen < ENOUGH) return { word: 'early', reasons: [{ key: 'early', values: { days: Math.max(1, Math.floor(seen / DAY)) } }] };
  const price = Number(listing.price.amount);
  const low = Number(known.low.amount);
  const median = Number(known.median.amount);
  const off = Math.round((price / median - 1) * 100);
  const reasons = [];
  if (price <= low) reasons.push({ key: 'lowest', values: { days: Math.min(days, Math.floor(seen / DAY)) } });
  if (off <= -1) reasons.push({ key: 'under', values: { percent: -off, median: known.median } });
  else if (off >= 1) reasons.push({ key: 'over', values: { percent: off, median: known.median } });
  else reasons.push({ key: 'same', values: { median: known.median } });
  if (price > low) reasons.push({ key: 'low', values: { low: known.low } });
  if ((price <= low && off <= -1) || off <= -5) return { word: 'good', reasons };
  return { word: off >= 3 ? 'wait' : 'usual', reasons };
}
