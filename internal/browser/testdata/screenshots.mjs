// Draws every screen of the app in every state, phone and desktop, light and
// dark, Japanese and English, into .screenshots at the top of the repository;
// names of screens as arguments draw only those. Two are kept for the README in
// web/screenshots.
//
// The app and its server are the real ones. What the server answers about prices
// is made up here, in the form of the API, because a season and a failing shop
// cannot be waited for.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';

const top = fileURLToPath(new URL('../../../', import.meta.url));
const out = join(top, '.screenshots');
const only = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const temporary = mkdtempSync(join(tmpdir(), 'sokone-shots-'));
process.env.SOKONE_BINARY = join(temporary, 'sokone');
execFileSync('go', ['build', '-o', process.env.SOKONE_BINARY, './cmd/sokone'], { cwd: top, stdio: 'inherit' });
const { openServer, openShop, until } = await import('./world.mjs');

// One typeface for both scripts, as phones have, where the machine has one.
const fonts = join(temporary, 'fonts.conf');
writeFileSync(fonts, `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><include ignore_missing="yes">/etc/fonts/fonts.conf</include>
${['system-ui', 'sans', 'sans-serif', 'DejaVu Sans'].map((family) => `<match target="pattern"><test name="family"><string>${family}</string></test><edit name="family" mode="prepend" binding="strong"><string>Noto Sans CJK JP</string></edit></match>`).join('')}</fontconfig>`);

/* ---- what the server answers -------------------------------------------- */

const goods = {
  tea: ['煎茶 ティーバッグ 100袋', '#5f9e5c', 'uji-chaho.example'],
  rice: ['無洗米 こしひかり 5kg', '#c9a44c', 'kome.example'],
  soap: ['食器用洗剤 詰替 1380ml×6個', '#5b8def', 'item.rakuten.co.jp'],
  coffee: ['Coffee beans, medium roast, 1 kg', '#8d6247', 'roastery.example'],
  water: ['天然水 500ml×24本', '#3fa9b5', 'mizu.example'],
  towel: ['今治タオル フェイスタオル 5枚セット ホワイト', '#b7a6c9', 'towel-shop.example'],
};
const shop = await openShop(Object.fromEntries(Object.entries(goods).map(([code, [name, colour]]) => [code, { name, price: 1000, colour }])));
const server = await openServer();
const call = async (method, path, body, token) => (await fetch(`${server.base}/api/v1${path}`, {
  method, headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, body: JSON.stringify(body),
})).json();
const token = (await call('POST', '/devices', { locale: 'ja', timezone: 'Asia/Tokyo' })).device_token;
const pictures = {};
for (const code of Object.keys(goods)) pictures[code] = (await call('POST', '/quotes', { url: shop.url(code) }, token)).picture;

const yen = (n) => ({ amount: String(n), currency: 'JPY' });
const ago = (minutes) => new Date(Date.now() - minutes * 60000).toISOString();
const DAY = 1440;
const evidence = (price) => ({ found_by: 'json-ld', text: `offers.price: ${price} JPY` });

function watch(code, price, reference, triggers, { listing, ...more } = {}) {
  const [name, , host] = goods[code];
  return {
    id: code,
    listing: {
      id: code, adapter: 'page', url: `https://${host}/item/${code}`, name, image_url: 'x', picture: pictures[code], price: yen(price), total: null, effective: null,
      unit_price: null, availability: 'in_stock', checked_at: ago(7), next_check_at: ago(-24), evidence: evidence(price), problem: null, resting_until: null, ...listing,
    },
    triggers, basis: 'price', quantity: null, note: '', paused: false, replaced: false, reference: yen(reference), last_notified: null, created_at: ago(90 * DAY), ...more,
  };
}
const target = (n) => ({ type: 'target_price', target: yen(n) });
const drop = (percent) => ({ type: 'price_drop', percent });
const tea = watch('tea', 1098, 1298, [drop(0), target(980)], {
  listing: { unit_price: { ...yen(11), per: 'piece' }, total: yen(1648), effective: yen(1637) },
  quantity: { amount: '100', unit: 'piece', by: 'shop' }, note: '母の分も', last_notified: { at: ago(12 * DAY), price: yen(1148) },
});
const rice = watch('rice', 4380, 4480, [target(3980), { type: 'unit_price', target: yen(80), unit: '100 g' }], {
  listing: { unit_price: { ...yen(88), per: '100 g' }, problem: { kind: 'rate_limited', since: ago(190), message: '' }, checked_at: ago(200), next_check_at: ago(-50), resting_until: ago(-50) },
  quantity: { amount: '5000', unit: 'g', by: 'you' },
});
const soap = watch('soap', 2198, 2580, [drop(10)], { listing: { adapter: 'rakuten', unit_price: { ...yen(27), per: '100 ml' }, evidence: { found_by: 'rakuten', text: 'itemPrice 2198' } }, quantity: { amount: '8280', unit: 'ml', by: 'shop' } });
const coffee = watch('coffee', 2480, 1890, [{ type: 'lowest_in_days', days: 90 }], {
  replaced: true, product: 'Coffee beans, medium roast, 1 kg', listing: { name: 'Decaf coffee beans, 500 g', problem: { kind: 'another_product', since: ago(300), message: '' } },
});
const water = watch('water', 1980, 1980, [{ type: 'back_in_stock' }], { listing: { availability: 'out_of_stock' } });
const towel = watch('towel', 3300, 3300, [drop(5)], { paused: true });
const dollars = watch('coffee', 1890, 1890, [target(1700)], {
  replaced: true, listing: { price: { amount: '12.50', currency: 'USD' }, problem: { kind: 'currency_changed', since: ago(300), message: '' } },
});
const waited = watch('coffee', 0, 0, [{ type: 'back_in_stock' }], { reference: null, listing: { price: null, availability: 'out_of_stock', evidence: null } });
const watches = [tea, soap, rice, water, coffee, towel];

