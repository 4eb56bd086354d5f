// The app as a part of the phone: installed, updated, told apart from its twin on
// another device, used without a mouse. In a real Chromium.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import puppeteer from 'puppeteer-core';
import { openPhone, openServer, openShop, until } from './world.mjs';

const jsQR = readFileSync(new URL('./node_modules/jsqr/dist/jsQR.js', import.meta.url), 'utf8');

let shop, server, browser;

before(async () => {
  shop = await openShop({ tea: { name: 'Sencha 100g', price: 1298 }, rice: { name: 'Koshihikari 5kg', price: 2480 } });
  server = await openServer();
  browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--lang=en'],
  });
});

after(async () => {
  await browser?.close();
  await server?.close();
  shop?.close();
});

const phone = (options) => openPhone(browser, server.base, options);

async function denyNotifications({ context }) {
  const cdp = await browser.target().createCDPSession();
  await cdp.send('Browser.setPermission', { permission: { name: 'notifications' }, setting: 'denied', origin: server.base, browserContextId: context.id });
}

const api = (page, path) => page.evaluate(async (p) => (await fetch(`/api/v1${p}`, { headers: { Authorization: `Bearer ${localStorage.getItem('sokone.token')}` } })).json(), path);

/** Watches a product by the screens. */
async function watch(phone, code) {
  await phone.go(`/add?url=${encodeURIComponent(shop.url(code))}`);
  await phone.tap('Watch this product');
  await phone.sees('1 product');
}

test('what is exported, erased and imported again is there again', async () => {
  const she = await phone();
  const folder = mkdtempSync(join(tmpdir(), 'sokone-export-'));
  const cdp = await browser.target().createCDPSession();
  await cdp.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder, browserContextId: she.context.id });
  await watch(she, 'tea');
  await she.go('/settings');
  for (const [button, file] of [['Export', 'sokone.json'], ['Export as a table', 'sokone.csv']]) {
    await she.tap(button);
    await until(file, () => existsSync(join(folder, file)));
  }
  assert.match(readFileSync(join(folder, 'sokone.csv'), 'utf8'), /Sencha 100g,.*1298,JPY/);
  const before = await she.page.evaluate(() => localStorage.getItem('sokone.token'));
  await she.tap('Erase everything');
  await she.tap('Erase for good');
  await she.sees('Buy when');
  assert.notEqual(await she.page.evaluate(() => localStorage.getItem('sokone.token')), before);
  const refused = await fetch(`${server.base}/api/v1/watches`, { headers: { Authorization: `Bearer ${before}` } });
  assert.equal(refused.status, 401);
  await she.go('/settings');
  const input = await she.page.waitForSelector('input[type=file]');
  await input.uploadFile(join(folder, 'sokone.json'));
  await she.sees('1 brought in');
  await input.uploadFile(join(folder, 'sokone.csv'));
  await she.sees('no export of Sokone');
  await she.go('/');
  await she.sees('Sencha');
  rmSync(folder, { recursive: true });
  await she.close();
});

test('the QR code reads as the address that links the second device', async () => {
  const first = await phone();
  await watch(first, 'tea');
  await first.go('/settings');
  await first.tap('Make a code');
  const code = await first.page.waitForSelector('.qr');
  await code.evaluate((e) => e.scrollIntoView({ block: 'center', behavior: 'instant' }));
  const picture = await code.screenshot({ encoding: 'base64' });
  const blank = await browser.newPage();
  await blank.evaluate(jsQR);
  const read = await blank.evaluate(async (png) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const canvas = document.createElement('canvas');
    Object.assign(canvas, { width: image.width, height: image.height });
    const pen = canvas.getContext('2d');
    pen.drawImage(image, 0, 0);
    return self.jsQR(pen.getImageData(0, 0, image.width, image.height).data, image.width, image.height)?.data;
  }, picture);
  assert.match(read, new RegExp(`^${server.base}/\\?link=`));
  const second = await phone();
  await second.page.goto(read);
  await second.sees('Sencha');
  await Promise.all([blank.close(), first.close(), second.close()]);
});

