// What several screens share, kept in one place: who changes it says so, who
// shows it is drawn again.
import { useEffect, useState } from './html.js';
import * as api from './api.js';

const state = {
  online: navigator.onLine,
  watches: null, // null until known
  watchesAt: 0, // ms; when they were known
  watchesError: null, // Problem of the last try
  push: 'unknown', // see push.js
  toast: null, // {text, action?: {label, run}, id}
  lost: false, // the server did not know this device any more
};
const listeners = new Set();

export function update(change) {
  Object.assign(state, change);
  listeners.forEach((f) => f());
}

export const current = () => state;

/** The shared state; draws the component again after each change. */
export function useShared() {
  const [, redraw] = useState(0);
  useEffect(() => {
    const f = () => redraw((n) => n + 1);
    listeners.add(f);
    return () => listeners.delete(f);
  }, []);
  return state;
}

const saved = self.sokoneDB;

/** Shows the last known watches at once, then asks for today's. */
export async function loadWatches() {
  if (!api.token()) {
    update({ watches: [], watchesError: null });
    return;
  }
  if (!state.watches) {
    const known = await saved.get('watches').catch(() => null);
    if (known && !state.watches) update({ watches: known.watches, watchesAt: known.at });
  }
  try {
    const watches = await api.listWatches();
    keep(watches);
    update({ watchesAt: Date.now(), watchesError: null });
  } catch (err) {
    update({ watchesError: err });
  }
}

function keep(watches) {
  update({ watches });
  saved.set('watches', { watches, at: Date.now() }).catch(() => {});
}

/** Puts one watch as the server has it now into the list. */
export function keepWatch(watch) {
  const list = state.watches ?? [];
  const known = list.some((w) => w.id === watch.id);
  keep(known ? list.map((w) => (w.id === watch.id ? watch : w)) : [watch, ...list]);
}

export function dropWatch(id) {
  keep((state.watches ?? []).filter((w) => w.id !== id));
}

let toasts = 0;
/** Says something in passing, with at most one thing to do about it. */
export function toast(text, action) {
  update({ toast: { text, action, id: ++toasts } });
}

export function watchOnline() {
  const tell = () => update({ online: navigator.onLine });
  addEventListener('online', tell);
  addEventListener('offline', tell);
}

/** Loads something for a screen: {data, error, busy, again}. Runs anew when a dependency changes. */
export function useLoaded(load, deps) {
  const [result, set] = useState({ data: null, error: null, busy: true });
  const [turn, again] = useState(0);
  useEffect(() => {
    let alive = true;
    set((r) => ({ ...r, busy: true }));
    load().then(
      (data) => alive && set({ data, error: null, busy: false }),
      (error) => alive && set((r) => ({ ...r, error, busy: false })),
    );
    return () => { alive = false; };
  }, [...deps, turn]);
  return { ...result, again: () => again((n) => n + 1) };
}
