// The HTTP API of DESIGN.md section 5, as the screens use it.
import './db.js';

const BASE = '/api/v1';
const TOKEN = 'sokone.token';
const db = self.sokoneDB;

/** Why a call failed: a problem of RFC 9457, or kind "offline" where nothing answered. */
export class Problem extends Error {
  constructor(fields) {
    super(fields.detail || fields.title || 'failed');
    this.name = 'Problem';
    this.status = fields.status ?? 0; // 0: no answer
    this.kind = fields.kind ?? '';
    this.title = fields.title ?? '';
    this.detail = fields.detail ?? '';
    this.errors = fields.errors ?? []; // [{location, message}]
    this.watchId = fields.watch_id ?? ''; // with 409: the watch that exists
    this.retryAfter = fields.retryAfter ?? 0; // seconds
  }
}

export const token = () => localStorage.getItem(TOKEN) ?? '';

function keepToken(value) {
  if (value) localStorage.setItem(TOKEN, value);
  else localStorage.removeItem(TOKEN);
  // The worker cannot read localStorage; without its copy only corrections are lost.
  (value ? db.set('token', value) : db.clear()).catch(() => {});
}

// A browser may have lost one of the two stores; the page has the say.
if (token()) db.set('token', token()).catch(() => {});

let onLost = () => {};
/** Sets what happens when the server does not know this device any more. */
export function whenLost(f) { onLost = f; }

async function call(method, path, body, { auth = true, timeout = 30000 } = {}) {
  const headers = { Accept: 'application/json, application/problem+json' };
  if (auth) headers.Authorization = `Bearer ${token()}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let answer;
  try {
    answer = await fetch(BASE + path, {
      method, headers, cache: 'no-store',
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(timeout),
    });
  } catch {
    throw new Problem({ kind: 'offline' });
  }
  const type = answer.headers.get('Content-Type') ?? '';
  const content = /json/.test(type) ? await answer.json().catch(() => null) : null;
  if (answer.ok) return content;
  const retryAfter = Number(answer.headers.get('Retry-After')) || 0;
  const problem = new Problem({ title: answer.statusText, ...content, status: answer.status, retryAfter });
  if (answer.status === 401 && auth && token()) {
    keepToken('');
    onLost();
  }
  throw problem;
}

export function profile() {
  return { timezone: Intl.DateTimeFormat().resolvedOptions().timeZone, locale: document.documentElement.lang };
}

let making = null;
/** Makes this browser a device, once, before the first call that needs one. */
export function ensureDevice(linkCode) {
  if (token() && !linkCode) return Promise.resolve();
  making ??= (async () => {
    try {
      const made = await call('POST', '/devices', { ...profile(), ...(linkCode && { link_code: linkCode }) }, { auth: false });
      keepToken(made.device_token);
    } finally {
      making = null;
    }
  })();
  return making;
}

async function own(method, path, body, options) {
  await ensureDevice();
  return call(method, path, body, options);
}

const at = (id) => encodeURIComponent(id);

export const getProfile = () => own('GET', '/device');
export const setProfile = (change) => own('PATCH', '/device', change);
export const linkCode = () => own('POST', '/device/link');
export async function erase() {
  await call('DELETE', '/device');
  keepToken('');
}

/** A file of all watches: format "json" or "csv". */
export async function exportFile(format) {
  await ensureDevice();
  const answer = await fetch(`${BASE}/export?format=${format}`, { headers: { Authorization: `Bearer ${token()}` }, cache: 'no-store' })
    .catch(() => { throw new Problem({ kind: 'offline' }); });
  if (!answer.ok) throw new Problem({ status: answer.status, title: answer.statusText });
  return answer.blob();
}
export const importFile = (content) => own('POST', '/import', content, { timeout: 60000 });

export const pushKey = async () => (await own('GET', '/push/key')).public_key;
export const putSubscription = (subscription) => own('PUT', '/push/subscription', subscription);
export const deleteSubscription = () => own('DELETE', '/push/subscription');
export const testPush = () => own('POST', '/push/test');

// A shop is asked while we wait, and shops can be slow.
export const quote = (url) => own('POST', '/quotes', { url }, { timeout: 60000 });
export const addWatch = (watch) => own('POST', '/watches', watch, { timeout: 60000 });
export const listWatches = async () => (await own('GET', '/watches')).watches ?? [];
export const getWatch = (id) => own('GET', `/watches/${at(id)}`);
export const changeWatch = (id, change) => own('PATCH', `/watches/${at(id)}`, change);
export const removeWatch = (id) => own('DELETE', `/watches/${at(id)}`);
export const restoreWatch = (id) => own('POST', `/watches/${at(id)}/restore`);
export const acceptProduct = (id) => own('POST', `/watches/${at(id)}/accept`);
export const history = (id, days) => own('GET', `/watches/${at(id)}/history?days=${days}`);
export const listAlerts = (cursor) => own('GET', `/alerts${cursor ? `?cursor=${at(cursor)}` : ''}`);
