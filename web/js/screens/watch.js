// One watch: its price, how it came to be, what it waits for.
import { html, useEffect, useState } from '../html.js';
import { t } from '../i18n.js';
import * as api from '../api.js';
import * as format from '../format.js';
import { Chart } from '../chart.js';
import { Button, Change, Chips, Failed, Field, Head, Icon, Notice, Picture, Price, Skeleton, Stock, errorWords, problemWords } from '../parts.js';
import { Picker } from '../picker.js';
import { back, go } from '../router.js';
import { current, dropWatch, keepWatch, loadWatches, toast, useLoaded, useShared } from '../store.js';
import { chosen, draft, finish, showFault, words } from '../triggers.js';
import { verdict } from '../verdict.js';
import { useTick } from './home.js';

export function Watch({ id }) {
  const { watches } = useShared();
  const known = watches?.find((w) => w.id === id);
  const { data, error, again } = useLoaded(async () => {
    const watch = await api.getWatch(id);
    if (current().watches) keepWatch(watch);
    return watch;
  }, [id]);
  useTick(60000);
  useEffect(() => {
    const refresh = () => again();
    addEventListener('sokone:refresh', refresh);
    return () => removeEventListener('sokone:refresh', refresh);
  }, []);
  useEffect(() => { if (!current().watches) loadWatches(); }, []);
  const watch = known ?? data;
  const up = () => back('/');
  if (!watch || error?.status === 404) {
    return html`<${Head} title=${t('nav.home')} up=${up} />
      ${error?.status === 404 ? html`<div class="empty"><${Icon} name="hold" /><h2>${t('error.missing')}</h2><a class="button" href="/">${t('app.missing.home')}</a></div>`
        : error ? html`<${Failed} title=${t('watch.error')} error=${error} again=${again} />` : html`<${Skeleton} rows=${1} kind="product" /><${Skeleton} rows=${2} kind="row" />`}`;
  }
  return html`<${Detail} key=${watch.id} watch=${watch} up=${up} />`;
}

function Detail({ watch, up }) {
  const { listing } = watch;
  const name = listing.name || format.host(listing.url);
  return html`<${Head} title=${name} up=${up} />
    <div class="detail">
      <section class="product"><${Picture} src=${listing.picture} big />
        <div>
          <p class="prices"><${Price} money=${listing.price} big /> <${Stock} availability=${listing.availability} always /></p>
          <p>${watch.basis === 'price'
            ? html`<${Change} from=${watch.reference} to=${listing.price} />`
            : html`<span class="change">${t(`basis.${watch.basis}.plain`)} · ${t('watch.reference', { price: format.price(watch.reference) })}</span>`}</p>
          ${listing.unit_price && html`<p class="hint">${format.unitPrice(listing.unit_price)}</p>`}
          <p class="hint">${format.checked(listing.checked_at)}</p>
        </div>
      </section>
      <a class="button toshop" href=${listing.url} target="_blank" rel="noopener noreferrer"><span>${t('watch.shop', { host: format.host(listing.url) })}</span> <${Icon} name="out" /></a>
      ${listing.problem && html`<${Notice}>${problemWords(listing.problem)} (${t('problem.since', { at: format.dateTime(listing.problem.since) })})</${Notice}>`}
      ${watch.paused && html`<${Notice} kind="calm" icon="pause">${t('watch.paused')}</${Notice}>`}
      <${History} watch=${watch} />
      <${Waits} watch=${watch} />
      <${Foot} watch=${watch} name=${name} />
    </div>`;
}

function History({ watch }) {
  const [days, setDays] = useState(90);
  // A new price means a new point.
  const { data, error, again } = useLoaded(() => api.history(watch.id, days), [watch.id, days, watch.listing.price?.amount, watch.listing.availability]);
  const now = Date.now();
  return html`<section class="panel"><div class="bar"><h2>${t('watch.history')}</h2>
      <${Chips} label=${t('watch.history.range')} values=${[30, 90, 365]} value=${days} onChange=${setDays} show=${(d) => t('trigger.days', { days: d })} /></div>
    ${data && html`<${Verdict} said=${verdict(data.points ?? [], watch.listing, days, now)} />`}
    ${data && html`<${Chart} points=${data.points ?? []} alerts=${data.alerts ?? []} start=${now - days * 86400000} now=${now}
      reference=${watch.basis === 'price' ? watch.reference : null} />`}
    ${!data && !error && html`<${Skeleton} rows=${1} kind="graph" />`}
    ${!data && error && html`<p class="hint">${errorWords(error)} <button class="link" type="button" onClick=${again}>${t('app.retry')}</button></p>`}
  </section>`;
}

