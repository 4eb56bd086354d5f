// Draws every screen of the app against the real server and a small shop, phone
// and desktop, light and dark, Japanese and English, into .screenshots at the
// top of the repository. Two of them are kept for the README in web/screenshots.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';

const top = fileURLToPath(new URL('../../../', import.meta.url));
const out = join(top, '.screenshots');
mkdirSync(out, { recursive: true });
process.env.SOKONE_BINARY = join(mkdtempSync(join(tmpdir(), 'sokone-shots-')), 'sokone');
execFileSync('go', ['build', '-o', process.env.SOKONE_BINARY, './cmd/sokone'], { cwd: top, stdio: 'inherit' });
const { openServer, openShop, until } = await import('./world.mjs');

const which = (...names) => names.map((n) => spawnSync('which', [n]).stdout.toString().trim()).find(Boolean);
const shop = await openShop({
  tea: { name: '煎茶 ティーバッグ 100袋', price: 1280, colour: '#5f9e5c' },
  rice: { name: '無洗米 こしひかり 5kg', price: 4380, colour: '#c9a44c' },
  soap: { name: '食器用洗剤 詰替 1380ml×6個', price: 2480, colour: '#5b8def' },
  coffee: { name: 'Coffee beans, medium roast, 1 kg', price: 1890, colour: '#8d6247' },
  water: { name: '天然水 500ml×24本', price: 1980, colour: '#3fa9b5' },
});
const server = await openServer();
let token = '';
const api = async (method, path, body) => {
  const answer = await fetch(`${server.base}/api/v1${path}`, {
    method, headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.status === 204 ? null : answer.json();
};
token = (await api('POST', '/devices', { locale: 'ja', timezone: 'Asia/Tokyo' })).device_token;
const watches = {};
const yen = (n) => ({ amount: String(n), currency: 'JPY' });
for (const [code, triggers] of Object.entries({
  water: [{ type: 'back_in_stock' }],
  coffee: [{ type: 'lowest_in_days', days: 90 }],
  soap: [{ type: 'price_drop', percent: 10 }],
  rice: [{ type: 'target_price', target: yen(3980) }],
  tea: [{ type: 'price_drop', percent: 0 }, { type: 'target_price', target: yen(980) }],
})) watches[code] = (await api('POST', '/watches', { url: shop.url(code), triggers, note: code === 'tea' ? '母の分も' : undefined })).id;
// A little history: each pass sees the next price, so the lines have steps.
for (const [tea, rice, soap] of [[1298, 4480, 2480], [1198, 4380, 2580], [1280, 4180, 2480], [1180, 4380, 2380], [1098, 3980, 2198]]) {
  Object.assign(shop.goods.tea, { price: tea });
  Object.assign(shop.goods.rice, { price: rice });
  Object.assign(shop.goods.soap, { price: soap });
  shop.goods.water.stock = tea > 1200;
  await server.run('detect');
  await new Promise((resolve) => { setTimeout(resolve, 1200); });
}
await server.run('dispatch');

const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? which('chromium', 'google-chrome'), args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] });
const screens = {
  welcome: '/', home: '/', add: `/add?url=${encodeURIComponent(shop.url('coffee'))}&again`, watch: `/watches/${watches.tea}`, alerts: '/alerts', settings: '/settings',
};
await api('DELETE', `/watches/${watches.coffee}`); // so that the add screen offers it anew
const sizes = { phone: { width: 390, height: 844, deviceScaleFactor: 2, isMobile: true, hasTouch: true }, desktop: { width: 1440, height: 900 } };
let drawn = 0;

// A product that has been watched for a season; what is drawn of it is made up,
// in the form of the API. It ends at the price that the shop really asks.
const season = [[88, 1298], [71, 1180], [66, 1280], [44, 1298], [37, 1198], [31, 1280], [12, 1148], [8, 1280], [0.4, 1098]];
const before = (days) => new Date(Date.now() - days * 86400000).toISOString();
const history = {
  points: season.map(([days, price], i) => ({ at: before(days), price: yen(Math.round(price)), availability: i === 3 ? 'out_of_stock' : 'in_stock' })),
  alerts: [71, 37, 12].map((days) => ({ at: before(days), event_id: `e${days}` })),
};
for (const [size, viewport] of Object.entries(sizes)) {
  for (const scheme of ['light', 'dark']) {
    for (const lang of ['ja', 'en']) {
      const context = await browser.createBrowserContext();
      const page = await context.newPage();
      await page.setViewport(viewport);
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
      await page.evaluateOnNewDocument((l) => localStorage.setItem('sokone.lang', l), lang);
      await page.evaluateOnNewDocument((id, made) => {
        const real = window.fetch;
        window.fetch = (url, options) => (String(url).includes(`/watches/${id}/history`) ? Promise.resolve(Response.json(made)) : real(url, options));
      }, watches.tea, history);
      for (const [name, path] of Object.entries(screens)) {
        await page.goto(server.base + path, { waitUntil: 'networkidle0' });
        await until('the screen', () => page.evaluate(() => document.querySelector('h1') && !document.querySelector('.skeleton')));
        await page.screenshot({ path: join(out, `${name}-${size}-${scheme}-${lang}.png`) });
        drawn++;
        if (name === 'welcome') await page.evaluate((t) => localStorage.setItem('sokone.token', t), token);
        if (name === 'settings' && scheme === 'light' && lang === 'en') {
          await page.evaluate(() => [...document.querySelectorAll('button')].find((b) => /code/.test(b.textContent))?.click());
          await page.waitForSelector('.qr svg');
          await page.screenshot({ path: join(out, `settings-full-${size}.png`), fullPage: true });
        }
        if (name === 'watch' && scheme === 'light' && lang === 'ja') {
          await page.screenshot({ path: join(out, `watch-full-${size}.png`), fullPage: true });
        }
      }
      await context.close();
    }
  }
}
mkdirSync(join(top, 'web/screenshots'), { recursive: true });
for (const [name, from] of [['home', 'home-phone-light-ja'], ['watch', 'watch-phone-dark-en']]) copyFileSync(join(out, `${from}.png`), join(top, `web/screenshots/${name}.png`));
await browser.close();
await server.close();
shop.close();
console.log(`${drawn} screens in ${out}`);
