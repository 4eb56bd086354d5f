// Prices, dates and numbers as the reader writes them.
import { lang, t } from './i18n.js';

const intl = () => (lang() === 'ja' ? 'ja-JP' : navigator.languages.find((l) => /^en\b/i.test(l)) ?? 'en');

/** Money {amount, currency} as text: ¥1,298. Digits that a currency cannot pay are kept: unit prices have them. */
export function price(money) {
  if (!money?.amount) return '';
  const decimals = (money.amount.split('.')[1] ?? '').length;
  return halfWidth(new Intl.NumberFormat(intl(), {
    style: 'currency', currency: money.currency, currencyDisplay: 'narrowSymbol',
    maximumFractionDigits: Math.max(digits(money.currency), Math.min(decimals, 2)),
  }).format(money.amount));
}

/** The wide yen sign of Japanese locale data tears prices apart. */
const halfWidth = (text) => text.replace('￥', '¥');

export function unitPrice(u) {
  return u ? t('unit.price', { price: price(u), unit: unit(u.per) }) : '';
}

export const unit = (per) => t(`unit.${per}`) ;

/** An amount of content: 1.5 kg. */
export const content = ({ amount, unit: of }) => t('unit.of', { amount: new Intl.NumberFormat(intl(), { maximumFractionDigits: 6 }).format(amount), unit: t(`unit.name.${of}`) });

/** How many digits after the point a currency has. */
export function digits(currency) {
  return new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits;
}

export function symbol(currency) {
  const part = new Intl.NumberFormat(intl(), { style: 'currency', currency, currencyDisplay: 'narrowSymbol' })
    .formatToParts(0).find((p) => p.type === 'currency');
  return halfWidth(part?.value ?? currency);
}

export const percent = (p) => new Intl.NumberFormat(intl(), { style: 'percent', maximumFractionDigits: 1 }).format(p / 100);
export const number = (n) => new Intl.NumberFormat(intl()).format(n);

const dates = (options) => (at) => new Intl.DateTimeFormat(intl(), options).format(new Date(at));
export const date = dates({ month: 'short', day: 'numeric' });
export const dateTime = dates({ month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' });
export const time = dates({ hour: 'numeric', minute: '2-digit' });

/** A time to come: today's by the clock alone. */
export const soon = (at) => (new Date(at).toDateString() === new Date().toDateString() ? time(at) : dateTime(at));

/** "5 minutes ago"; a clock that is a little ahead still says "now". */
export function ago(at, now = Date.now()) {
  const seconds = Math.min(0, Math.round((new Date(at) - now) / 1000));
  const say = new Intl.RelativeTimeFormat(intl(), { numeric: 'auto', style: 'short' });
  if (isNow(seconds)) return t('ago.now');
  for (const [unitName, size] of [['day', 86400], ['hour', 3600], ['minute', 60]]) {
    if (seconds <= -size * 0.95) return tight(say.format(Math.round(seconds / size), unitName));
  }
  return tight(say.format(-1, 'minute'));
}

const isNow = (seconds) => seconds > -45;

/** When a price was last read: "Checked 5 minutes ago". */
export function checked(at) {
  if (!at) return t('home.unchecked');
  return isNow((new Date(at) - Date.now()) / 1000) ? t('home.checked.now') : t('home.checked', { ago: ago(at) });
}

/** Japanese has no space between number and unit. */
const tight = (text) => (lang() === 'ja' ? text.replace(/ /g, '') : text);

/** The change from one price to another in whole percent, rounded towards none; null where they cannot be compared. */
export function change(from, to) {
  if (!from?.amount || !to?.amount || from.currency !== to.currency || !(Number(from.amount) > 0)) return null;
  return Math.trunc((Number(to.amount) / Number(from.amount) - 1) * 100);
}

/** The language of a product's name where its letters tell, so that it is broken and read aloud as such. */
export const langOf = (name) => (/[\u3040-\u30ff]/.test(name ?? '') ? 'ja' : undefined);

export function host(url) {
  try {
    return new URL(url).hostname.replace(/^www\./, '');
  } catch {
    return '';
  }
}
