// The service worker: notifications, and the app without a network.
// A classic script, because not every browser takes modules here.
'use strict';

importScripts('/shell.js', '/js/db.js');

const DAY = 24 * 60 * 60 * 1000;
const CACHE = `shell-${self.SHELL.version}`;

/* ---- the app shell ------------------------------------------------------ */

// The whole shell is fetched into a cache of its own before this worker takes
// over, so that a page never sees half of one version and half of another.
self.addEventListener('install', (event) => {
  event.waitUntil((async () => {
    const cache = await caches.open(CACHE);
    await cache.addAll(self.SHELL.files.map((path) => new Request(path, { cache: 'no-cache' })));
    await self.skipWaiting();
  })());
});

// Pages load all their modules at start, so one that is open keeps working on
// what it has loaded; it reloads at its next screen (see js/main.js).
self.addEventListener('activate', (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) {
      if (name.startsWith('shell-') && name !== CACHE) await caches.delete(name);
    }
    await self.clients.claim();
    await within(2000, self.sokoneDB.forget(Date.now() - 30 * DAY)).catch(() => {});
  })());
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== self.location.origin) return;
  if (request.mode === 'navigate' && isScreen(url.pathname)) {
    event.respondWith(fromShell('/', request));
  } else if (self.SHELL.files.includes(url.pathname) && url.pathname !== '/') {
    event.respondWith(fromShell(url.pathname, request));
  }
});

function isScreen(path) {
  return /^\/(alerts|settings|add|watches\/[^/]+)?$/.test(path);
}

async function fromShell(path, request) {
  const cache = await caches.open(CACHE);
  return (await cache.match(path)) ?? fetch(request);
}

/* ---- push --------------------------------------------------------------- */

const WORDS = {
  en: {
    generic: 'Something changed in your watches',
    open: 'Open Sokone to see it.',
    now: (price) => `Now ${price}. The price moved after this alert was sent.`,
    over: 'No longer so: it changed after this alert was sent.',
    shop: 'Open the shop',
    stop: 'Stop watching',
  },
  ja: {
    generic: 'ウォッチ中の商品に動きがありました',
    open: 'Sokone を開いて確認してください。',
    now: (price) => `現在は${price}です。お知らせの後に価格が変わりました。`,
    over: 'お知らせの後に状況が変わりました。',
    shop: 'ショップを開く',
    stop: 'ウォッチをやめる',
  },
};

// Whatever arrives, and whatever fails, one notification is shown: a browser
// takes the subscription away from a site whose pushes show nothing.
self.addEventListener('push', (event) => {
  event.waitUntil(onPush(event.data));
});

async function onPush(data) {
  const alert = read(data);
  if (!alert) {
    const lang = await language();
    await show(WORDS[lang].generic, { body: WORDS[lang].open, lang, tag: 'sokone', data: { path: '/alerts' } });
    return;
  }
  const first = await isFirst(alert.eventId);
  await show(alert.title, { ...alert.options, renotify: first, silent: !first });
  await Promise.allSettled([first && count(1), tellPages(alert), correct(alert)]);
}

/** The message of DESIGN.md section 5, or null where it is none. */
function read(data) {
  try {
    const n = data.json().notification;
    if (typeof n?.title !== 'string' || n.title === '') return null;
    const eventId = text(n.data?.event_id) || text(n.tag);
    const watchId = text(n.data?.watch_id);
    return {
      eventId,
      watchId,
      price: n.data?.price,
      title: n.title,
      options: {
        body: text(n.body),
        lang: text(n.lang),
        tag: text(n.tag) || eventId || 'sokone',
        timestamp: Date.parse(n.data?.checked_at) || Date.now(),
        actions: watchId ? actions(n.lang) : [],
        data: { eventId, watchId, path: watchId ? `/watches/${encodeURIComponent(watchId)}` : samePath(n.navigate) },
      },
    };
  } catch {
    return null;
  }
}

const text = (value) => (typeof value === 'string' ? value : '');

function samePath(navigate) {
  try {
    const url = new URL(navigate, self.location.origin);
    return url.origin === self.location.origin && isScreen(url.pathname) ? url.pathname : '/alerts';
  } catch {
    return '/alerts';
  }
}

function actions(lang) {
  const words = WORDS[lang] ?? WORDS.en;
  return [{ action: 'shop', title: words.shop }, { action: 'stop', title: words.stop }];
}

/** The badge of the app's icon is the number of alerts since the list of them was last looked at. */
async function count(by) {
  const n = Math.max(0, (await within(1500, self.sokoneDB.get('unseen')) ?? 0) + by);
  await within(1500, self.sokoneDB.set('unseen', n));
  if (n > 0) await self.navigator.setAppBadge?.(n);
  else await self.navigator.clearAppBadge?.();
}

/** A database that fails or hangs must not silence an alert: it then counts as the first. */
async function isFirst(eventId) {
  if (!eventId) return true;
  try {
    return await within(1500, self.sokoneDB.firstTime(eventId, Date.now()));
  } catch {
    return true;
  }
}

function show(title, options) {
  const full = { icon: '/icons/icon-192.png', badge: '/icons/badge-96.png', ...options };
  return self.registration.showNotification(title, full).catch(
    // An option that this browser refuses must not cost the notification.
    () => self.registration.showNotification(title, { body: full.body, tag: full.tag, data: full.data }),
  );
}

