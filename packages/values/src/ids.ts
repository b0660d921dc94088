import { randomFillSync } from 'node:crypto';

/** Every kind of record and the prefix of its identifiers (interface, general rule 7; decisions 3). */
export const idPrefixes = {
  account: 'facct',
  api_key: 'fakey',
  balance_transaction: 'fbtxn',
  capture: 'fcap',
  charge: 'fch',
  charge_attempt: 'fatt',
  checkout_session: 'fcs',
  component_nutrition: 'fcn',
  coupon: 'fcoup',
  customer: 'fcus',
  delivery: 'fdel',
  discount: 'fdi',
  dispute: 'fdp',
  eligibility_record: 'felig',
  event: 'fevt',
  fee: 'ffee',
  file: 'ffile',
  food_policy: 'ffood',
  intent_operation: 'fiop',
  invoice: 'fin',
  ledger_transaction: 'fltx',
  letter: 'flet',
  line_item: 'fli',
  notice_mail: 'fnml',
  operator: 'foper',
  organization: 'forg',
  payment_intent: 'fpi',
  payment_link: 'fplink',
  payment_method: 'fpm',
  payment_plan: 'fplan',
  payout: 'fpo',
  price: 'fprice',
  product: 'fprod',
  product_component: 'fcomp',
  promo_code: 'fpromo',
  proration: 'fprr',
  receipt: 'frcpt',
  receipt_mail: 'frml',
  refund: 'fre',
  request: 'freq',
  reviewer: 'frev',
  setup_intent: 'fseti',
  shipping_address: 'fsh',
  shipping_rate: 'fshr',
  split_cart: 'fsplit',
  subscription: 'fsub',
  subscription_item: 'fsubi',
  subscription_mail: 'fsml',
  test_clock: 'fclk',
  webhook_endpoint: 'fwh',
} as const;

/** A kind of record that has identifiers of its own. */
export type IdKind = keyof typeof idPrefixes;

/**
 * A new identifier: the kind's prefix, `_`, and 26 lowercase base32 characters (10 of milliseconds, 16 of randomness).
 * Identifiers sort by creation time under `COLLATE "C"` and strictly increase within a process (decisions 3).
 */
export function newId(kind: IdKind): string {
  return `${idPrefixes[kind]}_${nextBody()}`;
}

/** Whether `text` has the form of an identifier of this kind; says nothing about whether the record exists. */
export function isId(kind: IdKind, text: string): boolean {
  const prefix = idPrefixes[kind];
  return text.length === prefix.length + 27 && text.startsWith(`${prefix}_`) && bodyForm.test(text.slice(-26));
}

/** The kind that an identifier's prefix names, or undefined when it has the form of none. */
export function idKindOf(text: string): IdKind | undefined {
  const kind = kindByPrefix.get(text.slice(0, text.indexOf('_')));
  return kind !== undefined && isId(kind, text) ? kind : undefined;
}

/** What makes identifier bodies depend on the outside: the wall clock in milliseconds and random 40-bit integers. */
export interface IdSource {
  now(): number;
  random40(): number;
}

/**
 * A generator of identifier bodies. Within one millisecond, or when the clock steps back, the random part grows by a random step of up to
 * 2^56: a step of one would make neighboring identifiers guessable.
 */
export function idBodies(source: IdSource): () => string {
  let lastMs = -1;
  let high = 0;
  let low = 0;
  return () => {
    const now = source.now();
    if (now > lastMs) {
      lastMs = now;
      high = source.random40();
      low = source.random40();
    } else {
      low += source.random40() + 1;
      high += source.random40() % 0x10000;
      if (low >= HALF) {
        low -= HALF;
        high += 1;
      }
      if (high >= HALF) {
        lastMs += 1;
        high = source.random40();
        low = source.random40();
      }
    }
    return base32(lastMs, 10) + base32(high, 8) + base32(low, 8);
  };
}

// Crockford's alphabet: no i, l, o, u, and its order is the order of the bytes.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const HALF = 2 ** 40;
const bodyForm = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const kindByPrefix = new Map<string, IdKind>(
  Object.entries(idPrefixes).map(([kind, prefix]) => [prefix, kind as IdKind]),
);

/** When an id of this kind was made, to the millisecond; undefined when the text is not one. */
export function timeOfId(kind: IdKind, text: string): Date | undefined {
  if (!isId(kind, text)) return undefined;
  const start = text.indexOf('_') + 1;
  let ms = 0;
  for (const character of text.slice(start, start + 10)) ms = ms * 32 + alphabet.indexOf(character);
  return new Date(ms);
}

function base32(value: number, length: number): string {
  let text = '';
  let rest = value;
  for (let i = 0; i < length; i++) {
    text = alphabet.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

// One call to the system's generator serves some four hundred identifiers.
const pool = Buffer.alloc(4000);
let used = pool.length;

function random40(): number {
  if (used >= pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const value = pool.readUIntBE(used, 5);
  used += 5;
  return value;
}

const nextBody = idBodies({ now: Date.now, random40 });
