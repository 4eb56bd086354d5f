// The service worker's answers to pushes and taps, each against a world that is
// broken in one way, in a real Chromium.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import puppeteer from 'puppeteer-core';
import { openPhone, openServer, openShop, until } from './world.mjs';

let shop, server, browser, she, worker, id;

before(async () => {
  shop = await openShop({ tea: { name: 'Sencha 100g', price: 1298 } });
  server = await openServer();
  browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--lang=en'],
  });
  she = await openPhone(browser, server.base);
  await she.context.overridePermissions(server.base, ['notifications']);
  await she.go(`/add?url=${encodeURIComponent(shop.url('tea'))}`);
  await she.tap('Watch this product');
  await she.sees('1 product');
  id = await she.page.evaluate(async () => (await self.sokoneDB.get('watches')).watches[0].id);
  worker = await she.worker();
  await worker.evaluate(() => {
    const show = self.registration.showNotification.bind(self.registration);
    self.registration.showNotification = async (title, options) => {
      await show(title, options); // what the browser refuses is not shown
      self.shown.push({ title, ...options });
    };
    self.real = { fetch: self.fetch, transaction: IDBDatabase.prototype.transaction };
  });
});

beforeEach(() => worker.evaluate(async () => {
  self.shown = [];
  self.fetch = self.real.fetch;
  IDBDatabase.prototype.transaction = self.real.transaction;
  for (const n of await self.registration.getNotifications()) n.close();
}));

after(async () => {
  await browser?.close();
  await server?.close();
  shop?.close();
});

/** Delivers a push with this text, null for none; what was shown for it until the event was over. */
const push = (text) => worker.evaluate(async (sent) => {
  const waits = [];
  const event = new Event('push');
  Object.assign(event, { data: sent === null ? null : { json: () => JSON.parse(sent) }, waitUntil: (p) => waits.push(p) });
  self.dispatchEvent(event);
  await Promise.all(waits);
  return self.shown.splice(0);
}, text);

const message = (tag, more) => JSON.stringify({
  web_push: 8030,
  notification: { title: '¥1,168 Sencha', body: 'Down.', navigate: `${server.base}/watches/${id}`, lang: 'en', tag, data: { event_id: tag, watch_id: id, price: { amount: '1168', currency: 'JPY' } }, ...more },
});

test('an alert and its copy: one notification each, the copy without a sound', async () => {
  const [first, ...none] = await push(message('A1'));
  assert.deepEqual([none.length, first.title, first.tag, first.silent, first.renotify], [0, '¥1,168 Sencha', 'A1', false, true]);
  const [copy, ...more] = await push(message('A1'));
  assert.deepEqual([more.length, copy.tag, copy.silent, copy.renotify], [0, 'A1', true, false]);
  assert.equal((await she.shown()).length, 1);
});

const unreadable = {
  'nothing': null, 'no text': '', 'no JSON': 'garbage', 'null': 'null', 'a list': '[]', 'a number': '7', 'no notification': '{}', 'an empty title': '{"notification":{"title":""}}',
  'a title that is no text': '{"notification":{"title":5}}', 'fields of other kinds': '{"notification":{"title":"x","body":{},"tag":[1],"lang":7,"navigate":{},"data":"x"}}',
  'no tag': '{"notification":{"title":"x"}}', 'an address elsewhere': '{"notification":{"title":"x","navigate":"https://evil.example/"}}',
};
const broken = {
  'as it should': () => {},
  'failing': () => { IDBDatabase.prototype.transaction = () => { throw new DOMException('disk full', 'QuotaExceededError'); }; },
  'hanging': () => {
    const never = new Proxy(() => ({}), { get: () => never, apply: () => ({}) });
    IDBDatabase.prototype.transaction = () => ({ objectStore: () => never });
  },
};
for (const [how, breakIt] of Object.entries(broken)) {
  test(`whatever arrives shows exactly one notification, with a database ${how}`, { timeout: 60000 }, async () => {
    await worker.evaluate(`(${breakIt})()`);
    for (const [what, text] of Object.entries({ ...unreadable, 'an alert': message(`B ${how}`) })) {
      if (how === 'hanging' && !['nothing', 'an alert'].includes(what)) continue; // each costs the time that it is waited for
      const shown = await push(text);
      assert.equal(shown.length, 1, `${what}: ${JSON.stringify(shown)}`);
      assert.ok(shown[0].title && shown[0].tag && shown[0].data.path.startsWith('/'), `${what}: ${JSON.stringify(shown)}`);
    }
  });
}

