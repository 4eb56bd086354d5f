// A small chart for a card: the shape of ninety days, loaded when it comes into view.
import { html, useEffect, useRef, useState } from './html.js';
import * as api from './api.js';
import { steps } from './history.js';

const DAYS = 90;
const WIDTH = 72;
const HEIGHT = 30;
const known = new Map(); // watch and price → points

export function Spark({ watch }) {
  const box = useRef(null);
  const key = `${watch.id} ${watch.listing.price?.amount} ${watch.listing.availability}`;
  const [points, setPoints] = useState(known.get(key));
  useEffect(() => {
    setPoints(known.get(key));
    if (known.has(key)) return undefined;
    let alive = true;
    const seen = new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) return;
      seen.disconnect();
      api.history(watch.id, DAYS).then((h) => {
        known.set(key, h.points ?? []);
        if (alive) setPoints(h.points ?? []);
      }, () => {}); // a card without its chart is still a card
    });
    seen.observe(box.current);
    return () => { alive = false; seen.disconnect(); };
  }, [key]);
  return html`<div class="spark" ref=${box} aria-hidden="true">${points && html`<${Line} points=${points} />`}</div>`;
}

function Line({ points }) {
  const now = Date.now();
  const all = steps(points, now - DAYS * 86400000, now);
  if (all.length === 0) return null;
  const values = all.map((s) => s.value);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const span = Math.max(1, now - all[0].from);
  const x = (ms) => (2 + ((ms - all[0].from) / span) * (WIDTH - 6)).toFixed(1);
  const y = (value) => (high === low ? HEIGHT / 2 : 3 + (1 - (value - low) / (high - low)) * (HEIGHT - 6)).toFixed(1);
  const line = all.map((s, i) => `${i ? 'V' : `M${x(s.from)} `}${y(s.value)}H${x(s.to)}`).join('');
  return html`<svg width=${WIDTH} height=${HEIGHT} viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} focusable="false">
    <path d=${line} /><circle cx=${x(now)} cy=${y(values.at(-1))} r="2.5" /></svg>`;
}
