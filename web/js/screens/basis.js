// Which price is compared. Only what the shop states can be.
import { html, useId } from '../html.js';
import { t } from '../i18n.js';
import * as format from '../format.js';

const all = ['price', 'total', 'effective'];

/** of is a listing or a quote; a basis chosen before stays to be seen. */
export function Basis({ of, value, onChange }) {
  const id = useId();
  const known = (b) => b === 'price' || b === value || Boolean(of[b]);
  const alone = all.filter(known).length === 1;
  return html`<div class="field"><label for=${id}>${t('add.basis')}</label>
    <select id=${id} value=${value} disabled=${alone} aria-describedby=${alone ? `${id}-d` : undefined} onChange=${(e) => onChange(e.currentTarget.value)}>
      ${all.map((b) => html`<option key=${b} value=${b} disabled=${!known(b)}>${t(`basis.${b}.name`)}${of[b] ? ` (${format.price(of[b])})` : ''}</option>`)}
    </select>
    ${alone && html`<p class="hint" id=${`${id}-d`}>${t('basis.unknown')}</p>`}
  </div>`;
}
