// Small parts that screens are made of.
import { html, useEffect, useId, useRef, useState } from './html.js';
import { has, t } from './i18n.js';
import * as format from './format.js';
import { go } from './router.js';

const shapes = {
  home: 'M4 11.5 12 5l8 6.5V19a1 1 0 0 1-1 1h-4v-5h-6v5H5a1 1 0 0 1-1-1z',
  add: 'M12 5v14M5 12h14',
  bell: 'M6 16.5V11a6 6 0 0 1 12 0v5.5l1.5 1.5h-15zM10 20.5h4',
  gear: 'M4 7h9M19 7h1M4 17h1M11 17h9M13 7a3 3 0 1 0 6 0 3 3 0 1 0-6 0M5 17a3 3 0 1 0 6 0 3 3 0 1 0-6 0',
  back: 'M15 5l-7 7 7 7',
  share: 'M12 15V4M8.5 7 12 3.5 15.5 7M8 10.5H6v10h12v-10h-2',
  plus: 'M7 4h10a3 3 0 0 1 3 3v10a3 3 0 0 1-3 3H7a3 3 0 0 1-3-3V7a3 3 0 0 1 3-3M12 8.5v7M8.5 12h7',
  out: 'M14 5h5v5M19 5l-8 8M17 14v4a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V8a1 1 0 0 1 1-1h4',
  warn: 'M12 4.5 21 19.5H3zM12 10v4.5M12 17v.2',
  pause: 'M9 6v12M15 6v12',
  play: 'M8 5.5v13l10.5-6.5z',
  trash: 'M5 7h14M10 7V4.5h4V7M7 7l.8 12.5h8.4L17 7',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  clock: 'M12 8v4.5l3 2M4 12a8 8 0 1 0 16 0 8 8 0 1 0-16 0',
  hold: 'M8 12h8M4 12a8 8 0 1 0 16 0 8 8 0 1 0-16 0',
  cross: 'M7 7l10 10M17 7 7 17',
  edit: 'M5 19l1-4L16 5l3 3L9 18z',
  off: 'M6 16.5V11a6 6 0 0 1 9.5-4.9M18 10v6.5l1.5 1.5H9M4 4l16 16',
};

