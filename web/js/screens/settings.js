// Notifications, language, a second device, and leaving.
import { html, useEffect, useRef, useState } from '../html.js';
import { choice, lang, setLang, t } from '../i18n.js';
import * as api from '../api.js';
import * as format from '../format.js';
import { Button, Chips, Field, Head, Icon, errorWords } from '../parts.js';
import { refreshPush, turnOff } from '../push.js';
import { TurnOn, advice } from '../pushoffer.js';
import { Install, QR, QuietHours, Transfer } from './more.js';
import { go } from '../router.js';
import { loadWatches, toast, update, useShared } from '../store.js';

export function Settings({ query }) {
  return html`<${Head} title=${t('settings.title')} />
    <div class="settings">
      <${Notifications} /><${QuietHours} /><${Install} /><${Language} /><${Devices} open=${query.has('code')} /><${Transfer} /><${Erase} />
      <p class="hint about">${t('settings.about')}</p>
    </div>`;
}

function Notifications() {
  const { push } = useShared();
  const [busy, setBusy] = useState('');
  useEffect(() => { refreshPush(); }, []); // permission may have changed in the browser's settings
  const test = async () => {
    setBusy('test');
    try {
      const answer = await api.testPush();
      toast(answer.outcome === 'accepted' ? t('push.test.sent') : t('push.test.failed', { answer: answer.status || answer.outcome }));
      if (answer.outcome === 'gone') await refreshPush(); // subscribes again
    } catch (err) {
      toast(errorWords(err));
    }
    setBusy('');
  };
  const off = async () => {
    setBusy('off');
    try {
      await turnOff();
    } catch (err) {
      toast(errorWords(err));
    }
    setBusy('');
  };
  return html`<section class="panel"><h2>${t('settings.push')}</h2>
    <p class=${`pushstate ${push}`}><${Icon} name=${push === 'on' ? 'bell' : 'off'} /> <span role="status">${t(`push.${push}`)}</span></p>
    ${push !== 'on' && push !== 'unknown' && html`<p class="hint">${advice(push)}</p>`}
    ${push === 'unknown' && html`<div class="buttonless" />`}
    ${push === 'off' && html`<${TurnOn} />`}
    ${push === 'on' && html`<div class="row"><${Button} busy=${busy === 'test'} onClick=${test}>${busy === 'test' ? t('push.testing') : t('push.test')}</${Button}>
      <${Button} kind="quiet" busy=${busy === 'off'} onClick=${off}>${t('push.turnoff')}</${Button}></div>`}
  </section>`;
}

const languages = { ja: '日本語', en: 'English' };

function Language() {
  const choose = (value) => {
    setLang(value);
    update({}); // every screen again, in the other language
    if (api.token()) api.setProfile({ locale: lang() }).catch((err) => toast(errorWords(err)));
  };
  return html`<section class="panel"><h2>${t('settings.language')}</h2>
    <${Chips} label=${t('settings.language')} values=${['auto', 'ja', 'en']} value=${choice()} onChange=${choose}
      show=${(v) => languages[v] ?? t('settings.language.auto')} />
  </section>`;
}

function Devices({ open }) {
  const [made, setMade] = useState(null);
  const [busy, setBusy] = useState(false);
  const make = async () => {
    setBusy(true);
    try {
      setMade(await api.linkCode());
    } catch (err) {
      toast(errorWords(err));
    }
    setBusy(false);
  };
  const address = made && `${location.origin}/?link=${encodeURIComponent(made.code)}`;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(address);
      toast(t('settings.device.copied'));
    } catch { /* it is there to be read */ }
  };
  return html`<section class="panel"><h2>${t('settings.device')}</h2>
    <p class="hint">${t('settings.device.body')}</p>
    ${made
      ? html`<div class="made" role="status"><${QR} text=${address} /><p>${t('settings.device.code')}</p><p class="code address-line">${address}</p>
          <p>${t('settings.device.enter')} <strong class="code">${made.code.replace(/.{4}(?=.)/g, '$& ')}</strong></p>
          <p class="hint">${t('settings.device.expires', { at: format.time(made.expires_at) })}</p>
          ${navigator.clipboard && html`<${Button} onClick=${copy}>${t('settings.device.copy')}</${Button}>`}</div>`
      : html`<${Button} busy=${busy} onClick=${make}>${t('settings.device.make')}</${Button}>`}
    <${UseCode} open=${open} />
  </section>`;
}

function UseCode({ open }) {
  const { watches } = useShared();
  const [code, setCode] = useState('');
  const [error, setError] = useState('');
  const box = useRef(null);
  useEffect(() => {
    if (!watches) loadWatches();
    if (open) box.current?.querySelector('input, summary')?.focus();
  }, []);
  const join = async (event) => {
    event.preventDefault();
    if (!code.trim()) return;
    const said = await joinBy(code);
    setError(said);
    if (!said) go('/', { replace: true });
  };
  return html`<details open=${open} ref=${box}><summary>${t('settings.device.use')}</summary>
    ${watches?.length
      ? html`<p class="hint">${t('settings.device.use.full')}</p>`
      : html`<form class="join" onSubmit=${join} novalidate>
          <${Field} label=${t('settings.device.field')} value=${code} error=${error} autocomplete="one-time-code" autocapitalize="characters"
            onInput=${(e) => { setCode(e.currentTarget.value); setError(''); }} />
          <button class="button main" type="submit">${t('settings.device.join')}</button>
        </form>`}
  </details>`;
}

/** Joins this browser to the user of a link code; returns what is wrong, or nothing. */
export async function joinBy(code) {
  try {
    await api.ensureDevice(code.trim());
    await loadWatches();
    refreshPush();
    toast(t('settings.device.joined'));
    return '';
  } catch (err) {
    return err.status === 404 || err.status === 422 || err.status === 400 ? t('settings.device.bad') : errorWords(err);
  }
}

function Erase() {
  const [busy, setBusy] = useState(false);
  const erase = async () => {
    setBusy(true);
    try {
      if (api.token()) {
        await turnOff().catch(() => {}); // the server forgets the subscription with the device anyway
        await api.erase();
      }
      update({ watches: [], push: 'off' });
      toast(t('settings.erase.done'));
      go('/', { replace: true });
    } catch (err) {
      toast(errorWords(err));
    }
    setBusy(false);
  };
  return html`<section class="panel"><details><summary>${t('settings.erase')}</summary>
    <p class="hint">${t('settings.erase.body')}</p>
    <${Button} kind="danger" busy=${busy} onClick=${erase}>${t('settings.erase.confirm')}</${Button}>
  </details></section>`;
}
