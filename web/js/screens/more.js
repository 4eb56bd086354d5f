// The rarer parts of the settings: quiet hours, installing, moving in and out.
import { html, useEffect, useId, useRef, useState } from '../html.js';
import { t } from '../i18n.js';
import * as api from '../api.js';
import { Button, Icon, Mark, errorWords } from '../parts.js';
import { isIOS, installed } from '../push.js';
import { generate } from '../qr.js';
import { loadWatches, toast, useLoaded } from '../store.js';

const usual = { from: '22:00', to: '07:00' };

/** Times of day in which nothing is sent; what falls into them waits and is checked again. */
export function QuietHours() {
  const id = useId();
  const { data } = useLoaded(async () => (api.token() ? api.getProfile() : null), []);
  const [hours, setHours] = useState(null);
  const now = hours ?? { on: Boolean(data?.quiet_hours), ...usual, ...data?.quiet_hours };
  const save = async (next) => {
    const before = now;
    setHours(next);
    if (next.from === next.to || !next.from || !next.to) return;
    try {
      const { timezone } = api.profile();
      await api.setProfile({ timezone, quiet_hours: next.on ? { from: next.from, to: next.to } : null });
      toast(t('watch.saved'));
    } catch (err) {
      setHours(before);
      toast(errorWords(err));
    }
  };
  const time = (name) => html`<label class="field">${t(`settings.quiet.${name}`)}
    <input type="time" required disabled=${!now.on} value=${now[name]} onChange=${(e) => save({ ...now, [name]: e.currentTarget.value })} /></label>`;
  return html`<section class="panel quiethours"><div class="pick"><h2 id=${id}>${t('settings.quiet')}</h2>
      <input type="checkbox" role="switch" aria-label=${t('settings.quiet')} aria-describedby=${`${id}-h`} checked=${now.on}
        onChange=${(e) => save({ ...now, on: e.currentTarget.checked })} /></div>
    <p class="hint" id=${`${id}-h`}>${t('settings.quiet.body')}</p>
    <div class="row times">${time('from')}${time('to')}</div>
    ${now.on && now.from === now.to && html`<p class="bad" role="alert">${t('settings.quiet.same')}</p>`}
  </section>`;
}

let prompt = null; // what Chromium offers, kept for a tap
addEventListener('beforeinstallprompt', (event) => {
  event.preventDefault();
  prompt = event;
  dispatchEvent(new Event('sokone:install'));
});

/** How this browser makes the app one of the phone's. Nothing where it is one already. */
export function Install() {
  const [, redraw] = useState(0);
  useEffect(() => {
    const f = () => redraw((n) => n + 1);
    addEventListener('sokone:install', f);
    return () => removeEventListener('sokone:install', f);
  }, []);
  if (installed()) return null;
  const install = async () => {
    const offer = prompt;
    prompt = null;
    await offer.prompt();
    redraw((n) => n + 1);
  };
  const way = isIOS() ? 'ios' : /Android/.test(navigator.userAgent) ? 'android' : 'desktop';
  return html`<section class="panel"><h2>${t('settings.install')}</h2>
    <p class="hint">${t('settings.install.body')}</p>
    ${prompt ? html`<${Button} onClick=${install}>${t('settings.install.now')}</${Button}>` : html`<p>${t(`settings.install.${way}`)}</p>`}
    ${way === 'ios' && html`<ol class="taps">${['share', 'plus', 'mark'].map((icon, i) => html`<li key=${icon}>
      ${icon === 'mark' ? html`<${Mark} />` : html`<${Icon} name=${icon} />`}<span>${t(`settings.install.ios.${i + 1}`)}</span></li>`)}</ol>`}
  </section>`;
}

/** A text as a QR code, drawn as one path. */
export function QR({ text }) {
  const code = generate(text);
  const size = code.size;
  let path = '';
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      if (code.get(x, y)) path += `M${x} ${y}h1v1h-1z`;
    }
  }
  return html`<div class="qr"><svg viewBox=${`-4 -4 ${size + 8} ${size + 8}`} role="img" aria-label=${t('settings.device.qr')} shape-rendering="crispEdges">
    <rect x="-4" y="-4" width=${size + 8} height=${size + 8} /><path d=${path} /></svg></div>`;
}

/** Watches as a file, out and in. */
export function Transfer() {
  const [busy, setBusy] = useState('');
  const file = useRef(null);
  const attempt = async (what, work) => {
    setBusy(what);
    try {
      await work();
    } catch (err) {
      toast(err.name === 'Problem' ? errorWords(err) : t('settings.import.bad'));
    }
    setBusy('');
  };
  const save = (format) => attempt(format, async () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(await api.exportFile(format));
    link.download = `sokone.${format}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  });
  const read = (event) => {
    const [chosen] = event.currentTarget.files;
    event.currentTarget.value = '';
    if (chosen) attempt('import', async () => {
      const { imported, skipped } = await api.importFile(JSON.parse(await chosen.text()));
      await loadWatches();
      toast(t('settings.import.done', { n: imported, skipped }));
    });
  };
  return html`<section class="panel"><h2>${t('settings.transfer')}</h2>
    <p class="hint">${t('settings.transfer.body')}</p>
    <div class="row">
      <${Button} busy=${busy === 'json'} onClick=${() => save('json')}>${t('settings.export')}</${Button}>
      <${Button} busy=${busy === 'csv'} onClick=${() => save('csv')}>${t('settings.export.csv')}</${Button}>
      <${Button} busy=${busy === 'import'} onClick=${() => file.current.click()}>${t('settings.import')}</${Button}>
      <input ref=${file} hidden type="file" accept="application/json,.json" aria-label=${t('settings.import')} onChange=${read} />
    </div>
  </section>`;
}
