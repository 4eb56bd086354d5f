// The field for a product's address, on the first visit and on the add screen.
import { html, useState } from '../html.js';
import { t } from '../i18n.js';
import { Button, Field } from '../parts.js';
import { go } from '../router.js';

/**
 * The first http(s) address in a text that a person pasted or an app shared.
 * Within a sentence it ends at the first letter that is not ASCII: Japanese
 * needs no space there. Alone, it may hold such letters.
 */
export function findAddress(text) {
  const bare = (text ?? '').trim();
  if (/^https?:\/\/\S+$/i.test(bare) && URL.canParse(bare) && !/[。、「」]/.test(bare)) return bare;
  const found = /https?:\/\/[!#-;=?-~]+/i.exec(bare);
  if (found) return found[0].replace(/[.,;:!)\]}]+$/, '');
  return /^[\w-]+(\.[\w-]+)+(:\d+)?\/\S*$/.test(bare) ? `https://${bare}` : '';
}

export function Address({ value = '', autofocus }) {
  const [text, setText] = useState(value);
  const [error, setError] = useState('');
  const look = (from) => {
    const url = findAddress(from);
    if (!url) setError(from.trim() ? t('add.notaddress') : t('add.empty'));
    else go(`/add?url=${encodeURIComponent(url)}`);
  };
  const paste = async () => {
    try {
      const clip = await navigator.clipboard.readText();
      setText(clip);
      look(clip);
    } catch { /* refused: the field is there to paste into */ }
  };
  return html`<form class="address" novalidate onSubmit=${(e) => { e.preventDefault(); look(text); }}>
    <${Field} label=${t('add.address')} type="url" inputmode="url" autocomplete="off" autocapitalize="off" spellcheck=${false} enterkeyhint="go"
      placeholder=${t('add.placeholder')} value=${text} error=${error} autofocus=${autofocus}
      onInput=${(e) => { setText(e.currentTarget.value); setError(''); }} />
    <div class="row">
      <button class="button main" type="submit">${t('add.look')}</button>
      ${navigator.clipboard?.readText && html`<${Button} onClick=${paste}>${t('add.paste')}</${Button}>`}
    </div>
  </form>`;
}