export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${shapes[name]} /></svg>`;
}

export function Mark() {
  return html`<svg class="mark" viewBox="0 0 512 512" aria-hidden="true" focusable="false">
    <rect width="512" height="512" rx="116" /><path d="M104 168h92v72h84v72h68" /><circle cx="384" cy="344" r="40" />
  </svg>`;
}

/** The head of a screen. Its heading takes the focus after a change of screen, so that a screen reader says where it is. */
export function Head({ title, titleLang, children, up }) {
  const heading = useRef(null);
  useEffect(() => {
    document.title = `${title} · Sokone`;
  }, [title]);
  return html`<header class="head">
    ${up && html`<button class="round" type="button" onClick=${up} aria-label=${t('app.back')}><${Icon} name="back" /></button>`}
    <h1 ref=${heading} tabindex="-1" lang=${titleLang}>${title}</h1>
    ${children}
  </header>`;
}

export function Button({ kind = '', busy, children, ...rest }) {
  return html`<button type="button" ...${rest} class=${`button ${kind}`} aria-disabled=${busy ? 'true' : undefined}
    onClick=${busy ? (e) => e.preventDefault() : rest.onClick}>${busy && html`<span class="spin" aria-hidden="true" />`}${children}</button>`;
}

/** A ref for the button that opens something: it has the focus back when that is closed. */
export function useReturn(open) {
  const button = useRef(null);
  const was = useRef(open);
  useEffect(() => {
    if (was.current && !open) button.current?.focus();
    was.current = open;
  }, [open]);
  return button;
}

export function Field({ label, error, hint, hidden, ...input }) {
  const id = useId();
  return html`<div class="field">
    <label for=${id} class=${hidden ? 'unseen' : ''}>${label}</label>
    <input id=${id} ...${input} aria-invalid=${error ? 'true' : undefined} aria-describedby=${error || hint ? `${id}-d` : undefined} />
    ${(error || hint) && html`<p id=${`${id}-d`} class=${error ? 'bad' : 'hint'}>${error || hint}</p>`}
  </div>`;
}

/** A row of choices of which one holds, as radio buttons that look like chips. */
export function Chips({ label, values, value, onChange, show }) {
  const name = useId();
  return html`<div class="chips" role="radiogroup" aria-label=${label}>
    ${values.map((v) => html`<label key=${v} class="chip">
      <input type="radio" name=${name} checked=${v === value} onChange=${() => onChange(v)} /><span>${show(v)}</span>
    </label>`)}
  </div>`;
}

/** The product's picture; a quiet square where there is none or it does not load. */
export function Picture({ src, big }) {
  const [broken, setBroken] = useState('');
  return html`<div class=${`picture ${big ? 'big' : ''}`}>
    ${src && broken !== src
      ? html`<img src=${src} alt="" loading="lazy" decoding="async" referrerpolicy="no-referrer" onError=${() => setBroken(src)} />`
      : html`<${Mark} />`}
  </div>`;
}

export function Price({ money, big }) {
  return html`<span class=${`price ${big ? 'big' : ''}`}>${money ? format.price(money) : t('home.noprice')}</span>`;
}

/** How a price stands against its reference; short where there is little room. */
export function Change({ from, to, short }) {
  if (!from || !to) return null;
  const by = format.change(from, to);
  if (by === null) return null;
  if (Number(from.amount) === Number(to.amount)) return html`<span class="change">${short ? t('home.unchanged') : t('home.reference', { price: format.price(from) })}</span>`;
  const lower = Number(to.amount) < Number(from.amount);
  const sign = lower ? '−' : '+';
  return html`<span class="change">
    <span class=${lower ? 'down' : 'up'}>${sign}${format.percent(Math.abs(by))}</span> ${t('home.was', { price: format.price(from) })}
  </span>`;
}

export function Stock({ availability, always }) {
  if (!availability || (!always && (availability === 'in_stock' || availability === 'unknown'))) return null;
  return html`<span class=${`pill ${availability}`}>${t(`stock.${availability}`)}</span>`;
}

const credits = { rakuten: 'https://webservice.rakuten.co.jp/', yahoo: 'https://developer.yahoo.co.jp/sitemap/' };

/** What a shop's interface asks to be shown beside its prices: its name, and when they were read. */
export function Credit({ adapter, at }) {
  if (!credits[adapter]) return null;
  return html`<p class="credit"><a href=${credits[adapter]} target="_blank" rel="noopener noreferrer">${t(`credit.${adapter}`)}</a>
    ${at && html` · ${t('add.read', { at: format.dateTime(at) })}`}</p>`;
}

/** What is wrong with a listing, in the reader's language where we know the kind. */
export function problemWords(problem, replaced) {
  const key = replaced ? `replaced.${problem.kind}.short` : `problem.${problem.kind}`;
  return has(key) ? t(key) : problem.message;
}

/** A problem with its beginning. */
export function Problem({ problem, replaced }) {
  return html`${problemWords(problem, replaced)} <span class="whole">(${t('problem.since', { at: format.dateTime(problem.since) })})</span>`;
}

export function Notice({ kind = 'warn', icon = 'warn', children }) {
  return html`<div class=${`notice ${kind}`}><${Icon} name=${icon} /><div>${children}</div></div>`;
}

/** Why a call failed, in a sentence. The server's own words are English, so those we know are said anew. */
export function errorWords(err) {
  if (!err.status) return t('error.offline');
  if (err.kind && has(`error.quote.${err.kind}`)) return t(`error.quote.${err.kind}`);
  if (err.status === 429) return t('error.rate', { seconds: err.retryAfter || 60 });
  if (err.status === 404) return t('error.missing');
  if (err.status >= 500) return t('error.server');
  const fields = err.errors.map((e) => e.message).filter(Boolean).join(' ');
  return [err.detail || t('error.bad'), fields].filter(Boolean).join(' ');
}

export function Failed({ title, error, again }) {
  return html`<div class="empty" role="alert">
    <${Icon} name="warn" /><h2>${title}</h2><p>${errorWords(error)}</p>
    <${Button} onClick=${again}>${t('app.retry')}</${Button}>
  </div>`;
}

/** Quiet shapes in place of what is being loaded, so that nothing jumps. */
export function Skeleton({ rows = 3, kind = 'card' }) {
  return html`<div class="skeleton" role="status"><span class="unseen">${t('app.loading')}</span>
    ${Array.from({ length: rows }, (_, i) => html`<div key=${i} class=${`bone ${kind}`} />`)}
  </div>`;
}

export function Missing() {
  return html`<${Head} title="404" /><div class="empty"><h2>${t('app.missing')}</h2>
    <${Button} kind="main" onClick=${() => go('/')}>${t('app.missing.home')}</${Button}></div>`;
}
