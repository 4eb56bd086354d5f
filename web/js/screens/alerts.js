// What was told and what was held back, each with its reason in plain words.
import { html, useEffect, useRef, useState } from '../html.js';
import { has, t } from '../i18n.js';
import * as api from '../api.js';
import * as format from '../format.js';
import { Button, Failed, Head, Icon, Skeleton, errorWords } from '../parts.js';
import { loadWatches, useShared } from '../store.js';
import { useTick } from './home.js';

const saved = self.sokoneDB;
const icons = { sent: 'check', pending: 'clock', sending: 'clock', retry: 'clock', dropped: 'hold', failed: 'cross' };

export function Alerts() {
  const { watches } = useShared();
  const [list, setList] = useState(null);
  const [cursor, setCursor] = useState(null);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const asked = useRef(false);
  useTick(60000);

  const load = async (from) => {
    if (!api.token()) {
      setList([]);
      return;
    }
    setBusy(true);
    if (!asked.current) { // the last known ones at once
      const known = await saved.get('alerts').catch(() => null);
      if (known) setList((now) => now ?? known);
    }
    try {
      const page = await api.listAlerts(from);
      setList((known) => merge(known ?? [], page.alerts));
      // A later look at the newest does not lose the place among the older ones.
      if (from || !asked.current) setCursor(page.next_cursor);
      asked.current = true;
      setError(null);
      if (!from) saved.set('alerts', page.alerts).catch(() => {});
    } catch (err) {
      setError(err);
    }
    setBusy(false);
  };
  useEffect(() => {
    load();
    saved.set('unseen', 0).catch(() => {});
    navigator.clearAppBadge?.().catch(() => {});
    if (!watches) loadWatches();
    const refresh = () => load();
    addEventListener('sokone:refresh', refresh);
    return () => removeEventListener('sokone:refresh', refresh);
  }, []);

  return html`<${Head} title=${t('alerts.title')} />
    ${!list && !error && html`<${Skeleton} rows=${4} kind="row" />`}
    ${!list && error && html`<${Failed} title=${t('alerts.error')} error=${error} again=${() => load()} />`}
    ${list?.length === 0 && html`<div class="empty"><${Icon} name="bell" /><h2>${t('alerts.empty')}</h2><p>${t('alerts.empty.body')}</p>
      <a class="button" href="/add"><${Icon} name="add" /> ${t('add.title')}</a></div>`}
    ${list?.length > 0 && html`<ol class="told">
      ${list.map((a) => html`<${Entry} key=${a.event_id} alert=${a} watch=${watches?.find((w) => w.id === a.watch_id)} />`)}
    </ol>`}
    ${list && error && html`<p class="bad" role="alert">${errorWords(error)}</p>`}
    ${cursor && html`<p class="center"><${Button} busy=${busy} onClick=${() => load(cursor)}>${t('alerts.more')}</${Button}></p>`}`;
}

/** Alerts known before and those of a page, each once, as it is now, the newest first. */
function merge(known, page) {
  const all = new Map([...known, ...page].map((a) => [a.event_id, a]));
  return [...all.values()].sort((a, b) => Date.parse(b.detected_at) - Date.parse(a.detected_at));
}

function Entry({ alert, watch }) {
  const name = alert.name ?? watch?.listing.name;
  return html`<li class=${`alert ${alert.state}`}>
    <span class="state"><${Icon} name=${icons[alert.state] ?? 'clock'} /></span>
    <p class="what">${what(alert)}</p>
    <time datetime=${alert.detected_at} title=${format.dateTime(alert.detected_at)}>${format.ago(alert.detected_at)}</time>
    <p class="name" lang=${format.langOf(name)}>${watch ? html`<a href=${`/watches/${encodeURIComponent(watch.id)}`}>${name}</a>` : name ?? t('alerts.removed')}</p>
    <p class="reason"><span class="tag">${has(`state.${alert.state}`) ? t(`state.${alert.state}`) : alert.state}</span> ${reason(alert)}</p>
  </li>`;
}

/** What the alert says: from the numbers last checked, else from those detected. */
function what({ trigger, why, checked, detected }) {
  const numbers = why && typeof why === 'object' ? why : {};
  const price = numbers.price ?? checked?.price ?? detected?.price;
  const values = {
    price: format.price(price),
    from: format.price(numbers.reference),
    target: format.price(numbers.target),
    days: numbers.days,
    unitPrice: format.price(numbers.unit_price),
    unit: numbers.unit && format.unit(numbers.unit),
    since: numbers.failing_since && format.dateTime(numbers.failing_since),
  };
  const complete = (key) => has(key) && Object.keys(values).every((name) => values[name] || !t(key).includes(`{${name}}`));
  for (const key of [`alert.${trigger}.${numbers.failure_kind}`, `alert.${trigger}`, `alert.${trigger}.plain`]) {
    if (complete(key)) return t(key, values);
  }
  const label = has(`trigger.${trigger}`) ? t(`trigger.${trigger}`) : trigger;
  return price ? `${label} · ${values.price}` : label;
}

/** Why the alert is where it is. */
function reason(alert) {
  const { state, reason: word } = alert;
  if (state === 'sent') return alert.sent_at ? t('why.sent', { at: format.dateTime(alert.sent_at) }) : '';
  if (!word) return has(`why.${state}`) ? t(`why.${state}`) : '';
  const next = state === 'retry' && alert.next_attempt_at ? ` ${t('why.next', { at: format.time(alert.next_attempt_at) })}` : '';
  if (word === 'condition_lost' && alert.trigger !== 'back_in_stock' && alert.checked?.price) return t('why.condition_lost.price', { price: format.price(alert.checked.price) });
  const [, kind] = /^refetch_(.+)$/.exec(word) ?? [];
  if (kind) return t('why.refetch', { cause: has(`problem.${kind}`) ? t(`problem.${kind}`) : kind }) + next;
  if (word.startsWith('push_')) return t('why.push') + next;
  return (has(`why.${word}`) ? t(`why.${word}`, { n: format.number(alert.retry_count ?? 0) }) : word) + next;
}