function Verdict({ said }) {
  if (!said) return null;
  const fill = (values) => Object.fromEntries(Object.entries(values).map(([name, v]) => [name, name === 'percent' ? format.percent(v) : v.amount ? format.price(v) : format.number(v)]));
  return html`<p class=${`verdict ${said.word}`}><strong>${t(`verdict.${said.word}`)}</strong> ${said.reasons.map((r) => t(`verdict.why.${r.key}`, fill(r.values))).join(' ')}</p>`;
}

function Waits({ watch }) {
  const [fields, setFields] = useState(null);
  const [faults, setFaults] = useState({});
  const [note, setNote] = useState('');
  const [basis, setBasis] = useState('price');
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const edit = () => { setFields(draft(watch.listing, chosen(watch))); setNote(watch.note); setBasis(watch.basis); setFaults({}); setError(''); };
  const save = async (event) => {
    event.preventDefault();
    if (busy) return;
    const { triggers, faults: bad } = finish(fields, (watch.reference ?? watch.listing.price)?.currency ?? 'JPY');
    setFaults(bad);
    setError(triggers.length ? '' : t('add.pick'));
    if (Object.keys(bad).length) showFault();
    if (!triggers.length || Object.keys(bad).length) return;
    setBusy(true);
    try {
      keepWatch(await api.changeWatch(watch.id, { triggers, note: note.trim(), ...(basis !== watch.basis && { basis }) }));
      setFields(null);
      toast(t('watch.saved'));
    } catch (err) {
      setError(errorWords(err));
    }
    setBusy(false);
  };
  return html`<section class="panel"><div class="bar"><h2>${t('watch.triggers')}</h2>
      ${!fields && html`<${Button} kind="small" onClick=${edit}><${Icon} name="edit" /> ${t('watch.triggers.edit')}</${Button}>`}</div>
    ${!fields
      ? html`<ul class="waits">${chosen(watch).map((trigger) => html`<li key=${trigger.type}>${words(trigger)}</li>`)}</ul>
          ${watch.note && html`<p class="note"><span class="hint">${t('watch.note')}</span> ${watch.note}</p>`}
          ${watch.last_notified && html`<p class="hint">${t('watch.notified', { at: format.dateTime(watch.last_notified.at), price: format.price(watch.last_notified.price) })}</p>`}`
      : html`<form onSubmit=${save} novalidate>
          <${Picker} listing=${watch.listing} reference=${watch.reference} fields=${fields} faults=${faults}
            onChange=${(f) => { setFields(f); setFaults({}); setError(''); }} />
          <div class="field"><label for="basis">${t('add.basis')}</label>
            <select id="basis" value=${basis} onChange=${(e) => setBasis(e.currentTarget.value)}>
              ${['price', 'total', 'effective'].map((b) => html`<option key=${b} value=${b}>${t(`basis.${b}.name`)}</option>`)}
            </select></div>
          <${Field} label=${t('add.note')} name="note" value=${note} maxlength="200" autocomplete="off" onInput=${(e) => setNote(e.currentTarget.value)} />
          <p class="bad" role="alert">${error}</p>
          <div class="row"><button class="button main" type="submit" aria-disabled=${busy ? 'true' : undefined}>${t('app.save')}</button>
            <${Button} onClick=${() => setFields(null)}>${t('app.cancel')}</${Button}></div>
        </form>`}
  </section>`;
}

function Foot({ watch, name }) {
  const [busy, setBusy] = useState('');
  const attempt = (what, work) => async () => {
    setBusy(what);
    try {
      await work();
    } catch (err) {
      toast(errorWords(err));
    }
    setBusy('');
  };
  const gone = watch.listing.problem?.kind === 'gone';
  const resume = watch.paused || gone;
  const pause = attempt('pause', async () => keepWatch(await api.changeWatch(watch.id, { paused: !resume })));
  const remove = attempt('remove', async () => {
    await api.removeWatch(watch.id);
    dropWatch(watch.id);
    go('/', { replace: true });
    toast(t('watch.removed', { name: name.length > 24 ? `${name.slice(0, 23)}…` : name }), { label: t('app.undo'), run: undo });
  });
  const undo = async () => {
    try {
      keepWatch(await api.restoreWatch(watch.id));
      toast(t('watch.restored'));
    } catch (err) {
      toast(errorWords(err));
    }
  };
  return html`<div class="row foot">
    <${Button} busy=${busy === 'pause'} onClick=${pause}><${Icon} name=${resume ? 'play' : 'pause'} /> ${resume ? t('watch.resume') : t('watch.pause')}</${Button}>
    <${Button} kind="danger" busy=${busy === 'remove'} onClick=${remove}><${Icon} name="trash" /> ${t('watch.remove')}</${Button}>
  </div>`;
}
