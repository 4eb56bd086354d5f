// The screens, the app without a network, and the worker's push handler: in a
// real Chromium, which has no push service here.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import puppeteer from 'puppeteer-core';
import { hands, openPhone, openServer, openShop, until } from './world.mjs';

const axe = readFileSync(new URL('./node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

let shop, busy, server, browser, page, see;
const faults = []; // what the page logged as errors
const abroad = new Set(); // hosts other than the server's that were asked

before(async () => {
  shop = await openShop({ tea: { name: 'Sencha 100g', price: 1298 }, rice: { name: 'Koshihikari 5kg', price: 2480 }, pan: { name: 'Iron frying pan 26cm', price: 3000 } });
  busy = await openShop({ oil: { name: 'Sesame oil 200ml', price: 800 } });
  server = await openServer();
  browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--lang=en'],
  });
  await browser.defaultBrowserContext().overridePermissions(server.base, ['notifications']);
  page = await browser.newPage();
  await page.setViewport({ width: 360, height: 740, isMobile: true, hasTouch: true });
  await page.evaluateOnNewDocument(() => { if (!localStorage.getItem('sokone.lang')) localStorage.setItem('sokone.lang', 'en'); });
  page.on('pageerror', (err) => faults.push(err.message));
  page.on('request', (request) => { const { host } = new URL(request.url()); if (host && !server.base.endsWith(host)) abroad.add(host); });
  see = hands(page);
});

after(async () => {
  await browser?.close();
  await server?.close();
  shop?.close();
  busy?.close();
});

const go = (path) => page.goto(server.base + path, { waitUntil: 'networkidle0' });

test('the first load is small, and from this server alone', async () => {
  const cdp = await page.createCDPSession();
  await cdp.send('Network.enable');
  let bytes = 0;
  cdp.on('Network.loadingFinished', ({ encodedDataLength }) => { bytes += encodedDataLength; });
  await go('/');
  await see.sees('Buy when');
  await cdp.detach();
  assert.ok(bytes > 10_000 && bytes < 150_000, `${bytes} bytes`);
});

test('the policy allows no code but the server’s files', async () => {
  const answer = await go('/');
  const policy = answer.headers()['content-security-policy'];
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /script-src 'self';/);
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
  const ran = await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'self.inline = true';
    document.head.append(script);
    return self.inline;
  });
  assert.equal(ran, undefined);
});

test('a shared page becomes a watch, with a picture through the server', async () => {
  await go(`/add?title=Sencha&text=${encodeURIComponent(`Look: ${shop.url('tea')}`)}`);
  await see.sees('1,298');
  await see.tap('Watch this product');
  await see.sees('1 product');
  await page.waitForFunction(() => document.querySelector('.card img')?.naturalWidth > 0);
  assert.equal(shop.pictures(), 1);
});

test('a picture’s address is right after a restart, and anybody else’s is not', async () => {
  const address = await page.$eval('.card img', (e) => e.src);
  await server.stop();
  await server.start();
  assert.equal((await fetch(address)).status, 200);
  assert.equal((await fetch(address.replace(/tea\.svg$/, 'rice.svg'))).status, 404);
  assert.equal(shop.pictures(), 2);
});

test('triggers, note and pause are changed; a removal is undone', async () => {
  await see.tap('Sencha');
  await see.sees('Price history');
  await see.tap('Change');
  await see.tap('20%');
  const note = await page.waitForSelector('input[name=note]');
  await note.type('for Mother');
  await see.tap('Save');
  await see.sees('20% off');
  await see.sees('for Mother');
  await see.tap('Pause');
  await see.sees('Paused. Nothing');
  await see.tap('Resume');
  await see.tap('Remove');
  await see.sees('Removed');
  await see.tap('Undo');
  await see.sees('It is back');
});

test('quiet hours are kept', async () => {
  await go('/settings');
  await see.tap('Quiet hours', '[role=switch]');
  await see.sees('Saved.');
  await go('/settings');
  await page.waitForFunction(() => document.querySelector('[role=switch][aria-label="Quiet hours"]')?.checked);
  const profile = await page.evaluate(async () => (await fetch('/api/v1/device', { headers: { Authorization: `Bearer ${localStorage.getItem('sokone.token')}` } })).json());
  assert.deepEqual(profile.quiet_hours, { from: '22:00', to: '07:00' });
});

