// One watch: its price, how it came to be, what it waits for.
import { html, useEffect, useRef, useState } from '../html.js';
import { t } from '../i18n.js';
import * as api from '../api.js';
import * as format from '../format.js';
import { Button, Change, Chips, Credit, Failed, Field, Head, Icon, Notice, Picture, Price, Problem, Skeleton, Stock, errorWords, useReturn } from '../parts.js';
import { Evidence } from '../origin.js';
import { Picker } from '../picker.js';
import { back, go } from '../router.js';
import { current, dropWatch, keepWatch, loadWatches, toast, useLoaded, useShared } from '../store.js';
import { chosen, draft, finish, showFault, words } from '../triggers.js';
import { Basis } from './basis.js';
import { Contents } from './contents.js';
import { PriceHistory } from './pricehistory.js';
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
  const [editing, setEditing] = useState(false);
  const next = nextLook(watch);
  const name = listing.name || format.host(listing.url);
  return html`<${Head} title=${name} titleLang=${format.langOf(name)} up=${up} />
    <div class="columns"><div>
      <section class="product"><${Picture} src=${listing.picture} big />
        <div>
          <p class="prices"><${Price} money=${listing.price} big /> <${Stock} availability=${listing.availability} always /></p>
          ${!watch.replaced && html`<p>${watch.basis === 'price'
            ? html`<${Change} from=${watch.reference} to=${listing.price} />`
            : html`<span class="change">${t(`basis.${watch.basis}.plain`)} · ${t('watch.reference', { price: format.price(watch.reference) })}</span>`}</p>`}
          ${listing.unit_price && html`<p class="hint">${format.unitPrice(listing.unit_price)}</p>`}
          <p class="hint">${format.checked(listing.checked_at)}${next && html` · <span class="whole">${next}</span>`}</p>
          <${Credit} adapter=${listing.adapter} at=${listing.checked_at} />
        </div>
        ${listing.evidence && html`<${Evidence} foundBy=${listing.evidence.found_by} text=${listing.evidence.text} at=${listing.checked_at} />`}
      </section>
      <${Trouble} watch=${watch} name=${name} editTriggers=${() => setEditing(true)} />
      ${watch.paused && html`<${Notice} kind="calm" icon="pause">${t('watch.paused')}</${Notice}>`}
      ${!watch.replaced && html`<a class="button toshop" href=${listing.url} target="_blank" rel="noopener noreferrer"><span>${t('watch.shop', { host: format.host(listing.url) })}</span> <${Icon} name="out" /></a>`}
      <${History} watch=${watch} />
    </div><div>
      <${Waits} watch=${watch} editing=${editing} setEditing=${setEditing} />
      <${Contents} watch=${watch} />
      <${Foot} watch=${watch} name=${name} />
    </div></div>`;
}

const future = (at) => at && Date.parse(at) > Date.now();

function nextLook({ listing, paused }) {
  if (paused || future(listing.resting_until) || !future(listing.next_check_at)) return '';
  return t('home.next', { at: format.soon(listing.next_check_at) });
}

/** What is wrong, and what the reader can do about it. */
function Trouble({ watch, name, editTriggers }) {
  const { problem, resting_until: rest } = watch.listing;
  const resting = future(rest) ? t('problem.resting', { at: format.soon(rest) }) : '';
  if (watch.replaced) return html`<${Replaced} watch=${watch} name=${name} editTriggers=${editTriggers} />`;
  if (!problem) return resting && html`<${Notice} kind="calm" icon="clock">${resting}</${Notice}>`;
  return html`<${Notice}><${Problem} problem=${problem} />${resting && html`<br />${resting}`}</${Notice}>`;
}

/** The page shows something else than what was to be watched: the reader decides. */
function Replaced({ watch, name, editTriggers }) {
  const { listing } = watch;
  const kind = listing.problem?.kind === 'currency_changed' ? 'currency_changed' : 'another_product';
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const [removing, remove] = useRemove(watch, name);
  const accept = async () => {
    setBusy(true);
    setError('');
    try {
      keepWatch(await api.acceptProduct(watch.id));
      toast(t('replaced.accepted'));
    } catch (err) {
      if (err.status === 409) editTriggers();
      setError(err.status === 409 ? t('replaced.currency') : errorWords(err));
    }
    setBusy(false);
  };
  return html`<${Notice}><p>${t(`replaced.${kind}`)} ${kind === 'another_product' && listing.name && t('replaced.another_product.names', { name: listing.name, product: watch.product })}</p>
    <p class="bad" role="alert">${error}</p>
    <div class="row">
      <a class="button" href=${listing.url} target="_blank" rel="noopener noreferrer">${t('replaced.open')} <${Icon} name="out" /></a>
      <${Button} busy=${busy} onClick=${accept}>${t('replaced.accept')}</${Button}>
      <${Button} kind="danger" busy=${removing} onClick=${remove}>${t('watch.remove')}</${Button}>
    </div></${Notice}>`;
}

