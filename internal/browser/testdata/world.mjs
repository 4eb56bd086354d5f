// A shop, a push service as Firefox knows it, and the real server between them.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocketServer } from 'ws';

const binary = process.env.SOKONE_BINARY;

export const PATIENCE = 30000; // ms

/** Waits until look() gives something true, and gives that. */
export async function until(what, look, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > end) throw new Error(`not seen in ${patience} ms: ${what}`);
    await sleep(50);
  }
}

const listen = (server) => new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(server.address().port)); });

async function freePort() {
  const socket = createSocket();
  const port = await listen(socket);
  await new Promise((resolve) => { socket.close(resolve); });
  return port;
}

/** A shop with pages that carry JSON-LD. goods is {code: {name, price, stock, rest}}; rest: the seconds for which it wants peace. */
export async function openShop(goods) {
  let pictures = 0;
  const server = createServer((req, res) => {
    const [, kind, code] = req.url.split('/');
    if (kind === 'img') {
      pictures++;
      res.setHeader('Content-Type', 'image/svg+xml');
      const colour = goods[code.replace(/\.svg$/, '')]?.colour ?? '#5b8def';
      res.end(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100" width="100" height="100"><rect width="100" height="100" fill="#fff"/><rect x="28" y="18" width="44" height="66" rx="9" fill="${colour}"/><rect x="36" y="42" width="28" height="20" rx="3" fill="#fff" opacity=".85"/></svg>`);
      return;
    }
    const p = goods[code];
    if (kind !== 'p' || !p) {
      res.writeHead(404).end();
      return;
    }
    if (p.rest) {
      res.writeHead(429, { 'Retry-After': p.rest }).end();
      return;
    }
    const offer = { '@type': 'Offer', price: p.price, priceCurrency: 'JPY', availability: `https://schema.org/${p.stock === false ? 'OutOfStock' : 'InStock'}` };
    const thing = { '@context': 'https://schema.org', '@type': 'Product', name: p.name, image: `${base}/img/${code}.svg`, offers: offer };
    res.setHeader('Content-Type', 'text/html; charset=utf-8');
    res.end(`<!doctype html><title>${p.name}</title><script type="application/ld+json">${JSON.stringify(thing)}</script><h1>${p.name}</h1><p>¥${p.price}`);
  });
  const base = `http://127.0.0.1:${await listen(server)}`;
  return { base, goods, url: (code) => `${base}/p/${code}`, pictures: () => pictures, close: () => server.close() };
}

/** A push service that speaks Firefox's WebSocket protocol, one browser at a time. */
export async function openPush() {
  let socket = null;
  let uaid = randomBytes(16).toString('hex');
  const service = { posts: [], acks: [], nacks: [], registered: [], beforeAnswer: null };
  const server = createServer((req, res) => {
    const parts = [];
    req.on('data', (part) => parts.push(part));
    req.on('end', () => {
      const channelID = req.url.split('/').pop();
      const post = { channelID, topic: req.headers.topic, ttl: req.headers.ttl, version: randomUUID() };
      service.posts.push(post);
      if (!service.registered.includes(channelID)) {
        res.writeHead(410).end();
        return;
      }
      send({ messageType: 'notification', channelID, version: post.version, data: Buffer.concat(parts).toString('base64url'), headers: { encoding: 'aes128gcm' } });
      if (service.beforeAnswer?.(post) === 'silence') {
        req.socket.destroy();
        return;
      }
      res.writeHead(201, { Location: '/m/1' }).end();
    });
  });
  const send = (message) => socket?.send(JSON.stringify(message));
  const sockets = new WebSocketServer({ server, handleProtocols: () => 'push-notification' });
  const port = await listen(server);
  const answers = {
    hello: () => send({ messageType: 'hello', uaid, status: 200, use_webpush: true, broadcasts: {} }),
    register: ({ channelID }) => {
      service.registered.push(channelID);
      send({ messageType: 'register', channelID, status: 200, pushEndpoint: `http://127.0.0.1:${port}/push/${channelID}` });
    },
    unregister: (message) => {
      service.registered = service.registered.filter((id) => id !== message.channelID);
      send({ ...message, status: 200 });
    },
    ack: ({ updates }) => service.acks.push(...updates),
    nack: (message) => service.nacks.push(message),
  };
  sockets.on('connection', (opened) => {
    socket = opened;
    opened.on('message', (text) => {
      const message = JSON.parse(text);
      if (message.messageType) answers[message.messageType]?.(message);
      else opened.send('{}');
    });
  });
  return Object.assign(service, {
    url: `ws://127.0.0.1:${port}/`,
    /** Forgets the browser: it drops its subscriptions when it is back. */
    forget() {
      uaid = randomBytes(16).toString('hex');
      service.registered = [];
      socket.terminate();
    },
    close() {
      sockets.close();
      server.close();
      server.closeAllConnections();
      socket?.terminate();
    },
  });
}

/** The real server on a port that stays its own over restarts. Its jobs run when told. */
export async function openServer(extra = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'sokone-browser-'));
  const port = await freePort();
  const env = {
    PATH: process.env.PATH, HOME: process.env.HOME,
    SOKONE_LISTEN: `127.0.0.1:${port}`, SOKONE_DATA: dir, SOKONE_ALLOW_NETWORKS: '127.0.0.0/8', SOKONE_CONTACT: 'mailto:op@shop-watch.example.com',
    SOKONE_DETECT_CRON: 'off', SOKONE_DISPATCH_CRON: 'off', SOKONE_POLL_INTERVAL: '0s', SOKONE_HOST_INTERVAL: '0s', SOKONE_RATE_LIMIT: 'off',
    SOKONE_LEASE: '2s', ...extra,
  };
  const base = `http://localhost:${port}`;
  let child = null;
  const server = {
    dir, env, base,
    async start() {
      let log = '';
      const started = spawn(binary, ['serve'], { env });
      started.stderr.on('data', (text) => { log += text; });
      started.exited = new Promise((resolve) => { started.on('exit', resolve); });
      child = started;
      await until('the server serves', async () => {
        if (started.exitCode !== null) throw new Error(`sokone serve ended:\n${log}`);
        return (await fetch(`${base}/healthz`).catch(() => null))?.ok;
      });
    },
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      await child.exited;
    },
    kill: () => child.kill('SIGKILL'),
    exited: () => child.exited,
    /** One pass of a job: its counts. */
    run(job, { mayFail = false } = {}) {
      return new Promise((resolve, reject) => {
        const pass = spawn(binary, ['run', job], { env });
        let out = '';
        let log = '';
        pass.stdout.on('data', (text) => { out += text; });
        pass.stderr.on('data', (text) => { log += text; });
        server.pass = pass;
        pass.on('exit', (code) => {
          if (code === 0) resolve(JSON.parse(out));
          else if (mayFail) resolve(null);
          else reject(new Error(`sokone run ${job}: ${code}\n${log}`));
        });
      });
    },
    async close() {
      await server.stop('SIGKILL');
      rmSync(dir, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

/** What a person does on a page. */
export function hands(page) {
  const find = (text, among) => page.waitForFunction((t, s) => [...document.querySelectorAll(s)].find((e) => e.textContent.trim().includes(t) || e.ariaLabel === t) ?? null, { timeout: PATIENCE, polling: 50 }, text, among);
  return {
    async tap(text, among = 'button, a, label, summary') {
      const element = await find(text, among);
      await element.evaluate((e) => { e.scrollIntoView({ block: 'center', behavior: 'instant' }); e.click(); });
    },
    sees: (text) => page.waitForFunction((t) => document.body?.innerText.includes(t), { timeout: PATIENCE, polling: 50 }, text)
      .catch(async (err) => {
        throw new Error(`does not see “${text}” at ${page.url()} but: ${await page.evaluate(() => document.body.innerText.slice(0, 600)).catch(() => '')}`, { cause: err });
      }),
    /** The notifications that are shown. */
    shown: () => page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications())
      .map(({ title, body, tag, data }) => ({ title, body, tag, data }))),
  };
}

/** A browser of its own: a new phone. prepare runs in each page before its scripts. */
export async function openPhone(browser, base, { lang = 'en', prepare, prepareWith } = {}) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.setViewport({ width: 360, height: 740, isMobile: true, hasTouch: true });
  await page.evaluateOnNewDocument((l) => { if (!localStorage.getItem('sokone.lang')) localStorage.setItem('sokone.lang', l); }, lang);
  if (prepare) await page.evaluateOnNewDocument(prepare, prepareWith);
  return Object.assign(hands(page), {
    page, context,
    go: (path, at = base) => page.goto(at + path, { waitUntil: 'load' }),
    /** Its service worker. */
    async worker() {
      await page.evaluate(() => navigator.serviceWorker.ready.then(() => true));
      const target = await until('the worker', () => browser.targets().find((t) => t.type() === 'service_worker' && t.browserContext() === context));
      return target.worker();
    },
    close: () => context.close(),
  });
}