test('the code for a second device is a QR code too', async () => {
  await see.tap('Make a code');
  await page.waitForSelector('.qr svg path');
  const address = await page.$eval('.address-line', (e) => e.textContent);
  const context = await browser.createBrowserContext();
  const second = await context.newPage();
  await second.goto(address);
  await hands(second).sees('Sencha');
  await context.close();
});

test('it can be installed', async () => {
  const cdp = await page.createCDPSession();
  const { installabilityErrors } = await cdp.send('Page.getInstallabilityErrors');
  assert.deepEqual(installabilityErrors.filter((e) => e.errorId !== 'in-incognito'), []);
  assert.deepEqual((await cdp.send('Page.getAppManifest')).errors, []);
});

test('without a network the last known is there, and says so', async () => {
  await go('/');
  await see.sees('Sencha');
  await page.setOfflineMode(true);
  await page.goto(`${server.base}/`);
  await see.sees('Sencha');
  await page.evaluate(() => dispatchEvent(new Event('offline')));
  await see.sees('offline');
  await page.goto(`${server.base}/alerts`);
  await see.sees('Alerts');
  await page.setOfflineMode(false);
});

test('every push shows exactly one notification, whatever it holds', async () => {
  await go('/');
  const cdp = await page.createCDPSession();
  const registrations = [];
  cdp.on('ServiceWorker.workerRegistrationUpdated', (e) => registrations.push(...e.registrations));
  await cdp.send('ServiceWorker.enable');
  const { registrationId } = await until('the worker', () => registrations.find((r) => r.scopeURL.startsWith(server.base)));
  const push = (data) => cdp.send('ServiceWorker.deliverPushMessage', { origin: server.base, registrationId, data });
  const message = (id) => JSON.stringify({
    web_push: 8030,
    notification: {
      title: '¥1,168 Sencha', body: 'Down.', navigate: `${server.base}/watches/w1`, lang: 'en', tag: id,
      data: { event_id: id, watch_id: 'w1', price: { amount: '1168', currency: 'JPY' }, checked_at: new Date().toISOString() },
    },
  });
  const tags = async () => (await see.shown()).map((n) => n.tag).sort();
  // DevTools lose a message to a worker that is still starting, so it is sent until it is there.
  await until('the first', async () => { await push(message('A1')); return (await tags()).join() === 'A1'; });
  await push(message('A1'));
  await push(message('A2'));
  await until('the second', async () => (await tags()).join() === 'A1,A2');
  for (const broken of ['', 'garbage', '{}', 'null', '{"notification":{"title":5}}']) await push(broken);
  await until('one for what says nothing', async () => (await tags()).join() === 'A1,A2,sokone');
});

test('a notification can open the shop and stop the watch', async () => {
  const offered = await page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications({ tag: 'A1' }))[0].actions.map((a) => a.action));
  assert.deepEqual(offered, ['shop', 'stop']);
  const worker = await (await browser.waitForTarget((t) => t.type() === 'service_worker')).worker();
  const watches = () => page.evaluate(async () => (await (await fetch('/api/v1/watches', { headers: { Authorization: `Bearer ${localStorage.getItem('sokone.token')}` } })).json()).watches);
  const click = (action, watchId) => worker.evaluate(async (a, id) => {
    const opened = [];
    const waits = [];
    const event = new Event('notificationclick');
    Object.assign(event, { action: a, notification: { close() {}, data: { watchId: id, path: `/watches/${id}` } }, waitUntil: (p) => waits.push(p) });
    const real = self.clients.openWindow;
    self.clients.openWindow = async (url) => { opened.push(url); };
    self.dispatchEvent(event);
    await Promise.all(waits);
    self.clients.openWindow = real;
    return opened;
  }, action, watchId);
  const [{ id }] = await watches();
  assert.deepEqual(await click('shop', id), [shop.url('tea')]);
  assert.deepEqual(await click('stop', id), []);
  assert.equal((await watches())[0].paused, true);
  await go(`/watches/${id}`);
  await see.tap('Resume');
  await see.sees('Pause');
});

