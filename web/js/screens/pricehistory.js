// A price history, with what it says about buying now.
import { html } from '../html.js';
import { lang, t } from '../i18n.js';
import { Chart } from '../chart.js';
import * as format from '../format.js';
import { verdict } from '../verdict.js';

const DAY = 86400000;

/** judged: whether the price is one to give a verdict on. */
export function PriceHistory({ points, alerts = [], listing, days, now, reference, judged }) {
  return html`${judged && html`<${Verdict} said=${verdict(points, listing, days, now)} />`}
    <${Chart} points=${points} alerts=${alerts} start=${now - days * DAY} now=${now} reference=${reference} />`;
}

function Verdict({ said }) {
  if (!said) return null;
  const fill = (values) => Object.fromEntries(Object.entries(values)
    .map(([name, v]) => [name, name === 'percent' ? format.percent(v) : v.amount ? format.price(v) : format.number(v)]));
  return html`<p class=${`verdict ${said.word}`}><strong>${t(`verdict.${said.word}`)}</strong> ${said.reasons.map((r) => t(`verdict.why.${r.key}`, fill(r.values))).join(lang() === 'ja' ? '' : ' ')}</p>`;
}