const points = (steps, sold = []) => steps.map(([days, price], i) => ({
  at: ago(days * DAY), price: yen(price), availability: sold.includes(i) ? 'out_of_stock' : 'in_stock', found_by: 'json-ld', evidence: `offers.price: ${price} JPY`,
}));
const season = points([[120, 1298], [71, 1180], [66, 1280], [44, 1298], [37, 1198], [31, 1280], [12, 1148], [8, 1280], [0.4, 1098]], [3]);
const told = [71, 37, 12].map((days) => ({ at: ago(days * DAY), event_id: `e${days}` }));
const histories = {
  tea: { points: season, alerts: told },
  rice: { points: points([[80, 4280], [60, 4480], [25, 4180], [20, 4380]]), alerts: [] },
  soap: { points: points([[85, 2580], [50, 2380], [46, 2580], [2, 2198]]), alerts: [] },
  coffee: { points: points([[70, 1890], [40, 1790], [33, 1890], [0.2, 2480]]), alerts: [] },
  water: { points: points([[60, 1980], [9, 1980]], [1]), alerts: [] },
  towel: { points: points([[5, 3300]]), alerts: [] },
};
const alert = (of, trigger, state, minutes, { why, ...more } = {}) => ({
  event_id: `${of.id}${minutes}`, watch_id: of.id, trigger, channel: 'push', state, reason: null, detected_at: ago(minutes), detected: { price: of.listing.price },
  checked: null, sent_at: state === 'sent' ? ago(minutes - 1) : null, retry_count: 0, next_attempt_at: null, why: why ?? {}, name: goods[of.id][0], ...more,
});
const alerts = [
  alert(tea, 'price_drop', 'pending', 1, { why: { price: yen(1098), reference: yen(1298), percent: 0 } }),
  alert(soap, 'price_drop', 'sent', 65, { why: { price: yen(2198), reference: yen(2580), percent: 10 } }),
  alert(rice, 'target_price', 'dropped', 200, { reason: 'condition_lost', why: { price: yen(3980), target: yen(3980) }, checked: { price: yen(4380), at: ago(199) } }),
  alert(coffee, 'unreadable', 'sent', 300, { why: { failing_since: ago(300), failure_kind: 'another_product' } }),
  alert(water, 'back_in_stock', 'dropped', 8 * DAY, { reason: 'out_of_stock', detected: { price: yen(1980) }, why: { price: yen(1980) } }),
  alert(tea, 'lowest_in_days', 'sent', 12 * DAY, { why: { price: yen(1148), days: 90 } }),
  alert(rice, 'target_price', 'retry', 12.2 * DAY, { reason: 'refetch_rate_limited', retry_count: 3, next_attempt_at: ago(-12), why: { price: yen(3980), target: yen(3980) } }),
  alert(tea, 'price_drop', 'failed', 37 * DAY, { reason: 'max_retry', retry_count: 8, why: { price: yen(1198), reference: yen(1280) } }),
];
const quote = {
  adapter: 'page', item_code: 'x', url: 'https://roastery.example/beans', name: goods.coffee[0], image_url: 'x', picture: pictures.coffee, price: yen(1890), total: null, effective: null,
  unit_price: { ...yen(189), per: '100 g' }, availability: 'in_stock', found_by: 'json-ld', evidence: 'offers.price: 1890 JPY', observed_at: ago(0), history: null,
};
const known = {
  ...quote, adapter: 'rakuten', url: 'https://item.rakuten.co.jp/s/soap', name: goods.soap[0], picture: pictures.soap, price: yen(2198), total: yen(2198), effective: yen(2177),
  unit_price: { ...yen(27), per: '100 ml' }, found_by: 'rakuten', evidence: 'itemPrice 2198', history: histories.soap.points,
};