function History({ watch }) {
  const { listing } = watch;
  const [days, setDays] = useState(90);
  // A new price means a new point.
  const { data, error, again } = useLoaded(() => api.history(watch.id, days), [watch.id, days, listing.price?.amount, listing.availability]);
  return html`<section class="panel"><div class="bar"><h2>${t('watch.history')}</h2>
      <${Chips} label=${t('watch.history.range')} values=${[30, 90, 365]} value=${days} onChange=${setDays} show=${(d) => t('trigger.days', { days: d })} /></div>
    ${data && html`<${PriceHistory} points=${data.points ?? []} alerts=${data.alerts ?? []} listing=${listing} days=${days} now=${Date.now()}
      reference=${watch.basis === 'price' && !watch.replaced ? watch.reference : null} judged=${!listing.problem} />`}
    ${!data && !error && html`<${Skeleton} rows=${1} kind="graph" />`}
    ${!data && error && html`<p class="hint">${errorWords(error)} <button class="link" type="button" onClick=${again}>${t('app.retry')}</button></p>`}
  </section>`;
}

function Waits({ watch, editing, setEditing }) {
  const button = useReturn(editing);
  return html`<section class="panel"><div class="bar"><h2>${t('watch.triggers')}</h2>
      ${!editing && html`<${Button} ref=${button} kind="small" onClick=${() => setEditing(true)}><${Icon} name="edit" /> ${t('watch.triggers.edit')}</${Button}>`}</div>
    ${editing
      ? html`<${EditWaits} watch=${watch} close=${() => setEditing(false)} />`
      : html`<ul class="waits">${chosen(watch).map((trigger) => html`<li key=${trigger.type}>${words(trigger)}</li>`)}</ul>
          ${watch.basis !== 'price' && html`<p class="hint">${t('add.basis')}: ${t(`basis.${watch.basis}.name`)}</p>`}
          ${watch.note && html`<p class="note"><span class="hint">${t('watch.note')}</span> ${watch.note}</p>`}
          ${watch.last_notified && html`<p class="hint">${t('watch.notified', { at: format.dateTime(watch.last_notified.at), price: format.price(watch.last_notified.price) })}</p>`}`}
  </section>`;
}

function EditWaits({ watch, close }) {
  const { listing } = watch;
  // Where the page shows something else, what was compared before is no measure.
  const reference = watch.replaced ? null : watch.reference;
  const currency = (reference ?? listing.price)?.currency ?? 'JPY';
  const [fields, setFields] = useState(() => draft(listing, chosen(watch)));
  const [note, setNote] = useState(watch.note);
  const [basis, setBasis] = useState(watch.basis);
  const [faults, setFaults] = useState({});
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const form = useRef(null);
  useEffect(() => form.current.querySelector('input').focus(), []);
  const save = async (event) => {
    event.preventDefault();
    if (busy) return;
    const { triggers, faults: bad } = finish(fields, currency);
    setFaults(bad);
    setError(triggers.length ? '' : t('add.pick'));
    if (Object.keys(bad).length) showFault();
    if (!triggers.length || Object.keys(bad).length) return;
    setBusy(true);
    try {
      keepWatch(await api.changeWatch(watch.id, { triggers, note: note.trim(), ...(basis !== watch.basis && { basis }) }));
      close();
      toast(t('watch.saved'));
      return;
    } catch (err) {
      setError(errorWords(err));
    }
    setBusy(false);
  };
  return html`<form ref=${form} onSubmit=${save} novalidate>
    <${Picker} listing=${listing} reference=${reference} fields=${fields} faults=${faults}
      onChange=${(f) => { setFields(f); setFaults({}); setError(''); }} />
    <${Basis} of=${listing} value=${basis} onChange=${setBasis} />
    <${Field} label=${t('add.note')} name="note" value=${note} maxlength="200" autocomplete="off" onInput=${(e) => setNote(e.currentTarget.value)} />
    <p class="bad" role="alert">${error}</p>
    <div class="row"><button class="button main" type="submit" aria-disabled=${busy ? 'true' : undefined}>${t('app.save')}</button>
      <${Button} kind="quiet" onClick=${close}>${t('app.cancel')}</${Button}></div>
  </form>`;
}

/** [busy, remove]: removes the watch at once, and offers to undo it. */
function useRemove(watch, name) {
  const [busy, setBusy] = useState(false);
  const undo = async () => {
    try {
      keepWatch(await api.restoreWatch(watch.id));
      toast(t('watch.restored'));
    } catch (err) {
      toast(errorWords(err));
    }
  };
  const remove = async () => {
    setBusy(true);
    try {
      await api.removeWatch(watch.id);
      dropWatch(watch.id);
      go('/', { replace: true });
      toast(t('watch.removed', { name: name.length > 24 ? `${name.slice(0, 23)}…` : name }), { label: t('app.undo'), run: undo });
    } catch (err) {
      toast(errorWords(err));
      setBusy(false);
    }
  };
  return [busy, remove];
}

function Foot({ watch, name }) {
  const [busy, setBusy] = useState(false);
  const [removing, remove] = useRemove(watch, name);
  const resume = watch.paused || watch.listing.problem?.kind === 'gone';
  const pause = async () => {
    setBusy(true);
    try {
      keepWatch(await api.changeWatch(watch.id, { paused: !resume }));
    } catch (err) {
      toast(errorWords(err));
    }
    setBusy(false);
  };
  return html`<div class="row foot">
    <${Button} busy=${busy} onClick=${pause}><${Icon} name=${resume ? 'play' : 'pause'} /> ${resume ? t('watch.resume') : t('watch.pause')}</${Button}>
    <${Button} kind="danger" busy=${removing} onClick=${remove}><${Icon} name="trash" /> ${t('watch.remove')}</${Button}>
  </div>`;
}
