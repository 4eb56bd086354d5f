// The promise, seen by the one who gets the push: a real Firefox, which subscribes,
// decrypts and shows.
import assert from 'node:assert/strict';
import { createECDH } from 'node:crypto';
import { after, before, test } from 'node:test';
import puppeteer from 'puppeteer-core';
import { hands, openPush, openServer, openShop, until } from './world.mjs';

let push, shop, server, browser, page, see;

before(async () => {
  shop = await openShop({
    tea: { name: 'Sencha', price: 1500 }, rice: { name: 'Koshihikari', price: 1500 }, soap: { name: 'Dish soap', price: 1500 },
  });
  push = await openPush();
  server = await openServer();
  browser = await puppeteer.launch({
    browser: 'firefox', executablePath: process.env.FIREFOX, headless: true,
    extraPrefsFirefox: {
      'intl.accept_languages': 'en', 'dom.push.serverURL': push.url, 'dom.push.testing.allowInsecureServerURL': true, 'dom.push.connection.enabled': true,
      'permissions.default.desktop-notification': 1, 'alerts.useSystemBackend': false, // headless has no tray
      'network.connectivity-service.enabled': false, 'network.captive-portal-service.enabled': false,
      'dom.push.retryBaseInterval': 500,
    },
  });
  page = await browser.newPage();
  see = hands(page);
});

after(async () => {
  await browser?.close();
  await server?.close();
  push?.close();
  shop?.close();
});

const api = (method, path) => page.evaluate(async (m, p) => (await fetch(`/api/v1${p}`, { method: m, headers: { Authorization: `Bearer ${localStorage.getItem('sokone.token')}` } })).json(), method, path);

async function open(path) {
  await page.goto(server.base + path);
  await see.sees(path === '/settings' ? 'Notifications' : '');
}

/** Watches a product for any drop, by the screens. */
async function watch(code) {
  await open(`/add?url=${encodeURIComponent(shop.url(code))}`);
  await see.sees(shop.goods[code].name);
  await see.tap('Watch this product');
  await see.sees('Watching.');
}

/** The price falls, and is seen. */
async function fall(code, price) {
  shop.goods[code].price = price;
  await server.run('detect');
}

test('a drop is shown with the price that is true', async () => {
  await watch('tea');
  assert.equal(push.registered.length, 0, 'nothing is subscribed before a tap asks for it');
  await open('/settings');
  await see.tap('Turn on notifications');
  await see.sees('On for this browser');
  await fall('tea', 1200);
  await server.run('dispatch');
  const [shown] = await until('a notification', async () => { const all = await see.shown(); return all.length && all; });
  assert.match(shown.title, /1,200/);
  assert.match(shown.title, /Sencha/);
  assert.equal(push.posts.length, 1);
  await until('an acknowledgement', () => push.acks.length === 1);
  assert.equal(push.acks[0].code, 100);
  assert.deepEqual((await api('GET', '/alerts')).alerts.map((a) => a.state), ['sent']);
});

test('killed between the answer of the push service and the commit: two pushes, one notification', async () => {
  await watch('rice');
  const posts = push.posts.length;
  await fall('rice', 1100);
  push.beforeAnswer = () => {
    push.beforeAnswer = null;
    server.pass.kill('SIGKILL');
    return 'silence';
  };
  assert.equal(await server.run('dispatch', { mayFail: true }), null, 'the dispatcher was killed');
  await until('the second push', async () => { await server.run('dispatch'); return push.posts.length === posts + 2; });
  await until('both acknowledged', () => push.acks.length === posts + 2);
  assert.deepEqual(push.acks.map((a) => a.code), [100, 100, 100]);
  const [first, second] = push.posts.slice(-2);
  assert.equal(first.topic, second.topic);
  assert.notEqual(first.version, second.version);
  const shown = (await see.shown()).filter((n) => /1,100/.test(n.title));
  assert.equal(shown.length, 1);
  assert.equal((await api('GET', `/alerts/${shown[0].tag}`)).state, 'sent');
  assert.equal(push.nacks.length, 0);
});

test('a price that rises after the push is corrected in the notification that is shown', async () => {
  await watch('soap');
  await fall('soap', 1000);
  push.beforeAnswer = () => {
    shop.goods.soap.price = 1480; // before the worker asks
    return 'answer';
  };
  await server.run('dispatch');
  push.beforeAnswer = null;
  const corrected = await until('the correction', async () => (await see.shown()).find((n) => /1,480/.test(n.body)));
  assert.match(corrected.title, /1,480/);
  assert.equal((await see.shown()).filter((n) => n.tag === corrected.tag).length, 1);
});

test('a subscription that the push service lost is back by itself', async () => {
  const [before] = push.registered;
  push.forget();
  const [now] = await until('a new subscription', () => push.registered.length === 1 && push.registered);
  assert.notEqual(now, before);
  await until('a test push to it', async () => (await api('POST', '/push/test')).outcome === 'accepted');
  assert.equal(push.posts.at(-1).channelID, now);
});

test('after a change of the server’s key the next opening subscribes again', async () => {
  const [before] = push.registered;
  await server.stop();
  const pair = createECDH('prime256v1');
  server.env.SOKONE_VAPID_PUBLIC_KEY = pair.generateKeys('base64url');
  server.env.SOKONE_VAPID_PRIVATE_KEY = Buffer.concat([Buffer.alloc(32), pair.getPrivateKey()]).subarray(-32).toString('base64url'); // it comes without its leading zeros
  await server.start();
  await open('/');
  await until('a new subscription', () => push.registered.length === 1 && push.registered[0] !== before);
  await open('/settings');
  await see.sees('On for this browser');
  assert.equal((await api('POST', '/push/test')).outcome, 'accepted');
  assert.equal(push.posts.at(-1).channelID, push.registered[0]);
});

test('turned off, nothing is subscribed any more', async () => {
  await open('/settings');
  await see.tap('Turn off');
  await until('no subscription', () => push.registered.length === 0);
  await see.sees('Turn on notifications');
});