// [method, path, status, answer], the first that fits; null for the real server, "hang" for no answer yet.
const fault = (status, more) => ({ title: 'Error', status, detail: '', errors: [], ...more });
const usual = [
  ['GET', '^/watches$', 200, { watches }],
  ...watches.flatMap((w) => [['GET', `^/watches/${w.id}$`, 200, w], ['GET', `^/watches/${w.id}/history`, 200, histories[w.id]]]),
  ['DELETE', '^/watches/', 204, null],
  ['GET', '^/alerts', 200, { alerts, next_cursor: null }],
  ['POST', '^/device/link', 200, { code: 'JIG24ACW5SRMN47K', expires_at: ago(-10) }],
  ['GET', '^/push/key', 200, { public_key: 'AAAA' }], ['PUT', '^/push/subscription', 204, null],
];

/* ---- what is drawn ------------------------------------------------------ */

const press = (selector) => (page) => page.evaluate((s) => document.querySelector(s).click(), selector);
const shots = {
  welcome: { path: '/', stranger: true },
  'add-empty': { path: '/add' },
  'add-asking': { path: '/add?url=https://roastery.example/beans', answers: [['POST', '^/quotes', 0, 'hang']], unfinished: true },
  'add-error': { path: '/add?url=https://roastery.example/beans', answers: [['POST', '^/quotes', 502, fault(502, { kind: 'blocked' })]] },
  add: { path: '/add?url=https://roastery.example/beans', answers: [['POST', '^/quotes', 200, quote]] },
  'add-sold': { path: '/add?url=https://roastery.example/beans', answers: [['POST', '^/quotes', 200, { ...quote, price: null, unit_price: null, availability: 'out_of_stock', found_by: '', evidence: '' }]] },
  'add-history': { path: '/add?url=https://item.rakuten.co.jp/s/soap', answers: [['POST', '^/quotes', 200, known], ['GET', '^/watches$', 200, { watches: [tea] }]] },
  home: { path: '/' },
  'home-on': { path: '/', push: 'on' },
  'home-loading': { path: '/', answers: [['GET', '^/watches$', 0, 'hang']], unfinished: true },
  'home-offline': { path: '/', act: (page) => page.evaluate(() => { Object.defineProperty(navigator, 'onLine', { get: () => false }); dispatchEvent(new Event('offline')); }) },
  'home-error': { path: '/', answers: [['GET', '^/watches$', 500, fault(500)]] },
  'home-undo': { path: '/watches/tea', act: async (page) => { await press('.foot .danger')(page); await page.waitForSelector('.toast button'); } },
  watch: { path: '/watches/tea' },
  'watch-why': { path: '/watches/tea', act: async (page) => { await press('.evidence summary')(page); await press('.table > summary')(page); await press('.table li summary')(page); } },
  'watch-edit': { path: '/watches/tea', act: press('.waits + *, .columns > div + div .button.small') },
  'watch-edit-basis': { path: '/watches/soap', act: press('.columns > div + div .button.small') },
  'watch-unit': { path: '/watches/rice', act: async (page) => {
    await press('.contents .button')(page);
    await page.waitForSelector('.contents input');
    await page.$eval('.contents input', (e) => { e.value = '0'; e.dispatchEvent(new Event('input', { bubbles: true })); });
    await press('.contents .main')(page);
    await page.waitForSelector('.contents .bad:not(:empty)');
  } },
  'watch-failing': { path: '/watches/rice' },
  'watch-replaced': { path: '/watches/coffee' },
  'watch-currency': {
    path: '/watches/coffee', answers: [['GET', '^/watches/coffee$', 200, dollars], ['GET', '^/watches$', 200, { watches: [dollars] }], ['POST', '/accept$', 409, fault(409)]],
    act: async (page) => { await press('.notice button')(page); await page.waitForSelector('.notice .bad:not(:empty)'); },
  },
  'watch-sold': { path: '/watches/water' },
  'watch-waited': { path: '/watches/coffee', answers: [['GET', '^/watches/coffee$', 200, waited], ['GET', '^/watches$', 200, { watches: [waited] }],
    ['GET', '/history', 200, { points: [{ at: ago(9 * DAY), price: null, availability: 'out_of_stock', found_by: '', evidence: '' }], alerts: [] }]] },
  'watch-new': { path: '/watches/towel' },
  'watch-credit': { path: '/watches/soap' },
  'watch-missing': { path: '/watches/nothing', answers: [['GET', '^/watches/nothing', 404, fault(404)]] },
  alerts: { path: '/alerts' },
  'alerts-empty': { path: '/alerts', answers: [['GET', '^/alerts', 200, { alerts: [], next_cursor: null }]] },
  'alerts-error': { path: '/alerts', answers: [['GET', '^/alerts', 500, fault(500)]] },
  settings: { path: '/settings', push: 'on', act: async (page) => {
    await page.evaluate(() => [...document.querySelectorAll('.panel button')].find((b) => /code|コード/.test(b.textContent)).click());
    await page.waitForSelector('.qr svg');
  } },
  'settings-denied': { path: '/settings', push: 'denied' },
  'settings-ios': { path: '/settings', push: 'ios' },
  'home-ios': { path: '/', push: 'ios' },
};
const iPhone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1';
const sizes = { phone: { width: 390, height: 844, deviceScaleFactor: 2, isMobile: true, hasTouch: true }, desktop: { width: 1440, height: 900 } };

