// How much a package holds: as a person writes it, and as the API has it, which
// knows only base units. Amounts are decimal strings, and stay exact.

/** The units that a person may write, with the base unit and the power of ten to it. */
const bases = {
  g: ['g', 0], kg: ['g', 3], ml: ['ml', 0], l: ['ml', 3], m: ['m', 0], piece: ['piece', 0], sheet: ['sheet', 0], roll: ['roll', 0],
  set: ['set', 0], pair: ['pair', 0], tablet: ['tablet', 0], serving: ['serving', 0],
};
export const units = Object.keys(bases);

/** A decimal string times ten to the power of places. */
function shift(amount, places) {
  const [whole, fraction = ''] = amount.split('.');
  const digits = whole + fraction;
  const point = whole.length + places;
  const padded = digits.padStart(digits.length + Math.max(0, 1 - point), '0').padEnd(point, '0');
  const at = Math.max(1, point);
  const after = padded.slice(at).replace(/0+$/, '');
  return padded.slice(0, at).replace(/^0+(?=\d)/, '') + (after && `.${after}`);
}

/** What was typed as the API takes it: {amount, unit}, or null where it is no amount. */
export function stated(text, unit) {
  const plain = text.normalize('NFKC').replace(/[\s,]/g, '');
  if (!/^\d{1,12}(\.\d{1,9})?$/.test(plain)) return null;
  const [base, places] = bases[unit];
  const amount = shift(plain, places);
  return /^\d{1,9}(\.\d{1,6})?$/.test(amount) && /[1-9]/.test(amount) ? { amount, unit: base } : null;
}

/** A content as a person would write it: 12000 g is 12 kg. */
export function readable({ amount, unit }) {
  const larger = { g: 'kg', ml: 'l' }[unit];
  return larger && Number(amount) >= 1000 ? { amount: shift(amount, -3), unit: larger } : { amount: shift(amount, 0), unit };
}
