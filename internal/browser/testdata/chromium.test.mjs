// The screens, the app without a network, and the worker's push handler: in a
// real Chromium, which has no push service here.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import puppeteer from 'puppeteer-core';
import { hands, openServer, openShop, until } from './world.mjs';

const axe = readFileSync(new URL('./node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

let shop, server, browser, page, see;
const faults = []; // what the page logged as errors
const abroad = new Set(); // hosts other than the server's that were asked

before(async () => {
  shop = await openShop({ tea: { name: 'Sencha 100g', price: 1298 }, rice: { name: 'Koshihikari 5kg', price: 2480 } });
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

test('a shared page becomes a watch, with a picture through the server', async () => {
  await go(`/add?title=Sencha&text=${encodeURIComponent(`Look: ${shop.url('tea')}`)}`);
  await see.sees('1,298');
  await see.tap('Watch this product');
  await see.sees('1 product');
  await page.waitForFunction(() => document.querySelector('.card img')?.naturalWidth > 0);
  assert.equal(shop.pictures(), 1);
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

test('an alert that was not sent says why', async () => {
  shop.goods.tea.price = 900;
  await server.run('detect');
  await server.run('dispatch');
  await go('/alerts');
  await see.sees('Not sent');
  await see.sees('Notifications were off');
});

test('no screen has a fault that axe finds, in either language, light or dark', async () => {
  const cases = [];
  const [id] = await page.evaluate(async () => (await (await fetch('/api/v1/watches', { headers: { Authorization: `Bearer ${localStorage.getItem('sokone.token')}` } })).json()).watches.map((w) => w.id));
  const token = await page.evaluate(() => localStorage.getItem('sokone.token'));
  const screens = ['/', '/add', `/add?url=${encodeURIComponent(shop.url('rice'))}`, '/add?url=https%3A%2F%2F10.0.0.1%2F', `/watches/${id}`, '/watches/none', '/alerts', '/settings?code'];
  for (const lang of ['ja', 'en']) {
    for (const scheme of ['light', 'dark']) {
      const context = await browser.createBrowserContext();
      const tab = await context.newPage();
      await tab.setBypassCSP(true);
      await tab.setViewport({ width: 360, height: 740 });
      await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
      await tab.evaluateOnNewDocument((l) => localStorage.setItem('sokone.lang', l), lang);
      for (const path of ['first', ...screens]) {
        await tab.goto(server.base + (path === 'first' ? '/' : path), { waitUntil: 'networkidle0' });
        await tab.evaluate(() => {
          document.querySelectorAll('summary').forEach((e) => { e.parentElement.open = true; });
          document.querySelectorAll('.picker [role=switch]:not(:checked)').forEach((e) => e.click());
        });
        const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wide > 0) cases.push(`${lang} ${scheme} ${path}: ${wide} px too wide`);
        await tab.evaluate(axe);
        const { violations } = await tab.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
        cases.push(...violations.map((v) => `${lang} ${scheme} ${path}: ${v.id} ${v.nodes[0].html.slice(0, 160)}`));
        if (path === 'first') await tab.evaluate((t) => localStorage.setItem('sokone.token', t), token);
      }
      await context.close();
    }
  }
  assert.deepEqual(cases, []);
});

test('nothing failed on the way, and no other host was asked', () => {
  assert.deepEqual(faults, []);
  assert.deepEqual([...abroad], []);
});
