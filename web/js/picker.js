// Choosing what to wait for: one row per trigger, its number beneath it when on.
import { html, useId } from './html.js';
import { t } from './i18n.js';
import * as format from './format.js';
import { Chips, Field } from './parts.js';
import { amount, off, percents, spans, unitsLike } from './triggers.js';

/** fields is a draft of triggers.js; faults are its faults by type. */
export function Picker({ listing, reference, fields, faults, onChange }) {
  const set = (type, change) => onChange({ ...fields, [type]: { ...fields[type], ...change } });
  const currency = (listing.price ?? reference)?.currency;
  const base = reference ?? listing.price;
  const target = currency && amount(fields.target_price.target, currency);
  const rows = {
    price_drop: base && html`<${Drop} base=${base} field=${fields.price_drop} set=${(c) => set('price_drop', c)} />`,
    target_price: currency && html`<${Target} type="target_price" currency=${currency} field=${fields.target_price} fault=${faults.target_price}
      set=${(c) => set('target_price', c)} label=${t('trigger.target_price.field', { currency: format.symbol(currency) })} />`,
    lowest_in_days: html`<${Span} field=${fields.lowest_in_days} set=${(c) => set('lowest_in_days', c)} />`,
    unit_price: currency && fields.unit_price.unit && html`<${Unit} currency=${currency} field=${fields.unit_price} fault=${faults.unit_price}
      set=${(c) => set('unit_price', c)} />`,
    back_in_stock: '',
  };
  const hints = {
    price_drop: base && (fields.price_drop.percent
      ? t('trigger.price_drop.hint', { percent: format.percent(fields.price_drop.percent), price: format.price(off(base, fields.price_drop.percent)) })
      : t('trigger.price_drop.hint.any', { price: format.price(base) })),
    target_price: target && t(fields.target_price.on ? 'trigger.target_price.hint.on' : 'trigger.target_price.hint', { price: format.price({ amount: target, currency }) }),
    lowest_in_days: t('trigger.lowest_in_days.hint', { days: format.number(fields.lowest_in_days.days) }),
    unit_price: listing.unit_price && t('trigger.unit_price.hint', { price: format.unitPrice(listing.unit_price) }),
    back_in_stock: t('trigger.back_in_stock.hint'),
  };
  return html`<ul class="picker">
    ${Object.keys(rows).filter((type) => rows[type] || type === 'back_in_stock')
      .map((type) => html`<${Row} key=${type} type=${type} hint=${hints[type]} on=${fields[type].on} set=${(on) => set(type, { on })}>${rows[type]}</${Row}>`)}
  </ul>`;
}

function Row({ type, hint, on, set, children }) {
  const id = useId();
  return html`<li class=${on ? 'on' : ''}>
    <div class="pick">
      <label for=${id}><strong>${t(`trigger.${type}`)}</strong><span class="hint" id=${`${id}-h`}>${hint}</span></label>
      <input id=${id} type="checkbox" role="switch" checked=${on} aria-describedby=${`${id}-h`} onChange=${(e) => set(e.currentTarget.checked)} />
    </div>
    ${on && children && html`<div class="more">${children}</div>`}
  </li>`;
}

function Drop({ base, field, set }) {
  const values = percents.includes(field.percent) ? percents : [...percents, field.percent].sort((a, b) => a - b);
  return html`<${Chips} label=${t('trigger.price_drop.group')} values=${values} value=${field.percent} onChange=${(percent) => set({ percent })}
    show=${(p) => html`${p ? format.percent(p) : t('trigger.price_drop.any')}<small>${p ? format.price(off(base, p)) : `< ${format.price(base)}`}</small>`} />`;
}

function Span({ field, set }) {
  const values = spans.includes(field.days) ? spans : [...spans, field.days].sort((a, b) => a - b);
  return html`<${Chips} label=${t('trigger.lowest_in_days.group')} values=${values} value=${field.days}
    onChange=${(days) => set({ days })} show=${(days) => t('trigger.days', { days: format.number(days) })} />`;
}

function Target({ currency, field, fault, set, label }) {
  return html`<div class="amount"><span class="sign" aria-hidden="true">${format.symbol(currency)}</span>
    <${Field} label=${label} hidden value=${field.target} error=${fault} autocomplete="off"
      inputmode=${format.digits(currency) ? 'decimal' : 'numeric'} onInput=${(e) => set({ target: e.currentTarget.value })} /></div>`;
}

function Unit({ currency, field, fault, set }) {
  const values = unitsLike(field.unit);
  return html`<${Target} currency=${currency} field=${field} fault=${fault} set=${set}
      label=${t('trigger.unit_price.field', { unit: format.unit(field.unit), currency: format.symbol(currency) })} />
    ${values.length > 1
      ? html`<${Chips} label=${t('trigger.unit_price')} values=${values} value=${field.unit}
          onChange=${(unit) => set({ unit, target: inUnit(field.target, field.unit, unit) })} show=${format.unit} />`
      : html`<span class="hint">/ ${format.unit(field.unit)}</span>`}`;
}

/** A typed target for another unit: ¥330 per 100 g is ¥3,300 per kg. */
function inUnit(target, from, to) {
  const large = (unit) => unit === 'kg' || unit === 'l';
  const times = large(from) === large(to) ? 1 : large(to) ? 10 : 0.1;
  const amount = Number(target) * times;
  return amount > 0 ? String(Number(amount.toFixed(4))) : target;
}