/** Runs in the page, before its own scripts. */
function prepare({ lang, token: device, answers, push }) {
  localStorage.setItem('sokone.lang', lang);
  if (device) localStorage.setItem('sokone.token', device);
  const real = window.fetch;
  window.fetch = (url, options) => {
    const path = String(url).replace(/^\/api\/v1/, '');
    for (const [method, pattern, status, answer] of answers) {
      if ((options?.method ?? 'GET') !== method || !new RegExp(pattern).test(path)) continue;
      if (answer === 'hang') return new Promise(() => {});
      return Promise.resolve(status === 204 ? new Response(null, { status }) : Response.json(answer, { status }));
    }
    return real(url, options);
  };
  if (push === 'ios') {
    delete window.PushManager;
    return;
  }
  Object.defineProperty(Notification, 'permission', { get: () => ({ on: 'granted', denied: 'denied' })[push] ?? 'default' });
  if (push === 'on') {
    localStorage.setItem('sokone.push', 'on');
    PushManager.prototype.getSubscription = async () => ({ options: { applicationServerKey: new Uint8Array(3).buffer }, toJSON: () => ({}) });
  }
}

const which = (...names) => names.map((n) => spawnSync('which', [n]).stdout.toString().trim()).find(Boolean);
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? which('chromium', 'google-chrome'),
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--hide-scrollbars'], env: { ...process.env, FONTCONFIG_FILE: fonts, TZ: 'Asia/Tokyo' },
});
let drawn = 0;

async function draw(name, { path, answers = [], act, push, stranger, unfinished }, size, scheme, lang, file, whole = true) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  const viewport = sizes[size];
  await page.setViewport(viewport);
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
  if (push === 'ios') await page.setUserAgent(iPhone);
  await page.evaluateOnNewDocument(prepare, { lang, token: stranger ? '' : token, answers: [...answers, ...usual], push });
  await page.goto(server.base + path);
  const ready = (open) => page.evaluate((o) => document.querySelector('h1') && (o || !document.querySelector('.skeleton')) && [...document.images].every((i) => i.complete), open);
  await until(`the screen ${name}`, () => ready(unfinished));
  if (act) await act(page);
  await until(`the screen ${name}`, () => ready(unfinished));
  if (whole) { // as tall as what it holds, so that nothing hides behind the tabs
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    await page.setViewport({ ...viewport, height: Math.max(viewport.height, height) });
  }
  await page.evaluate(() => new Promise((resolve) => { setTimeout(resolve, 150); }));
  await page.screenshot({ path: file });
  await context.close();
  drawn++;
}

for (const [name, shot] of Object.entries(shots)) {
  if (only.length && !only.includes(name)) continue;
  for (const size of Object.keys(sizes)) {
    for (const scheme of ['light', 'dark']) {
      for (const lang of ['ja', 'en']) await draw(name, shot, size, scheme, lang, join(out, `${name}-${size}-${scheme}-${lang}.png`));
    }
  }
}
if (!only.length || only.includes('readme')) {
  const kept = join(top, 'web/screenshots');
  mkdirSync(kept, { recursive: true });
  await draw('home', shots['home-on'], 'phone', 'light', 'ja', join(kept, 'home.png'), false);
  await draw('watch', shots.watch, 'phone', 'dark', 'en', join(kept, 'watch.png'), false);
  spawnSync('optipng', ['-quiet', '-o5', join(kept, 'home.png'), join(kept, 'watch.png')]); // where it is there
}
await browser.close();
await server.close();
shop.close();
console.log(`${drawn} screens in ${out}`);