/** Pushes an alert while the server answers so about it; the one notification that stays. */
async function tell(tag, answer, more) {
  await worker.evaluate((a) => {
    self.fetch = async () => { if (a === null) throw new TypeError('no network'); return Response.json(a.body ?? a, { status: a.status ?? 200 }); };
  }, answer);
  await push(message(tag, more));
  const all = await she.shown();
  assert.equal(all.length, 1);
  return all[0];
}
const yen = (amount) => ({ amount, currency: 'JPY' });

test('what is no longer so is corrected in place', async () => {
  const moved = await tell('C1', { true_now: false, price_now: yen('1480') });
  assert.equal(moved.title, '¥1,480 Sencha');
  assert.match(moved.body, /^Now ¥1,480/);
});
test('… in Japanese too', async () => {
  const moved = await tell('C2', { true_now: false, price_now: yen('1480') }, { lang: 'ja' });
  assert.match(moved.body, /^現在は¥1,480/);
});
test('… and says so where there is no price any more', async () => {
  const over = await tell('C3', { true_now: false, price_now: null });
  assert.equal(over.title, '¥1,168 Sencha');
  assert.match(over.body, /^No longer so/);
});
for (const [what, answer] of Object.entries({
  'still true': { true_now: true, price_now: yen('1168') }, 'not known': { true_now: null, price_now: null },
  'a server that fails': { status: 500, body: {} }, 'no network': null,
})) {
  test(`nothing is corrected on ${what}`, async () => {
    const left = await tell(`D ${what}`, answer);
    assert.deepEqual([left.title, left.body], ['¥1,168 Sencha', 'Down.']);
  });
}

test('a notification that was dismissed is not shown again by its correction', async () => {
  await worker.evaluate(() => {
    self.fetch = async () => {
      for (const n of await self.registration.getNotifications()) n.close();
      await new Promise((gone) => {
        const look = async () => ((await self.registration.getNotifications()).length ? setTimeout(look, 10) : gone());
        look();
      });
      return Response.json({ true_now: false, price_now: { amount: '1480', currency: 'JPY' } });
    };
  });
  assert.equal((await push(message('E1'))).length, 1);
  assert.equal((await she.shown()).length, 0);
});

test('of two windows the one on the watch comes to the front, and no third opens', async () => {
  await she.go('/settings');
  const other = await she.context.newPage();
  await other.goto(`${server.base}/watches/${id}`);
  await worker.evaluate(() => {
    self.focused = [];
    self.opened = [];
    // The browser lets a window be focused after a real tap alone.
    self.WindowClient.prototype.focus = async function focus() { self.focused.push(new URL(this.url).pathname); return this; };
    self.clients.openWindow = async (url) => { self.opened.push(url); };
  });
  const windows = () => worker.evaluate(async () => (await self.clients.matchAll({ type: 'window', includeUncontrolled: true })).length);
  await until('both windows', async () => (await windows()) === 2);
  const closed = await worker.evaluate(async (watchId) => {
    const waits = [];
    let closes = 0;
    const event = new Event('notificationclick');
    Object.assign(event, { action: '', notification: { close() { closes++; }, data: { watchId, path: `/watches/${watchId}` } }, waitUntil: (p) => waits.push(p) });
    self.dispatchEvent(event);
    await Promise.all(waits);
    return closes;
  }, id);
  assert.equal(closed, 1);
  assert.deepEqual(await worker.evaluate(() => [self.focused, self.opened]), [[`/watches/${id}`], []]);
});