test('the app’s icon wears the number of new alerts until they are looked at', async () => {
  const she = await phone({ prepare: () => {
    self.badges = [];
    navigator.setAppBadge = async (n) => { self.badges.push(n); };
    navigator.clearAppBadge = async () => { self.badges.push(0); };
  } });
  await watch(she, 'tea');
  const worker = await she.worker();
  await worker.evaluate(() => {
    self.badges = [];
    self.navigator.setAppBadge = async (n) => { self.badges.push(n); };
    self.navigator.clearAppBadge = async () => { self.badges.push(0); };
  });
  const push = (id) => worker.evaluate(async (tag) => {
    const waits = [];
    const event = new Event('push');
    Object.assign(event, { data: { json: () => ({ notification: { title: 'x', tag, data: { event_id: tag } } }) }, waitUntil: (p) => waits.push(p) });
    self.registration.showNotification = async () => {};
    self.dispatchEvent(event);
    await Promise.all(waits);
  }, id);
  for (const id of ['E1', 'E2', 'E2']) await push(id); // the second E2 is a copy
  assert.deepEqual(await worker.evaluate(() => self.badges), [1, 2]);
  await she.go('/alerts');
  await until('the badge goes', () => she.page.evaluate(() => self.badges.includes(0)));
  await push('E3');
  assert.equal(await worker.evaluate(() => self.badges.at(-1)), 1);
  await she.close();
});

test('a browser that offers to install is taken at its word, by a tap', async () => {
  const she = await phone();
  await she.go('/settings');
  await she.sees('Install the app');
  await she.page.evaluate(() => {
    const offer = new Event('beforeinstallprompt', { cancelable: true });
    offer.prompt = async () => { self.prompted = true; };
    dispatchEvent(offer);
    self.held = offer.defaultPrevented;
  });
  assert.equal(await she.page.evaluate(() => self.held), true);
  await she.tap('Install', 'button');
  await until('the prompt', () => she.page.evaluate(() => self.prompted));
  await she.close();
});

