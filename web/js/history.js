// What can be said of a price history. Pure: no page, no clock, no words.

/**
 * Points of the API → steps {from, to, value, money, sold, foundBy, evidence}
 * in ms, the last until now. A point without a price keeps the one before.
 */
export function steps(points, start, now) {
  const known = [];
  let last = null;
  for (const point of points) {
    const money = point.price ?? last;
    if (!money) continue;
    last = money;
    known.push({
      from: Date.parse(point.at), money, value: Number(money.amount), sold: point.availability === 'out_of_stock',
      foundBy: point.found_by ?? '', evidence: point.evidence ?? '',
    });
  }
  return known
    .map((step, i) => ({ ...step, from: Math.max(step.from, start), to: known[i + 1]?.from ?? now }))
    .filter((step) => step.to >= start);
}

/** Lowest, highest and the median by time, of the steps that could be bought; null where there are none. */
export function figures(all) {
  const list = all.filter((s) => !s.sold);
  const use = (list.length ? list : all).slice().sort((a, b) => a.value - b.value);
  if (use.length === 0) return null;
  const total = use.reduce((sum, s) => sum + Math.max(1, s.to - s.from), 0);
  let passed = 0;
  const median = use.find((s) => (passed += Math.max(1, s.to - s.from)) >= total / 2);
  return { low: use[0].money, high: use[use.length - 1].money, median: median.money };
}
