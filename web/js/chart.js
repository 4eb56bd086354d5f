// The price history as steps: a price holds until it changes.
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from './html.js';
import { t } from './i18n.js';
import * as format from './format.js';
import { figures, steps } from './history.js';

const HEIGHT = 200;
const PAD = { top: 18, right: 14, bottom: 26, left: 12 };

export function Chart({ points, alerts, start, now, reference }) {
  const box = useRef(null);
  const id = useId();
  const [width, setWidth] = useState(320);
  const [at, setAt] = useState(null);
  useLayoutEffect(() => {
    const measure = () => box.current && setWidth(Math.max(240, box.current.clientWidth));
    measure();
    const watcher = new ResizeObserver(measure);
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => setAt(null), [points, start]);

  const all = steps(points, start, now);
  const known = figures(all);
  if (!known) return html`<div class="chart" ref=${box}><p class="hint">${t('watch.history.empty')}</p></div>`;

  const values = all.map((s) => s.value);
  const ref = reference && reference.currency === all[0].money.currency ? Number(reference.amount) : null;
  let low = Math.min(...values, ref ?? Infinity);
  let high = Math.max(...values, ref ?? -Infinity);
  const room = (high - low) * 0.12 || high * 0.08 || 1;
  low = Math.max(0, low - room);
  high += room;
  const first = all[0].from;
  const span = Math.max(1, now - first);
  const x = (ms) => PAD.left + ((ms - first) / span) * (width - PAD.left - PAD.right);
  const y = (value) => PAD.top + (1 - (value - low) / (high - low)) * (HEIGHT - PAD.top - PAD.bottom);

  const line = all.map((s, i) => `${i ? 'V' : `M${x(s.from).toFixed(1)} `}${y(s.value).toFixed(1)}H${x(s.to).toFixed(1)}`).join('');
  const floor = HEIGHT - PAD.bottom;
  const marks = alerts
    .map((a) => ({ ...a, ms: Date.parse(a.at) }))
    .filter((a) => a.ms >= first && a.ms <= now)
    .map((a) => ({ ...a, step: all.findLast((s) => s.from <= a.ms) ?? all[0] }));
  const chosen = at === null ? null : all.findLast((s) => s.from <= at) ?? all[0];

  const point = (event) => {
    const { left } = box.current.getBoundingClientRect();
    const ratio = (event.clientX - left - PAD.left) / (width - PAD.left - PAD.right);
    setAt(first + Math.min(1, Math.max(0, ratio)) * span);
  };
  const day = span < 2 * 86400000 ? format.dateTime : format.date;
  const last = all[all.length - 1];
  const lowest = all.find((s) => s.money === known.low);

  return html`<figure class="chart" ref=${box} aria-labelledby=${id}>
    <figcaption id=${id} class="unseen">${t('watch.history.summary', {
      from: day(first), to: day(now), low: format.price(known.low), high: format.price(known.high), now: format.price(last.money),
    })}</figcaption>
    <svg width=${width} height=${HEIGHT} viewBox=${`0 0 ${width} ${HEIGHT}`} aria-hidden="true"
      onPointerMove=${point} onPointerDown=${point} onPointerLeave=${() => setAt(null)}>
      <line class="axis" x1=${PAD.left} x2=${width - PAD.right} y1=${floor} y2=${floor} />
      ${ref !== null && html`<line class="reference" x1=${PAD.left} x2=${width - PAD.right} y1=${y(ref)} y2=${y(ref)} />`}
      <path class="area" d=${`${line}V${floor}H${x(first)}Z`} />
      <path class="line" d=${line} />
      ${all.filter((s) => s.sold).map((s) => html`<line key=${s.from} class="sold" x1=${x(s.from)} x2=${x(s.to)} y1=${y(s.value)} y2=${y(s.value)} />`)}
      ${marks.map((a) => html`<circle key=${a.event_id} class="alert" cx=${x(a.ms)} cy=${y(a.step.value)} r="5" />`)}
      ${!chosen && html`<circle class="now" cx=${x(now)} cy=${y(last.value)} r="4" />
        ${lowest.value < last.value && html`<text class="label" x=${clampX(x((lowest.from + lowest.to) / 2), width)} y=${y(lowest.value) + 16} text-anchor="middle">${format.price(lowest.money)}</text>`}`}
      ${chosen && html`<line class="cross" x1=${x(at)} x2=${x(at)} y1=${PAD.top} y2=${floor} /><circle class="now" cx=${x(at)} cy=${y(chosen.value)} r="5" />`}
      <text class="label" x=${PAD.left} y=${HEIGHT - 8}>${day(first)}</text>
      <text class="label" x=${width - PAD.right} y=${HEIGHT - 8} text-anchor="end">${day(now)}</text>
    </svg>
    <p class="reading" aria-hidden="true">${chosen
      ? html`<strong>${format.price(chosen.money)}</strong> ${format.dateTime(at)} ${chosen.sold ? t('stock.out_of_stock') : ''}`
      : html`<span>${t('watch.low')} <strong>${format.price(known.low)}</strong></span>
             <span>${t('watch.median')} <strong>${format.price(known.median)}</strong></span>
             <span>${t('watch.high')} <strong>${format.price(known.high)}</strong></span>`}</p>
    <details class="table"><summary>${t('watch.history.table')}</summary>
      <ol>${all.slice().reverse().slice(0, 50).map((s) => html`<li key=${s.from}><time datetime=${new Date(s.from).toISOString()}>${format.dateTime(s.from)}</time>
        <span>${format.price(s.money)}${s.sold ? ` · ${t('stock.out_of_stock')}` : ''}</span></li>`)}</ol>
    </details>
  </figure>`;
}

const clampX = (value, width) => Math.min(Math.max(value, 40), width - 40);
