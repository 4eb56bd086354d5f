// The small database that the page and the service worker share. It is written
// so that both can load it: the page imports it as a module, the worker by
// importScripts; either way it leaves `sokoneDB` on the global object.
//
//   kv     what the worker needs to know (device token, language) and the last
//          known answers for offline reading
//   seen   event ids of notifications that were shown, with the time in ms
(function () {
  'use strict';

  const NAME = 'sokone';
  const VERSION = 1;
  let opening = null;

  function open() {
    opening ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(NAME, VERSION);
      request.onupgradeneeded = () => {
        for (const store of ['kv', 'seen']) {
          if (!request.result.objectStoreNames.contains(store)) request.result.createObjectStore(store);
        }
      };
      request.onsuccess = () => {
        const db = request.result;
        // A newer version in another tab must be able to upgrade; the next call opens anew.
        db.onversionchange = () => { db.close(); opening = null; };
        db.onclose = () => { opening = null; };
        resolve(db);
      };
      request.onerror = () => reject(request.error);
      request.onblocked = () => reject(new Error('database blocked'));
    }).catch((err) => { opening = null; throw err; });
    return opening;
  }

  /** Runs one request in its own transaction and waits until it is committed. */
  async function run(store, mode, ask) {
    const db = await open();
    return new Promise((resolve, reject) => {
      const tx = db.transaction(store, mode);
      const request = ask(tx.objectStore(store));
      tx.oncomplete = () => resolve(request?.result);
      tx.onabort = () => reject(tx.error ?? request?.error ?? new Error('transaction aborted'));
      tx.onerror = (event) => event.preventDefault?.();
      if (request) request.onerror = () => { try { tx.abort(); } catch { /* already over */ } reject(request.error); };
    });
  }

  self.sokoneDB = {
    get: (key) => run('kv', 'readonly', (s) => s.get(key)),
    set: (key, value) => run('kv', 'readwrite', (s) => s.put(value, key)),
    remove: (key) => run('kv', 'readwrite', (s) => s.delete(key)),

    /** Atomic test-and-set: true for the one caller that marks an event id first. */
    async firstTime(eventId, now) {
      try {
        await run('seen', 'readwrite', (s) => s.add(now, eventId));
        return true;
      } catch (err) {
        if (err?.name === 'ConstraintError') return false;
        throw err;
      }
    },

    /** Forgets event ids that were marked before the given time in ms. */
    forget: (before) => run('seen', 'readwrite', (s) => {
      const cursor = s.openCursor();
      cursor.onsuccess = () => {
        const at = cursor.result;
        if (!at) return;
        if (at.value < before) at.delete();
        at.continue();
      };
      return null;
    }),

    /** Forgets everything. */
    async clear() {
      await run('kv', 'readwrite', (s) => s.clear());
      await run('seen', 'readwrite', (s) => s.clear());
    },
  };
})();