test('an iPhone is told to install first, and offered no button that cannot work', async () => {
  const she = await phone({ prepare: () => {
    Object.defineProperty(navigator, 'userAgent', { get: () => 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1' });
    delete window.PushManager;
    delete window.Notification;
  } });
  await watch(she, 'tea');
  await she.go('/settings');
  await she.sees('Add Sokone to the Home Screen first');
  await she.sees('On iPhone and iPad only the installed app gets notifications');
  assert.equal(await she.page.evaluate(() => document.body.innerText.includes('Turn on notifications')), false);
  await she.close();
});

test('the way to install fits the phone, and is not shown in what is installed', async () => {
  const she = await phone();
  await she.page.setUserAgent({ userAgent: 'Mozilla/5.0 (Android 16; Mobile; rv:145.0) Gecko/145.0 Firefox/145.0' });
  await she.go('/settings');
  await she.sees('Open the browser’s menu');
  await she.close();
  const app = await phone({ prepare: () => {
    const real = self.matchMedia.bind(self);
    self.matchMedia = (query) => (query === '(display-mode: standalone)' ? { matches: true } : real(query));
  } });
  await app.go('/settings');
  await app.sees('Erase everything');
  assert.equal(await app.page.evaluate(() => document.body.innerText.includes('Install the app')), false);
  await denyNotifications(app);
  await app.go('/settings'); // it has no address bar
  await app.sees('choose Sokone among the apps');
  await app.close();
});

test('permission is asked for by a tap alone, and a refusal is explained', async () => {
  const she = await phone({ prepare: () => {
    self.asked = 0;
    Notification.requestPermission = async () => { self.asked++; return 'default'; };
  } });
  await watch(she, 'tea');
  for (const path of ['/', '/alerts', '/settings']) {
    await she.go(path);
    await she.sees('Settings');
    assert.equal(await she.page.evaluate(() => self.asked), 0, path);
  }
  await she.tap('Turn on notifications');
  await until('the question', () => she.page.evaluate(() => self.asked === 1));
  await she.sees('Turn on notifications'); // waved away: it can be asked again
  await denyNotifications(she);
  await she.go('/settings');
  await she.sees('Blocked by your browser');
  await she.sees('only you can allow them again');
  await she.close();
});

test('a tap on a notification ends in one window', async () => {
  const she = await phone();
  await watch(she, 'tea');
  const [{ id }] = (await api(she.page, '/watches')).watches;
  const worker = await she.worker();
  // The browser lets a window be focused after a real tap alone.
  await worker.evaluate(() => {
    self.focused = [];
    self.opened = [];
    self.WindowClient.prototype.focus = async function focus() { self.focused.push(new URL(this.url).pathname); return this; };
    self.clients.openWindow = async (url) => { self.opened.push(new URL(url).pathname); };
  });
  const tap = () => worker.evaluate(async (watchId) => {
    self.focused.length = 0;
    self.opened.length = 0;
    const waits = [];
    const event = new Event('notificationclick');
    Object.assign(event, { action: '', notification: { close() {}, data: { watchId, path: `/watches/${watchId}` } }, waitUntil: (p) => waits.push(p) });
    self.dispatchEvent(event);
    await Promise.all(waits);
    return { focused: self.focused, opened: self.opened };
  }, id);
  await she.go('/settings');
  const shows = (path) => until(path, () => she.page.evaluate((p) => location.pathname === p, path));
  assert.deepEqual(await tap(), { focused: ['/settings'], opened: [] });
  await shows(`/watches/${id}`);
  await she.go(`/watches/${id}`); // opened on it, and since moved elsewhere
  await she.tap('Alerts');
  await shows('/alerts');
  assert.deepEqual(await tap(), { focused: [`/watches/${id}`], opened: [] });
  await shows(`/watches/${id}`);
  await she.page.goto('about:blank');
  assert.deepEqual(await tap(), { focused: [], opened: [`/watches/${id}`] });
  await she.close();
});

/** The server behind a door that can hand out a newer version of the app, whose libraries have other names. */
async function openNewer() {
  let newer = false;
  const hash = /(?<=\.)[0-9a-f]{10}(?=\.mjs)/g;
  const turned = (text) => text.replace(hash, (name) => [...name].reverse().join(''));
  const door = createServer(async (req, res) => {
    const headers = { ...req.headers };
    delete headers['if-none-match'];
    delete headers.host;
    const body = ['GET', 'HEAD'].includes(req.method) ? undefined : Buffer.concat(await Array.fromAsync(req));
    const path = newer ? turned(req.url) : req.url; // the old name leads nowhere
    const answer = await fetch(server.base + path, { method: req.method, headers, body, redirect: 'manual' });
    let content = Buffer.from(await answer.arrayBuffer());
    if (newer && /\.m?js$/.test(path)) content = Buffer.from(turned(content.toString()));
    if (newer && req.url === '/shell.js') content = Buffer.from(content.toString().replace(/"version":"/, '"version":"newer'));
    if (newer && req.url === '/js/words.en.js') content = Buffer.from(content.toString().replace(/'settings.title': '[^']*'/, "'settings.title': 'Newer settings'"));
    if (newer && req.url === '/js/screens/alerts.js') content = Buffer.from(`${content}\nself.newerAlerts = true;`);
    for (const [name, value] of answer.headers) if (!['content-encoding', 'content-length', 'etag', 'transfer-encoding', 'connection'].includes(name)) res.setHeader(name, value);
    res.writeHead(answer.status).end(content);
  });
  await new Promise((resolve) => { door.listen(0, '127.0.0.1', resolve); });
  return { base: `http://localhost:${door.address().port}`, update() { newer = true; }, close: () => { door.close(); door.closeAllConnections(); } };
}

test('a new version strands nobody: the open page works on, and is whole at its next screen', async () => {
  const door = await openNewer();
  const she = await phone();
  await she.go('/', door.base);
  await she.sees('Buy when');
  await she.worker();
  await until('the worker controls the page', () => she.page.evaluate(() => Boolean(navigator.serviceWorker.controller)));
  door.update();
  await she.page.evaluate(async () => {
    const changed = new Promise((resolve) => { navigator.serviceWorker.addEventListener('controllerchange', resolve); });
    await (await navigator.serviceWorker.ready).update();
    await changed;
  });
  await she.sees('Buy when'); // nothing is torn from under the reader
  const [library] = await she.page.evaluate(() => performance.getEntriesByType('resource').map((e) => e.name).filter((name) => /\.mjs$/.test(name)));
  assert.equal((await fetch(library)).status, 404, 'what the open page was made of is gone from the server');
  await she.page.evaluate(() => { self.old = true; });
  await she.tap('Settings');
  await she.sees('Newer settings');
  assert.equal(await she.page.evaluate(() => self.old), undefined, 'the page has loaded anew');
  assert.equal(await she.page.evaluate(() => self.newerAlerts), true, 'all of it is of the new version');
  await she.page.setOfflineMode(true);
  await she.go('/settings', door.base);
  await she.sees('Newer settings');
  await she.close();
  door.close();
});

const says = {
  en: { loading: 'Loading', error: 'Try again', offline: 'offline', alerts: 'No alerts yet' },
  ja: { loading: '読み込み', error: 'もう一度試す', offline: 'オフライン', alerts: 'お知らせ' },
};

for (const lang of ['en', 'ja']) {
  test(`every list says that it loads, that it failed, that it is old, that it is empty (${lang})`, async () => {
    const her = await phone({ lang });
    await her.go(`/add?url=${encodeURIComponent(shop.url('tea'))}`);
    await her.page.waitForSelector('form button[type=submit]');
    await her.page.$eval('form button[type=submit]', (e) => e.click());
    await her.page.waitForSelector('.card');
    const [{ id }] = (await api(her.page, '/watches')).watches;
    const token = await her.page.evaluate(() => localStorage.getItem('sokone.token'));
    await her.go('/alerts');
    await her.sees(says[lang].alerts);
    await her.page.waitForSelector('.empty');
    const paths = ['/', '/alerts', `/watches/${id}`];
    for (const mode of ['hang', 'fail']) {
      const she = await phone({ lang, prepareWith: { mode, token }, prepare: (with_) => {
        localStorage.setItem('sokone.token', with_.token);
        const real = self.fetch;
        self.fetch = (resource, options) => {
          if (!String(resource.url ?? resource).includes('/api/v1/')) return real(resource, options);
          return with_.mode === 'hang' ? new Promise(() => {}) : Promise.resolve(new Response('{"status":500,"title":"Internal Server Error"}', { status: 500, headers: { 'Content-Type': 'application/problem+json' } }));
        };
      } });
      for (const path of paths) {
        await she.go(path);
        if (mode === 'hang') await she.page.waitForSelector('.skeleton[role=status]');
        else await she.page.waitForSelector('.empty[role=alert]');
        await until(`${mode} of ${path}`, () => she.page.evaluate((t) => document.body.textContent.includes(t), mode === 'hang' ? says[lang].loading : says[lang].error));
      }
      await she.close();
    }
    for (const path of paths) { // the last known, and its age
      await her.go(path);
      await her.page.waitForSelector(path === '/alerts' ? '.empty' : 'h1');
      await until('kept', () => her.page.evaluate(() => self.sokoneDB.get('watches')));
      await her.page.setOfflineMode(true);
      await her.go(path);
      await until(`${path} without a network`, () => her.page.evaluate((t) => document.querySelector('.offline')?.textContent.includes(t), says[lang].offline));
      if (path !== '/alerts') await her.sees('Sencha');
      await her.page.setOfflineMode(false);
    }
    await her.close();
  });
}

test('a watch is made without a mouse, and the focus is always seen', async () => {
  const she = await phone();
  const { page } = she;
  await page.setViewport({ width: 1280, height: 800 });
  await she.go('/');
  await she.sees('Buy when');
  const here = () => page.evaluate(() => {
    const e = document.activeElement;
    // A link that fills its card wears the ring on its ::after; a switch or a chip on the label.
    const ringed = [[e], [e, '::after'], [e.nextElementSibling ?? e], [e.closest('label') ?? e]].some(([of, part]) => {
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(of, part);
      return (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none';
    });
    return { what: e.tagName === 'INPUT' ? e.type : e.textContent.trim(), tag: e.tagName, seen: e === document.body || ringed };
  });
  const reach = async (wanted) => {
    for (let n = 0; n < 60; n++) {
      await page.keyboard.press('Tab');
      const now = await here();
      assert.ok(now.seen, `the focus is not seen on ${now.tag} “${now.what}”`);
      if (wanted(now)) return;
    }
    assert.fail('not reached by the keyboard');
  };
  await reach((e) => e.tag === 'INPUT');
  await page.keyboard.type(shop.url('rice'));
  await page.keyboard.press('Enter');
  await she.sees('2,480');
  await reach((e) => e.tag === 'BUTTON' && e.what === 'Watch this product');
  await page.keyboard.press('Enter');
  await she.sees('1 product');
  await reach((e) => e.tag === 'A' && e.what.includes('Koshihikari'));
  await page.keyboard.press('Enter');
  await she.sees('Price history');
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1', 'a screen reader is told where it is');
  await she.close();
});
