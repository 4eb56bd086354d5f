// The watches, each with its price now and what is wrong if anything is.
import { html, useEffect, useState } from '../html.js';
import { t } from '../i18n.js';
import * as api from '../api.js';
import * as format from '../format.js';
import { Change, Failed, Head, Icon, Picture, Price, Skeleton, Problem, Stock } from '../parts.js';
import { Spark } from '../spark.js';
import { PushOffer } from '../pushoffer.js';
import { loadWatches, useShared } from '../store.js';
import { chosen, words } from '../triggers.js';
import { Welcome } from './welcome.js';

export function Home() {
  const { watches, watchesError } = useShared();
  useEffect(() => { loadWatches(); }, []);
  useTick(60000);
  if (!api.token() || watches?.length === 0) return html`<${Welcome} />`;
  return html`<${Head} title=${t('home.title')}>
      ${watches && html`<span class="count">${t(watches.length === 1 ? 'home.count.one' : 'home.count', { n: format.number(watches.length) })}</span>`}
    </${Head}>
    ${!watches && watchesError && html`<${Failed} title=${t('home.error')} error=${watchesError} again=${loadWatches} />`}
    ${!watches && !watchesError && html`<${Skeleton} rows=${4} />`}
    ${watches && html`<${PushOffer} />
      <ul class="cards">${watches.map((w) => html`<${Card} key=${w.id} watch=${w} />`)}</ul>`}`;
}

/** Draws again now and then, so that "5 minutes ago" stays true. */
export function useTick(ms) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), ms);
    return () => clearInterval(timer);
  }, []);
}

function Card({ watch }) {
  const { listing } = watch;
  return html`<li class=${`card ${watch.paused ? 'paused' : ''}`}>
    <div class="side"><${Picture} src=${listing.picture} /><${Spark} watch=${watch} /></div>
    <div class="about">
      <h2 lang=${format.langOf(listing.name)}><a href=${`/watches/${encodeURIComponent(watch.id)}`}>${listing.name || format.host(listing.url)}</a></h2>
      <p class="prices"><${Price} money=${listing.price} /> <${Change} short from=${watch.reference} to=${watch.basis === 'price' && !watch.replaced ? listing.price : null} />
        <${Stock} availability=${listing.availability} />${watch.paused && html`<span class="pill">${t('home.paused')}</span>`}</p>
      <ul class="waits" aria-label=${t('wait.label')}>${chosen(watch).map((trigger) => html`<li key=${trigger.type}>${words(trigger)}</li>`)}</ul>
      ${listing.problem
        ? html`<p class="trouble"><${Icon} name="warn" /> <span><${Problem} problem=${listing.problem} replaced=${watch.replaced} /></span></p>`
        : html`<p class="fresh">${format.checked(listing.checked_at)} · ${format.host(listing.url)}</p>`}
    </div>
  </li>`;
}
