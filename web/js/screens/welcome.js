// The first visit: what it is, where to put an address, what one gets.
import { html } from '../html.js';
import { lang, setLang, t } from '../i18n.js';
import * as format from '../format.js';
import { Mark } from '../parts.js';
import { update } from '../store.js';
import { Address } from './address.js';

export function Welcome() {
  return html`<div class="welcome">
    <div class="hero">
      <p class="brand"><${Mark} /> Sokone <span lang="ja">底値</span></p>
      <h1 tabindex="-1">${t('welcome.title')}</h1>
      <p class="lead">${t('welcome.lead')}</p>
      <${Address} />
      <p class="hint trust">${t('welcome.trust')}</p>
    </div>
    <${Example} />
    <p class="quiet more"><a class="link" href="/settings?code">${t('welcome.code')}</a>
      <button class="link" type="button" lang=${other()} onClick=${() => { setLang(other()); update({}); }}>${t('welcome.language')}</button></p>
  </div>`;
}

const other = () => (lang() === 'ja' ? 'en' : 'ja');

function Example() {
  const yen = (amount) => format.price({ amount, currency: 'JPY' });
  return html`<section class="example" aria-label=${t('welcome.example')}>
    <h2>${t('welcome.example')}</h2>
    <div class="sample"><${Mark} />
      <div><p class="from">Sokone <span>${t('welcome.example.now')}</span></p>
        <p class="title">${t('welcome.example.title', { price: yen('1168') })}</p>
        <p>${t('welcome.example.body', { from: yen('1298'), percent: 10 })}</p></div>
    </div>
  </section>`;
}