/** Asks whether the alert is still true, and if not says so in the notification that is shown. */
async function correct(alert) {
  if (!alert.eventId) return;
  const token = await within(1500, self.sokoneDB.get('token'));
  if (!token) return;
  const answer = await fetch(`/api/v1/alerts/${encodeURIComponent(alert.eventId)}`, {
    headers: { Authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(15000),
  });
  if (!answer.ok) return;
  const now = await answer.json();
  if (now.true_now !== false) return; // true, or not known
  const shown = await self.registration.getNotifications({ tag: alert.options.tag });
  if (shown.length === 0) return; // dismissed or tapped meanwhile
  const lang = alert.options.lang === 'en' || alert.options.lang === 'ja' ? alert.options.lang : await language();
  const words = WORDS[lang];
  // WebKit does not replace by tag.
  if (!/Chrome|Firefox/.test(navigator.userAgent)) shown.forEach((n) => n.close());
  await show(retitle(alert, now.price_now, lang), {
    ...alert.options,
    body: now.price_now ? words.now(price(now.price_now, lang)) : words.over,
    renotify: false,
    silent: true,
  });
}

/** A title begins with the price that was checked; where that can be told, the one of now takes its place. */
function retitle({ title, price: then }, now, lang) {
  const [first, ...rest] = title.split(' ');
  const figures = (s) => s.replace(/\D/g, '');
  if (!now || !then?.amount || rest.length === 0 || figures(first) !== figures(then.amount)) return title;
  return [price(now, lang), ...rest].join(' ');
}

function price({ amount, currency }, lang) {
  return new Intl.NumberFormat(lang === 'ja' ? 'ja-JP' : 'en', { style: 'currency', currency, currencyDisplay: 'narrowSymbol' })
    .format(amount).replace('￥', '¥');
}

async function tellPages(alert) {
  for (const client of await self.clients.matchAll({ type: 'window', includeUncontrolled: true })) {
    client.postMessage({ type: 'alert', eventId: alert.eventId, watchId: alert.watchId });
  }
}

async function language() {
  const chosen = await within(1500, self.sokoneDB.get('lang')).catch(() => null);
  if (chosen === 'ja' || chosen === 'en') return chosen;
  return /^ja\b/i.test(self.navigator.language ?? '') ? 'ja' : 'en';
}

function within(ms, promise) {
  return Promise.race([promise, new Promise((_, reject) => { setTimeout(() => reject(new Error('timeout')), ms); })]);
}

/* ---- the tap ------------------------------------------------------------ */

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const { path: screen, watchId } = event.notification.data ?? {};
  const path = text(screen) || '/alerts';
  count(-1).catch(() => {});
  if (event.action === 'stop' && watchId) event.waitUntil(stop(watchId).catch(() => openOne(new URL(path, self.location.origin).href)));
  else if (event.action === 'shop' && watchId) event.waitUntil(openShop(watchId, path));
  else event.waitUntil(openOne(new URL(path, self.location.origin).href));
});

async function call(path, options = {}) {
  const token = await within(1500, self.sokoneDB.get('token'));
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const answer = await fetch(`/api/v1${path}`, { headers, signal: AbortSignal.timeout(15000), ...options });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

/** Pauses rather than removes: a slip of the thumb costs nothing. */
async function stop(watchId) {
  await call(`/watches/${encodeURIComponent(watchId)}`, { method: 'PATCH', body: '{"paused":true}' });
  for (const client of await self.clients.matchAll({ type: 'window', includeUncontrolled: true })) client.postMessage({ type: 'refresh' });
}

async function openShop(watchId, path) {
  try {
    const known = (await within(1500, self.sokoneDB.get('watches')))?.watches.find((w) => w.id === watchId);
    const { listing } = known ?? await call(`/watches/${encodeURIComponent(watchId)}`);
    if (!/^https?:/.test(listing.url)) throw new Error('no address');
    return await self.clients.openWindow(listing.url);
  } catch {
    return openOne(new URL(path, self.location.origin).href);
  }
}

/** One window: one that is open, best the one that was opened on it, else a new one. */
async function openOne(href) {
  const windows = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  // A window's address here is the one it was opened on, whatever it shows by now.
  const ours = windows.filter((w) => isScreen(new URL(w.url).pathname)).sort((a, b) => (b.url === href) - (a.url === href));
  for (const client of ours) {
    try {
      const focused = await client.focus();
      // A page of ours changes its screen without loading; one that this worker
      // does not control cannot be told to load, but understands the message.
      focused.postMessage({ type: 'open', path: new URL(href).pathname });
      return focused;
    } catch { /* this window may not be focused; try another */ }
  }
  return self.clients.openWindow(href);
}

/* ---- the subscription changed ------------------------------------------- */

// Firefox says so here; other browsers hardly do, so the page compares at every
// opening too (js/push.js).
self.addEventListener('pushsubscriptionchange', (event) => {
  event.waitUntil((async () => {
    const token = await self.sokoneDB.get('token');
    if (!token) return;
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    let subscription = event.newSubscription;
    if (!subscription) {
      const { public_key: key } = await (await fetch('/api/v1/push/key', { headers })).json();
      subscription = await self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    }
    await fetch('/api/v1/push/subscription', { method: 'PUT', headers, body: JSON.stringify(subscription) });
  })());
});
