// Offering notifications: on home once there is something to be told of, and in
// the settings.
import { html, useState } from './html.js';
import { t } from './i18n.js';
import { installed, turnOn } from './push.js';
import { Button, errorWords } from './parts.js';
import { toast, useShared } from './store.js';

export function TurnOn({ kind = 'main' }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const on = async () => {
    setBusy(true);
    setError('');
    try {
      if (await turnOn() === 'on') toast(t('push.turnedon'));
    } catch (err) {
      setError(t('push.failed', { why: err.name === 'Problem' ? errorWords(err) : err.message }));
    }
    setBusy(false);
  };
  return html`<${Button} kind=${kind} busy=${busy} onClick=${on}>${t('push.turnon')}</${Button}>
    <p class="bad" role="alert">${error}</p>`;
}

/** What to do about the state of notifications. An installed app has no address bar to look for. */
export const advice = (push) => t(push === 'denied' && installed() ? 'push.denied.app' : `push.${push}.body`);

export function PushOffer() {
  const { push } = useShared();
  if (push !== 'off' && push !== 'denied' && push !== 'install') return null;
  return html`<section class="offer"><div>
      <h2>${push === 'off' ? t('home.push.title') : t(`push.${push}`)}</h2>
      <p>${push === 'off' ? t('home.push.body') : advice(push)}</p></div>
    ${push === 'off' && html`<div><${TurnOn} /></div>`}
    ${push === 'install' && html`<a class="button" href="/settings">${t('push.install.how')}</a>`}
  </section>`;
}
