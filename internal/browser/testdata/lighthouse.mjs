// Prints Lighthouse's scores of the app on its mid-range phone, and fails below 95.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const version = '12.8.2';
const top = fileURLToPath(new URL('../../../', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'sokone-lighthouse-'));
process.env.SOKONE_BINARY = join(dir, 'sokone');
execFileSync('go', ['build', '-o', process.env.SOKONE_BINARY, './cmd/sokone'], { cwd: top, stdio: 'inherit' });
const { openServer } = await import('./world.mjs');

const chromium = ['chromium', 'google-chrome'].map((n) => spawnSync('which', [n]).stdout.toString().trim()).find(Boolean);
const server = await openServer();
let low = false;
for (const path of ['/', '/add', '/alerts', '/settings']) {
  const report = join(dir, 'report.json');
  execFileSync('npx', ['--yes', `lighthouse@${version}`, server.base + path, '--quiet', '--chrome-flags=--headless=new --no-sandbox --disable-gpu',
    '--output=json', `--output-path=${report}`, '--only-categories=performance,accessibility,best-practices'],
  { env: { ...process.env, CHROME_PATH: process.env.CHROMIUM ?? chromium }, stdio: ['ignore', 'ignore', 'inherit'] });
  const scores = Object.values(JSON.parse(readFileSync(report)).categories).map((c) => [c.title, Math.round(c.score * 100)]);
  console.log(path.padEnd(10), scores.map(([title, score]) => `${title} ${score}`).join(', '));
  low ||= scores.some(([, score]) => score < 95);
}
await server.close();
process.exitCode = low ? 1 : 0;