const ours = () => page.evaluate(async () => (await (await fetch('/api/v1/watches', { headers: { Authorization: `Bearer ${localStorage.getItem('sokone.token')}` } })).json()).watches);
const idOf = async (name) => (await ours()).find((w) => w.listing.name.includes(name)).id;

test('what the package holds is corrected, and stays corrected', async () => {
  const path = `/watches/${await idOf('Sencha')}`;
  await go(path);
  await see.sees('Content 100 g, by the shop');
  await see.sees('1,298 per 100 g');
  await see.tap('Correct');
  const amount = await page.waitForSelector('.contents input');
  await amount.click({ count: 3 });
  await amount.type('nothing');
  await see.tap('Save');
  await see.sees('A number above 0');
  await amount.click({ count: 3 });
  await amount.type('50');
  await see.tap('Save');
  await see.sees('2,596 per 100 g');
  await go(path);
  await see.sees('Content 50 g, by you');
  await see.sees('2,596 per 100 g');
  await see.tap('Correct');
  await see.tap('Use the shop’s');
  await see.sees('Content 100 g, by the shop');
  await see.sees('1,298 per 100 g');
  await see.tap('Undo');
  await see.sees('Content 50 g, by you');
});

test('who asks why is told where the number stood', async () => {
  for (const path of [`/watches/${await idOf('Sencha')}`, `/add?url=${encodeURIComponent(shop.url('rice'))}`]) {
    await go(path);
    await see.tap('Why this number?');
    await see.sees('Read from the product data that the page holds');
    assert.match(await page.$eval('.evidence q', (e) => e.textContent), path.startsWith('/add') ? /2480/ : /1298/);
  }
});

test('a product that somebody watches is shown to the next one with its history', async () => {
  const she = await openPhone(browser, server.base);
  await she.go(`/add?url=${encodeURIComponent(shop.url('tea'))}`);
  await she.sees('The last 90 days');
  await she.page.waitForSelector('.columns svg path');
  await she.go(`/add?url=${encodeURIComponent(shop.url('rice'))}`);
  await she.sees('Watch this product');
  assert.equal(await she.page.evaluate(() => document.body.innerText.includes('The last 90 days')), false);
  await she.close();
});

test('a page that shows another product asks, and the answer counts', async () => {
  await go(`/add?url=${encodeURIComponent(shop.url('pan'))}`);
  await see.tap('Watch this product');
  await see.sees('2 products');
  Object.assign(shop.goods.pan, { name: 'Garden hose with nozzle', price: 2000 });
  const replaced = async () => { await server.run('detect'); return (await ours()).find((w) => w.replaced); };
  const path = `/watches/${(await until('it is seen, and seen again', replaced)).id}`;
  await go('/');
  await see.sees('Is it still yours?');
  await go(path);
  await see.sees('Garden hose with nozzle');
  await see.tap('It will do: watch this one');
  await see.sees('Watching what the page shows now');
  await go(path);
  await see.sees('Price history');
  assert.equal((await ours()).find((w) => path.endsWith(w.id)).reference.amount, '2000');
  assert.equal(await page.evaluate(() => document.body.innerText.includes('another product')), false);
  Object.assign(shop.goods.pan, { name: 'Electric kettle', price: 1000 }); // and stays another for what follows
  await until('another again', replaced);
});

test('a shop that wants peace has it, and the watch says until when', async () => {
  await go(`/add?url=${encodeURIComponent(busy.url('oil'))}`);
  await see.tap('Watch this product');
  await see.sees('3 products');
  busy.goods.oil.rest = 7200;
  await server.run('detect');
  await go(`/watches/${await idOf('Sesame')}`);
  await see.sees('The shop asks us to come less often');
  await see.sees('We leave this shop alone until');
  await see.sees('800'); // the last known price stays
});

test('an alert that was not sent says why', async () => {
  shop.goods.tea.price = 900;
  await server.run('detect');
  await server.run('dispatch');
  await go('/alerts');
  await see.sees('Not sent');
  await see.sees('Notifications were off');
});

