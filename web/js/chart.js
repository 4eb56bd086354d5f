// The price history as steps: a price holds until it changes.
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from './html.js';
import { t } from './i18n.js';
import * as format from './format.js';
import { figures, steps } from './history.js';
import { Origin } from './origin.js';

const HEIGHT = 200;
const PAD = { top: 14, bottom: 26, left: 8 };
const APART = 18; // px between two labels of prices

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
  const labelled = (value, money) => ({ value, text: format.price(money) });
  const scale = [labelled(Number(known.high.amount), known.high), labelled(Number(known.low.amount), known.low)];
  const right = 12 + Math.max(...scale.map((l) => l.text.length)) * 7.2;
  const x = (ms) => PAD.left + ((ms - first) / span) * (width - PAD.left - right);
  const y = (value) => PAD.top + (1 - (value - low) / (high - low)) * (HEIGHT - PAD.top - PAD.bottom);

  const line = all.map((s, i) => `${i ? 'V' : `M${x(s.from).toFixed(1)} `}${y(s.value).toFixed(1)}H${x(s.to).toFixed(1)}`).join('');
  if (y(scale[1].value) - y(scale[0].value) < APART) scale.shift();
  const floor = HEIGHT - PAD.bottom;
  const marks = alerts
    .map((a) => ({ ...a, ms: Date.parse(a.at) }))
    .filter((a) => a.ms >= first && a.ms <= now)
    .map((a) => ({ ...a, step: all.findLast((s) => s.from <= a.ms) ?? all[0] }));
  const chosen = at === null ? null : all.findLast((s) => s.from <= at) ?? all[0];

  const point = (event) => {
    const { left } = box.current.getBoundingClientRect();
    const ratio = (event.clientX - left - PAD.left) / (width - PAD.left - right);
    setAt(first + Math.min(1, Math.max(0, ratio)) * span);
  };
  const day = span < 2 * 86400000 ? format.dateTime : format.date;
  const last = all[all.length - 1];

  return html`<figure class="chart" ref=${box} aria-labelledby=${id}>
    <figcaption id=${id} class="unseen">${t('watch.history.summary', {
      from: day(first), to: day(now), low: format.price(known.low), high: format.price(known.high), now: format.price(last.money),
    })}</figcaption>
    <svg width=${width} height=${HEIGHT} viewBox=${`0 0 ${width} ${HEIGHT}`} aria-hidden="true"
      onPointerMove=${point} onPointerDown=${point} onPointerLeave=${() => setAt(null)}>
      <line class="axis" x1=${PAD.left} x2=${width - right} y1=${floor} y2=${floor} />
      ${scale.map((l) => html`<line key=${l.text} class="grid" x1=${PAD.left} x2=${width - right} y1=${y(l.value)} y2=${y(l.value)} />
        <text class="label" x=${width} y=${y(l.value) + 4} text-anchor="end">${l.text}</text>`)}
      ${ref !== null && html`<line class="reference" x1=${PAD.left} x2=${width - right} y1=${y(ref)} y2=${y(ref)} />`}
      <path class="area" d=${`${line}V${floor}H${x(first)}Z`} />
      <path class="line" d=${line} />
      ${all.filter((s) => s.sold).map((s) => html`<line key=${s.from} class="sold" x1=${x(s.from)} x2=${x(s.to)} y1=${y(s.value)} y2=${y(s.value)} />`)}
      ${marks.map((a) => html`<circle key=${a.event_id} class="alert" cx=${x(a.ms)} cy=${y(a.step.value)} r="5" />`)}
      ${!chosen && html`<circle class="now" cx=${x(now)} cy=${y(last.value)} r="4" />`}
      ${chosen && html`<line class="cross" x1=${x(at)} x2=${x(at)} y1=${PAD.top} y2=${floor} /><circle class="now" cx=${x(at)} cy=${y(chosen.value)} r="5" />`}
      <text class="label" x=${PAD.left} y=${HEIGHT - 8}>${day(first)}</text>
      <text class="label" x=${width - right} y=${HEIGHT - 8} text-anchor="end">${day(now)}</text>
    </svg>
    <p class="reading" aria-hidden="true">${chosen
      ? html`<strong>${format.price(chosen.money)}</strong> ${format.dateTime(at)} ${chosen.sold ? t('stock.out_of_stock') : ''}`
      : html`<span>${t('watch.low')} <strong>${format.price(known.low)}</strong></span>
             <span>${t('watch.median')} <strong>${format.price(known.median)}</strong></span>
             <span>${t('watch.high')} <strong>${format.price(known.high)}</strong></span>`}</p>
    ${(ref !== null || marks.length > 0) && html`<p class="legend" aria-hidden="true">
      ${ref !== null && html`<span><i class="dashes" />${t('watch.reference', { price: format.price(reference) })}</span>`}
      ${marks.length > 0 && html`<span><i class="dot" />${t('watch.history.alert')}</span>`}</p>`}
    <details class="table"><summary>${t('watch.history.table')}</summary>
      <ol tabindex=${all.some((s) => s.foundBy) ? undefined : 0} aria-label=${t('watch.history.table')}>${all.slice().reverse().slice(0, 50).map((s) => html`<${Row} key=${s.from} step=${s} told=${marks.some((a) => a.step === s)} />`)}</ol>
    </details>
  </figure>`;
}

/** A price in words, with its origin where that was kept. */
function Row({ step, told }) {
  const line = html`<time datetime=${new Date(step.from).toISOString()}>${format.dateTime(step.from)}</time>
    <span>${[told && t('watch.history.alert'), step.sold && t('stock.out_of_stock')].filter(Boolean).map((flag) => html`<span class="pill">${flag}</span> `)}${format.price(step.money)}</span>`;
  return html`<li>${step.foundBy
    ? html`<details><summary>${line}</summary><${Origin} foundBy=${step.foundBy} text=${step.evidence} /></details>`
    : html`<p>${line}</p>`}</li>`;
}
