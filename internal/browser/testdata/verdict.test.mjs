// Whether now is a good time to buy: the rule alone, without a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verdict } from '../../../web/js/verdict.js';

const DAY = 86400000;
const NOW = Date.parse('2026-10-01T00:00:00Z');
const yen = (n) => ({ amount: String(n), currency: 'JPY' });

/** Points from [days ago, price], the oldest first. */
const points = (...all) => all.map(([ago, price]) => ({ at: new Date(NOW - ago * DAY).toISOString(), price: price && yen(price), availability: price ? 'in_stock' : 'out_of_stock' }));
const listing = (price, availability = 'in_stock') => ({ price: price && yen(price), availability });
const told = (v) => v && `${v.word}: ${v.reasons.map(({ key, values }) => [key, ...Object.values(values).map((x) => x.amount ?? x)].join(' ')).join(', ')}`;

for (const [name, history, now, want] of [
  ['no price', points([30, 1000]), listing(null), null],
  ['sold out, however cheap', points([30, 1000]), listing(500, 'out_of_stock'), 'wait: sold'],
  ['nothing seen yet', [], listing(1000), 'early: early 1'],
  ['thirteen days', points([13, 1000]), listing(1000), 'early: early 13'],
  // What it is the lowest of is what was seen, not what was asked for.
  ['never moved', points([60, 1000]), listing(1000), 'usual: lowest 60, same 1000'],
  ['the lowest, and under the median', points([60, 1000], [1, 960]), listing(960), 'good: lowest 60, under 4 1000'],
  ['well under the median, though it was lower once', points([80, 700], [79, 1000], [1, 940]), listing(940), 'good: under 6 1000, low 700'],
  ['a little under it', points([80, 700], [79, 1000], [1, 980]), listing(980), 'usual: under 2 1000, low 700'],
  ['over the median', points([60, 1000], [1, 1100]), listing(1100), 'wait: over 10 1000, low 1000'],
  ['a little over it', points([60, 1000], [1, 1020]), listing(1020), 'usual: over 2 1000, low 1000'],
  ['a low of half a year ago is forgotten', points([200, 500], [180, 1000], [1, 990]), listing(990), 'good: lowest 90, under 1 1000'],
  ['in force when the window opens counts', points([200, 800], [44, 1000]), listing(1000), 'wait: over 25 800, low 800'],
]) {
  test(name, () => assert.equal(told(verdict(history, now, 90, NOW)), want));
}

test('prices in another currency are not compared', () => {
  const dollars = [{ at: new Date(NOW - 60 * DAY).toISOString(), price: { amount: '1', currency: 'USD' }, availability: 'in_stock' }];
  assert.equal(told(verdict([...dollars, ...points([20, 1000])], listing(1000), 90, NOW)), 'usual: lowest 20, same 1000');
});
