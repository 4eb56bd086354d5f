// What the package holds, for the unit price: the shop's word, or the reader's.
import { html, useEffect, useId, useRef, useState } from '../html.js';
import { t } from '../i18n.js';
import * as api from '../api.js';
import { readable, stated, units } from '../contents.js';
import * as format from '../format.js';
import { Button, Field, Icon, errorWords, useReturn } from '../parts.js';
import { keepWatch, toast } from '../store.js';

export function Contents({ watch }) {
  const [open, setOpen] = useState(false);
  const button = useReturn(open);
  const { quantity, listing } = watch;
  return html`<section class="panel contents"><div class="bar"><h2>${t('contents.title')}</h2>
      ${!open && html`<${Button} ref=${button} kind="small" onClick=${() => setOpen(true)}><${Icon} name="edit" /> ${t(quantity ? 'contents.edit' : 'contents.set')}</${Button}>`}</div>
    ${listing.unit_price && html`<p class="unitprice">${format.unitPrice(listing.unit_price)}</p>`}
    <p class="hint">${quantity ? t(`contents.${quantity.by}`, { amount: format.content(readable(quantity)) }) : t('contents.none')}</p>
    ${open && html`<${Edit} watch=${watch} close=${() => setOpen(false)} />`}
  </section>`;
}

function Edit({ watch, close }) {
  const { quantity } = watch;
  const start = quantity ? readable(quantity) : { amount: '', unit: 'g' };
  const [amount, setAmount] = useState(start.amount);
  const [unit, setUnit] = useState(start.unit);
  const [fault, setFault] = useState({});
  const [busy, setBusy] = useState(false);
  const box = useRef(null);
  const id = useId();
  useEffect(() => box.current.querySelector('input').focus(), []);
  const fail = (found) => {
    setFault(found);
    box.current.querySelector(found.unit ? 'select' : 'input').focus();
  };

  const change = async (wanted) => {
    if (busy) return;
    setBusy(true);
    const before = quantity?.by === 'you' ? { amount: quantity.amount, unit: quantity.unit } : null;
    try {
      keepWatch(await api.changeWatch(watch.id, { quantity: wanted }));
      close();
      toast(t('contents.saved'), { label: t('app.undo'), run: () => undo(watch.id, before) });
      return;
    } catch (err) {
      fail(faultOf(err, watch));
    }
    setBusy(false);
  };
  const save = (event) => {
    event.preventDefault();
    const wanted = stated(amount, unit);
    if (wanted) change(wanted);
    else fail({ amount: t('contents.bad.amount') });
  };
  return html`<form ref=${box} onSubmit=${save} novalidate>
    <div class="two">
      <${Field} label=${t('contents.amount')} value=${amount} error=${fault.amount} inputmode="decimal" autocomplete="off"
        onInput=${(e) => { setAmount(e.currentTarget.value); setFault({}); }} />
      <div class="field"><label for=${id}>${t('contents.unit')}</label>
        <select id=${id} value=${unit} aria-invalid=${fault.unit ? 'true' : undefined} aria-describedby=${fault.unit ? `${id}-d` : undefined}
          onChange=${(e) => { setUnit(e.currentTarget.value); setFault({}); }}>
          ${units.map((u) => html`<option key=${u} value=${u}>${t(`unit.name.${u}`)}</option>`)}
        </select>
        ${fault.unit && html`<p class="bad" id=${`${id}-d`}>${fault.unit}</p>`}</div>
    </div>
    <p class="bad" role="alert">${fault.all}</p>
    <div class="row"><button class="button main" type="submit" aria-disabled=${busy ? 'true' : undefined}>${t('app.save')}</button>
      <${Button} kind="quiet" onClick=${close}>${t('app.cancel')}</${Button}></div>
    ${quantity?.by === 'you' && html`<button class="link" type="button" onClick=${() => change(null)}>${t('contents.restore')}</button>`}
  </form>`;
}

/** The server's objection beside the field that it names. */
function faultOf(err, watch) {
  const at = err.errors?.[0]?.location;
  if (at === 'body.quantity.amount') return { amount: t('contents.bad.amount') };
  if (at === 'body.quantity.unit') return { unit: t('contents.bad.unit') };
  if (at !== 'body.quantity') return { all: errorWords(err) };
  const waits = watch.triggers.find((trigger) => trigger.type === 'unit_price');
  return { all: waits ? t('contents.bad.trigger', { unit: format.unit(waits.unit) }) : t('contents.bad.trigger.none') };
}

async function undo(id, before) {
  try {
    keepWatch(await api.changeWatch(id, { quantity: before }));
    toast(t('watch.restored'));
  } catch (err) {
    toast(errorWords(err));
  }
}