// What follows # puts a screen into a state: an answer that never comes, one that
// says 500, no network, and what a browser may say of notifications.
function states() {
  const state = location.hash.slice(1);
  if (!state) return;
  const real = self.fetch;
  self.fetch = (resource, options) => {
    if (!String(resource.url ?? resource).includes('/api/v1/')) return real(resource, options);
    if (state === 'hang') return new Promise(() => {});
    if (state === 'fail') return Promise.resolve(new Response('{"status":500,"title":"Internal Server Error"}', { status: 500, headers: { 'Content-Type': 'application/problem+json' } }));
    if (state === 'offline') return Promise.reject(new TypeError('no network'));
    return real(resource, options);
  };
  if (state === 'hang' || state === 'fail') IDBFactory.prototype.open = () => { throw new Error('nothing is known from before'); };
  if (state === 'offline') Object.defineProperty(navigator, 'onLine', { get: () => false });
  if (state === 'denied') Object.defineProperty(Notification, 'permission', { get: () => 'denied' });
  if (state === 'iphone') {
    Object.defineProperty(navigator, 'userAgent', { get: () => 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15' });
    delete window.PushManager;
  }
}

/** Opens whatever can be opened on a screen. */
async function unfold() {
  document.querySelectorAll('summary').forEach((e) => { e.parentElement.open = true; });
  document.querySelectorAll('.bar .button.small').forEach((e) => e.click());
  [...document.querySelectorAll('.settings .button')].find((e) => /code|コード/.test(e.textContent))?.click();
  await new Promise(requestAnimationFrame);
  document.querySelectorAll('.picker [role=switch]:not(:checked)').forEach((e) => e.click());
  await new Promise(requestAnimationFrame);
}

test('no screen has a fault that axe finds: any state, either language, light or dark, narrow or wide', async () => {
  const faultsFound = [];
  const token = await page.evaluate(() => localStorage.getItem('sokone.token'));
  const [tea, pan, oil] = [await idOf('Sencha'), (await ours()).find((w) => w.replaced).id, await idOf('Sesame')].map((id) => `/watches/${id}`);
  const screens = [
    '/', '/add', '/alerts', tea, '/settings?code', `/add?url=${encodeURIComponent(shop.url('rice'))}`, pan, '/add?url=https%3A%2F%2F10.0.0.1%2F', oil, '/watches/none', '/settings#denied', '/#iphone', '/settings#iphone',
    ...['hang', 'fail', 'offline'].flatMap((state) => ['/', '/alerts', tea].map((path) => `${path}#${state}`)),
  ];
  for (const lang of ['ja', 'en']) {
    for (const scheme of ['light', 'dark']) {
      const context = await browser.createBrowserContext();
      const tab = await context.newPage();
      await tab.setBypassCSP(true);
      await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
      await tab.evaluateOnNewDocument((l) => localStorage.setItem('sokone.lang', l), lang);
      await tab.evaluateOnNewDocument(states);
      for (const path of ['/', '/alerts', ...screens].map((p, i) => (i < 2 ? `${p}?first` : p))) {
        await tab.setViewport({ width: 360, height: 740 });
        await tab.goto(server.base + path);
        await until(`${lang} ${path} is drawn`, () => tab.evaluate((loading) => document.querySelector('h1') && Boolean(document.querySelector('.skeleton')) === loading, path.endsWith('#hang')));
        await tab.evaluate(unfold);
        await tab.evaluate(axe);
        for (const width of [360, 1440]) {
          if (width !== 360) await tab.setViewport({ width, height: 900 });
          const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          if (wide > 0) faultsFound.push(`${lang} ${scheme} ${path}: ${wide} px wider than ${width}`);
          const violations = await tab.evaluate(async () => (await window.axe.run(document, { resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }))
            .violations.map((v) => `${v.id} ${v.nodes[0].html.slice(0, 160)}`));
          faultsFound.push(...violations.map((v) => `${lang} ${scheme} ${path} ${width}: ${v}`));
        }
        if (path === '/alerts?first') await tab.evaluate((t) => localStorage.setItem('sokone.token', t), token);
      }
      await context.close();
    }
  }
  assert.deepEqual(faultsFound, []);
});

test('nothing failed on the way, and no other host was asked', () => {
  assert.deepEqual(faults, []);
  assert.deepEqual([...abroad], []);
});
