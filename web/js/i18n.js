// Two languages. The reader's choice wins, else the browser's first language.
import './db.js';
import { en } from './words.en.js';
import { ja } from './words.ja.js';

const CHOICE = 'sokone.lang';
const words = { en, ja };

const choose = () => {
  const choice = localStorage.getItem(CHOICE);
  if (choice in words) return choice;
  return /^ja\b/i.test(navigator.language) ? 'ja' : 'en';
};

let now = choose();
apply();

function apply() {
  document.documentElement.lang = now;
  self.sokoneDB.set('lang', now).catch(() => {}); // for the worker
}

export const lang = () => now;
export const choice = () => localStorage.getItem(CHOICE) ?? 'auto';

/** Takes "ja", "en" or "auto". */
export function setLang(value) {
  if (value in words) localStorage.setItem(CHOICE, value);
  else localStorage.removeItem(CHOICE);
  now = choose();
  apply();
}

/** The sentence for a key, with {name} filled in; undefined-safe: an unknown key is returned as it is. */
export function t(key, values = {}) {
  const sentence = words[now][key] ?? words.en[key] ?? key;
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}

/** Whether there is a sentence for a key. */
export const has = (key) => key in words[now];
