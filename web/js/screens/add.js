// Adding a product: its address, what the shop says, what to wait for.
import { html, useEffect, useState } from '../html.js';
import { t } from '../i18n.js';
import * as api from '../api.js';
import * as format from '../format.js';
import { Credit, Field, Head, Notice, Picture, Price, Skeleton, Stock, errorWords } from '../parts.js';
import { Evidence } from '../origin.js';
import { Picker } from '../picker.js';
import { back, go } from '../router.js';
import { keepWatch, loadWatches, toast, useLoaded, useShared } from '../store.js';
import { draft, finish, showFault } from '../triggers.js';
import { Address, findAddress } from './address.js';
import { Basis } from './basis.js';
import { PriceHistory } from './pricehistory.js';

/** Share targets put the address where they like: in url, in text or in the title. */
function shared(query) {
  for (const name of ['url', 'text', 'title']) {
    const url = findAddress(query.get(name));
    if (url) return url;
  }
  return '';
}

export function Add({ query }) {
  const url = shared(query);
  return html`<${Head} title=${t('add.title')} up=${() => back('/')} />
    ${url ? html`<${Preview} key=${url} url=${url} />` : html`<div class="panel"><${Address} value=${query.get('text') ?? ''} autofocus /><p class="hint">${t('add.hint')}</p></div>`}`;
}

function Preview({ url }) {
  const { data: quote, error, busy, again } = useLoaded(() => api.quote(url), [url]);
  const { watches } = useShared();
  useEffect(() => { if (api.token() && !watches) loadWatches(); }, []);
  if (busy) {
    return html`<div class="asking" role="status"><p class="hint">${t('add.looking')}<br /><span class="host">${format.host(url)}</span></p></div>
      <${Skeleton} rows=${1} kind="product" /><${Skeleton} rows=${3} kind="row" />`;
  }
  if (error) {
    return html`<div class="panel" role="alert"><${Notice}>${errorWords(error)}</${Notice}>
      <${Address} value=${url} /><p class="quiet"><button class="link" type="button" onClick=${again}>${t('app.retry')}</button></p></div>`;
  }
  const already = watches?.find((w) => w.listing.url === quote.url);
  return html`<div class="columns"><div>
      <${Product} quote=${quote} />
      ${quote.history && html`<section class="panel"><div class="bar"><h2>${t('watch.history')}</h2><span class="hint">${t('add.history')}</span></div>
        <${PriceHistory} points=${quote.history} listing=${quote} days=${90} now=${Date.now()} judged /></section>`}
    </div><div>
      ${already
        ? html`<${Notice} kind="calm" icon="check">${t('add.already')} <a href=${`/watches/${already.id}`}>${t('add.already.open')}</a></${Notice}>`
        : html`<${Choose} quote=${quote} url=${url} />`}
    </div></div>`;
}

function Product({ quote }) {
  return html`<section class="product"><${Picture} src=${quote.picture} big />
    <div><p class="host">${format.host(quote.url)}</p><h2 lang=${format.langOf(quote.name)}>${quote.name || quote.url}</h2>
      <p class="prices"><${Price} money=${quote.price} big /> <${Stock} availability=${quote.availability} always /></p>
      ${!quote.price && html`<p class="hint">${t('add.noprice')}</p>`}
      ${quote.unit_price && html`<p class="hint">${format.unitPrice(quote.unit_price)}</p>`}
      <${Credit} adapter=${quote.adapter} at=${quote.observed_at} />
    </div>
    ${quote.price && html`<${Evidence} foundBy=${quote.found_by} text=${quote.evidence} at=${quote.observed_at} />`}
  </section>`;
}

function Choose({ quote, url }) {
  const [fields, setFields] = useState(() => draft(quote));
  const [basis, setBasis] = useState('price');
  const [note, setNote] = useState('');
  const [faults, setFaults] = useState({});
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const listing = { ...quote, price: quote[basis] ?? quote.price };

  const add = async (event) => {
    event.preventDefault();
    if (busy) return;
    const { triggers, faults: bad } = finish(fields, quote.price?.currency ?? 'JPY');
    setFaults(bad);
    setError(triggers.length ? '' : t('add.pick'));
    if (Object.keys(bad).length) showFault();
    if (!triggers.length || Object.keys(bad).length) return;
    setBusy(true);
    try {
      const watch = await api.addWatch({ url, triggers, basis, ...(note.trim() && { note: note.trim() }) });
      keepWatch(watch);
      toast(t('add.done'));
      go('/', { replace: true });
    } catch (err) {
      if (err.watchId) {
        toast(t('add.already'));
        go(`/watches/${encodeURIComponent(err.watchId)}`, { replace: true });
        return;
      }
      setError(errorWords(err));
      setBusy(false);
    }
  };
  return html`<form onSubmit=${add} novalidate>
    <div class="bar ask"><h2>${t('add.when')}</h2><a class="link" href="/add">${t('add.other')}</a></div>
    <${Picker} listing=${listing} fields=${fields} faults=${faults} onChange=${(f) => { setFields(f); setFaults({}); setError(''); }} />
    <div class="panel">
      <${Basis} of=${quote} value=${basis} onChange=${setBasis} />
      <${Field} label=${t('add.note')} value=${note} maxlength="200" autocomplete="off" onInput=${(e) => setNote(e.currentTarget.value)} />
    </div>
    <div class="sticky">
      <p class="bad" role="alert">${error}</p>
      <button class="button main wide" type="submit" aria-disabled=${busy ? 'true' : undefined}>${busy && html`<span class="spin" aria-hidden="true" />`}${busy ? t('add.adding') : t('add.confirm')}</button>
    </div>
  </form>`;
}
