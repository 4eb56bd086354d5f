// Notifications of this browser. Permission is asked for only by turnOn, which
// only a tap calls.
import * as api from './api.js';
import { update } from './store.js';

const WANTED = 'sokone.push';

function supported() {
  return 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window;
}

export function isIOS() {
  return /iP(hone|ad|od)/.test(navigator.userAgent) || (navigator.platform === 'MacIntel' && navigator.maxTouchPoints > 1);
}

export const installed = () => matchMedia('(display-mode: standalone)').matches || navigator.standalone === true;

let looking = null; // one at a time: two would subscribe twice

/**
 * What this browser's notifications are:
 *   insecure     the page came over http, where browsers allow none
 *   unsupported  it has none      install  iOS: only the installed app has them
 *   off          not asked yet, or turned off    denied  refused in the browser's settings
 *   on           subscribed, and the server knows
 */
export function refreshPush() {
  looking ??= look().finally(() => { looking = null; });
  return looking;
}

/** What can be said without asking anybody; nothing where only the push service knows. */
function atOnce() {
  if (!isSecureContext) return 'insecure';
  if (!supported()) return isIOS() && !installed() ? 'install' : 'unsupported';
  if (Notification.permission === 'denied') return 'denied';
  if (Notification.permission !== 'granted' || localStorage.getItem(WANTED) !== 'on' || !api.token()) return 'off';
  return '';
}
update({ push: atOnce() || 'unknown' }); // so that the first screen need not jump

async function look() {
  const known = atOnce();
  if (known) {
    update({ push: known });
    return;
  }
  try {
    // At every opening: the key or the endpoint may have changed unnoticed.
    await subscribe();
    update({ push: 'on' });
  } catch (err) {
    if (err.kind === 'offline') update({ push: 'on' });
    else update({ push: 'off' });
  }
}

/** Call from a tap. Resolves to the new state; throws where the server or the push service refuses. */
export async function turnOn() {
  const answer = await Notification.requestPermission();
  if (answer !== 'granted') {
    const state = answer === 'denied' ? 'denied' : 'off';
    update({ push: state });
    return state;
  }
  await subscribe();
  localStorage.setItem(WANTED, 'on');
  update({ push: 'on' });
  return 'on';
}

export async function turnOff() {
  localStorage.setItem(WANTED, 'off');
  await looking; // or it would subscribe again behind our back
  const registration = await navigator.serviceWorker.getRegistration();
  const subscription = await registration?.pushManager.getSubscription();
  await subscription?.unsubscribe();
  update({ push: 'off' });
  await api.deleteSubscription();
}

async function subscribe() {
  const registration = await ready();
  const key = await api.pushKey();
  let subscription = await registration.pushManager.getSubscription();
  if (subscription && !sameKey(subscription.options?.applicationServerKey, key)) {
    await subscription.unsubscribe();
    subscription = null;
  }
  subscription ??= await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) });
  try {
    await api.putSubscription({ ...subscription.toJSON(), applicationServerKey: key });
  } catch (err) {
    if (err.status !== 409) throw err;
    // Another owner or another key: a new subscription settles both.
    await subscription.unsubscribe();
    subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) });
    await api.putSubscription({ ...subscription.toJSON(), applicationServerKey: key });
  }
}

/** navigator.serviceWorker.ready never settles where registration failed. */
function ready() {
  return Promise.race([
    navigator.serviceWorker.ready,
    new Promise((_, reject) => { setTimeout(() => reject(new Error('no service worker')), 15000); }),
  ]);
}

function bytes(base64url) {
  const raw = atob(base64url.replace(/-/g, '+').replace(/_/g, '/'));
  return Uint8Array.from(raw, (c) => c.charCodeAt(0));
}

function sameKey(buffer, base64url) {
  if (!buffer) return false; // a browser that does not tell: subscribe again, it costs little
  const a = new Uint8Array(buffer);
  const b = bytes(base64url);
  return a.length === b.length && a.every((x, i) => x === b[i]);
}
