// Where the app begins: the frame around the screens, and what goes on beneath them.
import { html, render, useEffect, useRef, useState } from './html.js';
import { setLang, choice, t } from './i18n.js';
import * as api from './api.js';
import * as format from './format.js';
import { Icon, Mark, Missing } from './parts.js';
import { refreshPush } from './push.js';
import { catchLinks, go, reloadAtNextScreen, useRoute } from './router.js';
import { current, loadWatches, toast, update, useShared, watchOnline } from './store.js';
import { Add } from './screens/add.js';
import { Alerts } from './screens/alerts.js';
import { Home } from './screens/home.js';
import { Settings, joinBy } from './screens/settings.js';
import { Watch } from './screens/watch.js';

const REFRESH = 30000; // ms between two looks at the server, while the page is seen

const screens = { home: Home, add: Add, watch: Watch, alerts: Alerts, settings: Settings, missing: Missing };
const tabs = [['home', '/', 'home'], ['add', '/add', 'add'], ['alerts', '/alerts', 'bell'], ['settings', '/settings', 'gear']];

function App() {
  const route = useRoute();
  const shared = useShared();
  const main = useRef(null);
  const first = useRef(true);
  useEffect(() => {
    // Not at the first screen: there the browser's own reading begins at the top.
    if (!first.current && !main.current.contains(document.activeElement)) main.current.querySelector('h1')?.focus({ preventScroll: true });
    first.current = false;
  }, [route.key]);
  const Screen = screens[route.name];
  return html`<a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); main.current.focus(); }}>${t('app.skip')}</a>
    <nav class="tabs" aria-label=${t('app.nav')}>
      <a class="brand" href="/" tabindex="-1" aria-hidden="true"><${Mark} /> Sokone</a>
      ${tabs.map(([name, path, icon]) => html`<a key=${name} href=${path} class=${name}
        aria-current=${route.name === name || (name === 'home' && route.name === 'watch') ? 'page' : undefined}>
        <${Icon} name=${icon} /><span>${t(`nav.${name}`)}</span></a>`)}
    </nav>
    <main id="main" ref=${main} tabindex="-1" class=${route.name}>
      <${Offline} shared=${shared} />
      <${Screen} key=${route.key} id=${route.id} query=${route.query} />
    </main>
    <${Toast} toast=${shared.toast} />`;
}

function Offline({ shared }) {
  const cut = !shared.online || (shared.watchesError && shared.watchesError.status === 0);
  return html`<div role="status" class="offline">${cut && html`<p>${shared.watches?.length && shared.watchesAt
    ? t('app.offline', { ago: format.ago(shared.watchesAt) }) : t('app.offline.plain')}</p>`}</div>`;
}

/**
 * What was said in passing. It goes by itself, but not from under a pointer or
 * the focus, and Ctrl+Z does what it offers, so that nobody has to run for it.
 */
function Toast({ toast: shown }) {
  const [held, hold] = useState(false);
  const close = () => { update({ toast: null }); hold(false); };
  const act = () => { close(); shown.action.run(); };
  useEffect(() => {
    if (!shown || held) return undefined;
    const timer = setTimeout(close, shown.action ? 10000 : 5000);
    return () => clearTimeout(timer);
  }, [shown?.id, held]);
  useEffect(() => {
    if (!shown?.action) return undefined;
    const onKey = (event) => {
      if (event.key !== 'z' || !(event.ctrlKey || event.metaKey) || event.shiftKey || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName)) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [shown?.id]);
  return html`<div class="toasts" role="status">${shown && html`<div key=${shown.id} class="toast"
      onPointerEnter=${() => hold(true)} onPointerLeave=${() => hold(false)} onFocusIn=${() => hold(true)} onFocusOut=${() => hold(false)}><span>${shown.text}</span>
    ${shown.action && html`<button type="button" aria-keyshortcuts="Control+Z Meta+Z" onClick=${act}>${shown.action.label}</button>`}
  </div>`}</div>`;
}

function startWorker() {
  if (!('serviceWorker' in navigator)) return;
  const { serviceWorker } = navigator;
  let controlled = Boolean(serviceWorker.controller);
  serviceWorker.addEventListener('controllerchange', () => {
    if (controlled) reloadAtNextScreen();
    controlled = true;
  });
  serviceWorker.addEventListener('message', ({ data }) => {
    if (data?.type === 'open') go(data.path);
    if (data?.type === 'alert' || data?.type === 'refresh') {
      refresh();
    }
  });
  // Scripts that the worker imports are asked for anew too; they hold the version.
  serviceWorker.register('/sw.js', { updateViaCache: 'none' }).then((registration) => {
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') registration.update().catch(() => {});
    });
  }).catch(() => {}); // without it all works but notifications, and push.js says so
}

/** An address with ?link=CODE joins this browser, unless it has watches of its own. */
async function joinFromAddress() {
  const code = new URLSearchParams(location.search).get('link');
  if (!code || location.pathname === '/add') return;
  history.replaceState(null, '', location.pathname);
  await loadWatches();
  if (current().watches?.length) {
    if (!current().watchesError) toast(t('settings.device.kept'));
    return;
  }
  const wrong = await joinBy(code);
  if (wrong) toast(wrong);
}

api.whenLost(() => {
  setLang(choice()); // the worker's copy went with the rest
  update({ watches: [], push: 'off' });
  toast(t('app.lost'));
});
watchOnline();
catchLinks();
startWorker();
const ready = joinFromAddress();
render(html`<${App} />`, document.getElementById('app'));
ready.then(refreshPush);

/** A page that is looked at shows what is known now. */
function refresh() {
  if (document.visibilityState !== 'visible' || !api.token()) return;
  loadWatches();
  dispatchEvent(new Event('sokone:refresh'));
}
document.addEventListener('visibilitychange', refresh);
setInterval(refresh, REFRESH);
