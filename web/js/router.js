// Addresses and screens. A click on a link of ours changes the screen without
// loading; every other link does what links do.
import { useEffect, useState } from './html.js';

const routes = [
  [/^\/$/, 'home'],
  [/^\/add$/, 'add'],
  [/^\/alerts$/, 'alerts'],
  [/^\/settings$/, 'settings'],
  [/^\/watches\/([^/]+)$/, 'watch'],
];

function parse() {
  const { pathname, search } = location;
  for (const [pattern, name] of routes) {
    const found = pattern.exec(pathname);
    if (found) return { name, id: found[1] && decodeURIComponent(found[1]), query: new URLSearchParams(search), key: pathname + search };
  }
  return { name: 'missing', query: new URLSearchParams(), key: pathname };
}

let mustReload = false;
/** A newer version of the app is in place: the next screen is loaded, not swapped in. */
export function reloadAtNextScreen() { mustReload = true; }

const moved = new Set();

export function go(path, { replace = false } = {}) {
  if (mustReload) {
    location[replace ? 'replace' : 'assign'](path);
    return;
  }
  if (path === location.pathname + location.search) replace = true;
  history[replace ? 'replaceState' : 'pushState']({ ours: true }, '', path);
  moved.forEach((f) => f());
  if (!replace) scrollTo(0, 0);
}

/** Goes to the previous screen where there is one of ours, else to the given one. */
export function back(path) {
  if (history.state?.ours) history.back();
  else go(path, { replace: true });
}

export function useRoute() {
  const [route, set] = useState(parse);
  useEffect(() => {
    const f = () => set(parse());
    moved.add(f);
    addEventListener('popstate', f);
    return () => { moved.delete(f); removeEventListener('popstate', f); };
  }, []);
  return route;
}

export function catchLinks() {
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target.closest?.('a[href]');
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (!routes.some(([pattern]) => pattern.test(link.pathname))) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
