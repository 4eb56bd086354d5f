// What a watch can wait for: suggestions from a price, and words for them.
// Amounts are decimal strings; numbers are computed here only to suggest.
import { t } from './i18n.js';
import * as format from './format.js';

export const order = ['price_drop', 'target_price', 'lowest_in_days', 'unit_price', 'back_in_stock'];
export const percents = [0, 5, 10, 20];
export const spans = [30, 90, 180, 365];

const units = {
  '100 g': ['100 g', 'kg'], kg: ['100 g', 'kg'], '100 ml': ['100 ml', 'l'], l: ['100 ml', 'l'],
};
/** The units that a unit price can also be stated in. */
export const unitsLike = (per) => units[per] ?? [per];

/** price × (1 − percent/100), cut to what the currency can pay. */
export function off(money, percent) {
  const places = 10 ** format.digits(money.currency);
  const amount = Math.floor(Number(money.amount) * places * (1 - percent / 100) + 1e-6) / places;
  return { amount: String(amount), currency: money.currency };
}

/** A price about ten percent lower that a person would name: 1,298 → 1,150. */
export function roundOff(money) {
  const lower = Number(money.amount) * 0.9;
  const step = 10 ** Math.floor(Math.log10(lower) - 1) / 2;
  const places = format.digits(money.currency);
  const amount = Math.max(Math.floor(lower / step) * step, 10 ** -places);
  return { amount: amount.toFixed(places).replace(/\.0+$/, ''), currency: money.currency };
}

/** The picker's fields for a listing: what is suggested, and what a watch has already. */
export function draft({ price, unit_price: unitPrice, availability }, chosen) {
  const fields = {
    price_drop: { on: false, percent: 5 },
    target_price: { on: false, target: price ? roundOff(price).amount : '' },
    lowest_in_days: { on: false, days: 90 },
    unit_price: { on: false, target: unitPrice ? roundOff(unitPrice).amount : '', unit: unitPrice?.per ?? '' },
    back_in_stock: { on: false },
  };
  for (const trigger of chosen ?? []) {
    const field = fields[trigger.type];
    if (!field) continue; // one of a newer server
    field.on = true;
    if (trigger.percent != null) field.percent = Number(trigger.percent);
    if (trigger.days != null) field.days = trigger.days;
    // A target in a currency that the shop does not ask any more is none.
    if (trigger.target != null && (!price || trigger.target.currency === price.currency)) field.target = trigger.target.amount;
    if (trigger.unit) field.unit = trigger.unit;
  }
  if (!chosen) fields[availability === 'out_of_stock' ? 'back_in_stock' : 'price_drop'].on = true;
  return fields;
}

/** A typed amount as a decimal string, or null: full-width digits and grouping are what people type. */
export function amount(text, currency) {
  const plain = text.normalize('NFKC').replace(/[\s,¥$€£円]/g, '');
  if (!/^\d{1,12}(\.\d+)?$/.test(plain) || !(Number(plain) > 0)) return null;
  const decimals = plain.split('.')[1]?.replace(/0+$/, '').length ?? 0;
  return decimals <= format.digits(currency) ? plain : null;
}

/** The triggers that a draft stands for, and the fields at fault. */
export function finish(fields, currency) {
  const triggers = [];
  const faults = {};
  for (const type of order) {
    const field = fields[type];
    if (!field.on) continue;
    const trigger = { type };
    if (type === 'price_drop') trigger.percent = field.percent;
    if (type === 'lowest_in_days') trigger.days = field.days;
    if (type === 'unit_price') trigger.unit = field.unit;
    if (type === 'target_price' || type === 'unit_price') {
      const target = amount(field.target, currency);
      if (!target) faults[type] = t('trigger.bad.amount', { example: '980' });
      else trigger.target = { amount: target, currency };
    }
    triggers.push(trigger);
  }
  return { triggers, faults };
}

/** Takes the reader to the first field at fault, once it is drawn. */
export function showFault() {
  requestAnimationFrame(() => {
    const field = document.querySelector('[aria-invalid="true"]');
    field?.scrollIntoView({ block: 'center' });
    field?.focus({ preventScroll: true });
  });
}

/** A trigger in a few words: "10% off". */
export function words(trigger) {
  switch (trigger.type) {
    case 'price_drop':
      return Number(trigger.percent) > 0 ? t('wait.price_drop', { percent: format.percent(Number(trigger.percent)) }) : t('wait.price_drop.any');
    case 'target_price':
      return t('wait.target_price', { price: format.price(trigger.target) });
    case 'lowest_in_days':
      return t('wait.lowest_in_days', { days: format.number(trigger.days) });
    case 'unit_price':
      return t('wait.unit_price', { price: format.price(trigger.target), unit: format.unit(trigger.unit) });
    case 'back_in_stock':
      return t('wait.back_in_stock');
  }
  return '';
}

/** The chosen triggers of a watch; those that every watch carries are not shown. */
export const chosen = (watch) => watch.triggers.filter((trigger) => order.includes(trigger.type));
