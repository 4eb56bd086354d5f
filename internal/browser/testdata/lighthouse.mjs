// Prints Lighthouse's scores of the app on its mid-range phone, and fails below 95.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';

const version = '12.8.2';
const top = fileURLToPath(new URL('../../../', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'sokone-lighthouse-'));
process.env.SOKONE_BINARY = join(dir, 'sokone');
execFileSync('go', ['build', '-o', process.env.SOKONE_BINARY, './cmd/sokone'], { cwd: top, stdio: 'inherit' });
const { hands, openServer, openShop } = await import('./world.mjs');

const chromium = ['chromium', 'google-chrome'].map((n) => spawnSync('which', [n]).stdout.toString().trim()).find(Boolean);
const executablePath = process.env.CHROMIUM ?? chromium;
const server = await openServer();
const shop = await openShop({ tea: { name: 'Sencha 100g', price: 1298 } });

// Two visitors: a new one, and one who comes back to a watch of hers.
const profile = join(dir, 'profile');
const browser = await puppeteer.launch({ executablePath, userDataDir: profile, args: ['--no-sandbox', '--disable-gpu'] });
const page = await browser.newPage();
const she = hands(page);
await page.goto(server.base);
await page.evaluate(() => localStorage.setItem('sokone.lang', 'en'));
await page.goto(`${server.base}/add?url=${encodeURIComponent(shop.url('tea'))}`);
await she.tap('Watch this product');
await she.sees('1 product');
const id = await page.evaluate(async () => (await self.sokoneDB.get('watches')).watches[0].id);
await browser.close();

const add = `/add?url=${encodeURIComponent(shop.url('tea'))}`;
const visits = [['/'], ['/add'], ['/alerts'], ['/settings'], ['/', profile], [add, profile], [`/watches/${id}`, profile], ['/alerts', profile], ['/settings', profile]];
let low = false;
for (const [path, folder] of visits) {
  const report = join(dir, 'report.json');
  execFileSync('npx', ['--yes', `lighthouse@${version}`, server.base + path, '--quiet', `--chrome-flags=--headless=new --no-sandbox --disable-gpu${folder ? ` --user-data-dir=${folder}` : ''}`,
    ...(folder ? ['--disable-storage-reset'] : []), '--output=json', `--output-path=${report}`, '--only-categories=performance,accessibility,best-practices'],
  { env: { ...process.env, CHROME_PATH: executablePath }, stdio: ['ignore', 'ignore', 'inherit'] });
  const scores = Object.values(JSON.parse(readFileSync(report)).categories).map((c) => [c.title, Math.round(c.score * 100)]);
  console.log(`${folder ? 'watching' : 'new'} ${path.replace(/[?].*/, '?url=…')}`.padEnd(48), scores.map(([title, score]) => `${title} ${score}`).join(', '));
  low ||= scores.some(([, score]) => score < 95);
}
await server.close();
shop.close();
process.exitCode = low ? 1 : 0;
