// Where a price was read: the answer to "why this number?".
import { html } from './html.js';
import { has, t } from './i18n.js';
import * as format from './format.js';

/** The rule that found a price, and the piece of the page it stood in, for who asks. */
export function Evidence({ foundBy, text, at }) {
  return html`<details class="evidence"><summary>${t('evidence.ask')}</summary><${Origin} foundBy=${foundBy} text=${text} at=${at} /></details>`;
}

export function Origin({ foundBy, text, at }) {
  const key = `evidence.${foundBy}`;
  return html`<div class="origin"><p>${has(key) ? t(key) : t('evidence.other', { rule: foundBy })} ${at && t('evidence.at', { at: format.dateTime(at) })}</p>
    ${text && html`<p>${t('evidence.text')} <q translate="no">${text}</q></p>`}</div>`;
}
