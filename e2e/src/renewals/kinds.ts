import type { Api } from '@eligo/testkit';
import type { RunningShop } from '../crashes/running-shop.ts';
import { type Json, record, records, text } from '../records.ts';
import { make } from '../shop.ts';
import { insist } from './insist.ts';

/** What one period costs: what the health card pays, and what the other card pays. */
export interface Bill {
  readonly health: number;
  readonly other: number;
}

/** A card that is declined for a while: which of the two, and the cards to change between. */
export interface WeakCard {
  readonly field: 'default_payment_method' | 'backup_payment_method';
  readonly good: string;
  readonly bad: string;
  /** The partner charges the invoice on the good card, before the subscription has it. */
  readonly isPaidByHand?: boolean;
}

/** A subscription and its model. */
export interface Kept {
  readonly id: string;
  readonly customer: string;
  readonly kind: string;
  /** The beginning of the first period that is paid, and of the trial before it. */
  readonly anchor: Date;
  readonly trialFrom?: Date;
  /** When the first period was paid, of one whose periods were moved back since. */
  readonly soldAt?: Date;
  readonly days?: number;
  /** The bill of the period number `n`; the first one is 0. */
  bill(n: number): Bill;
  readonly weak?: WeakCard;
  readonly changing?: Changing;
  readonly ending?: Ending;
  /** Its own product, which no health card may pay any more once the partner has said so. */
  readonly losesClass?: string;
  /** When the partner says so. */
  readonly losesClassAt?: Date;
  /** The session with which its customer got a letter. */
  readonly letterSession?: string;
}

/** What changes of a subscription while it goes on: its item, between these, or whether it is paused. */
export type Changing =
  | {
      readonly what: 'items';
      readonly behavior: 'always_invoice' | 'create_prorations' | 'none';
      readonly offers: readonly OtherItem[];
      /** A coupon that each change gives, and its share. */
      readonly coupon?: { readonly id: string; readonly percent: number };
    }
  | { readonly what: 'pause'; readonly keepsAnchor: boolean };

/** An item that a subscription is changed to, and what a period of it costs without a coupon. */
export interface OtherItem {
  readonly price: string;
  readonly quantity: number;
  readonly cents: number;
}

/** How a subscription ends while its clock goes on. */
export type Ending = 'canceled' | 'canceled with its period' | 'dunned';

/** What all subscriptions are sold from. */
export interface Offer {
  readonly monthly: string;
  readonly monthlyLarge: string;
  readonly towels: string;
  readonly fortnightly: string;
  readonly fortnightlyTowels: string;
  readonly threeMonthsOff: string;
  readonly tenthOff: string;
  readonly onceOff: string;
  readonly monthOff: string;
}

const dayMs = 86_400_000;
const eligibleCents = 1_940;
const largeCents = 2_877;
const towelCents = 763;
const offCents = 333;
const offMonths = 3;
/** A letter is valid for a year. */
const letterMonths = 12;

/** Makes the prices and coupons. */
export async function makeOffer({ api, shop }: RunningShop): Promise<Offer> {
  const price = async (fields: Json) => text(await make(api, '/v1/prices', 'price', fields), 'price_id');
  const coupon = async (fields: Json) => text(await make(api, '/v1/coupons', 'coupon', fields), 'coupon_id');
  const eligible = { product: shop.eligibleProductId, unit_amount: eligibleCents };
  const month = { recurring: { interval: 'month' } };
  const fortnight = { recurring: { interval: 'week', interval_count: 2 } };
  const towels = { name: 'Towels', hsa_fsa_eligibility: 'not_eligible' };
  return {
    monthly: await price({ ...eligible, ...month }),
    monthlyLarge: await price({ ...eligible, unit_amount: largeCents, ...month }),
    towels: await price({ product_data: towels, unit_amount: towelCents, ...month }),
    fortnightly: await price({ ...eligible, ...fortnight }),
    fortnightlyTowels: await price({ product_data: towels, unit_amount: towelCents, ...fortnight }),
    threeMonthsOff: await coupon({ amount_off: offCents, duration: 'repeating', duration_in_months: offMonths }),
    tenthOff: await coupon({ percent_off: 10, duration: 'forever' }),
    onceOff: await coupon({ amount_off: offCents, duration: 'once' }),
    monthOff: await coupon({ amount_off: offCents, duration: 'repeating', duration_in_months: 1 }),
  };
}

/** What a kind sells, beside its customer and cards, and what it bills. */
interface Kind {
  readonly name: string;
  readonly cards: readonly string[];
  readonly items: (offer: Offer) => readonly string[];
  readonly fields?: (offer: Offer) => Json;
  readonly bill: (quantity: number, n: number) => Bill;
  readonly trialDays?: number;
  readonly days?: number;
  /** The least of an item that is sold. */
  readonly least?: number;
  readonly weak?: WeakCard['field'];
  readonly isPaidByHand?: boolean;
  readonly ending?: Ending;
  readonly changing?: (offer: Offer, quantity: number) => Changing;
  /** Sells a product that is made for it alone, of this class, in place of what the offer has. */
  readonly ownClass?: 'auto_substantiation' | 'letter_of_medical_necessity';
}

const onHealthCard = (quantity: number): Bill => ({ health: quantity * eligibleCents, other: 0 });
const onBoth = (quantity: number): Bill => ({ health: quantity * eligibleCents, other: quantity * towelCents });
/** What no health card pays. */
export const onOtherCard = ({ health, other }: Bill): Bill => ({ health: 0, other: health + other });
const mixed = ({ monthly, towels }: Offer) => [monthly, towels];
const eligible = ({ monthly }: Offer) => [monthly];

// No change costs more than half of what is paid, so that its credit is used up by the next invoice.
const otherPrice =
  (behavior: 'always_invoice' | 'none') =>
  (offer: Offer, quantity: number): Changing => ({
    ...{ what: 'items', behavior },
    offers: [
      { price: offer.monthly, quantity, cents: quantity * eligibleCents },
      { price: offer.monthlyLarge, quantity, cents: quantity * largeCents },
    ],
  });
const twoQuantities = ({ monthly: price }: Offer, sold: number): OtherItem[] =>
  [sold, sold + 1].map((quantity) => ({ price, quantity, cents: quantity * eligibleCents }));
const otherQuantity = (offer: Offer, sold: number): Changing => ({
  ...{ what: 'items', behavior: 'create_prorations' },
  offers: twoQuantities(offer, sold),
});
const otherQuantityWithCoupon = (offer: Offer, sold: number): Changing => ({
  ...{ what: 'items', behavior: 'always_invoice', offers: twoQuantities(offer, sold) },
  coupon: { id: offer.tenthOff, percent: 10 },
});
const paused = (keepsAnchor: boolean) => (): Changing => ({ what: 'pause', keepsAnchor });

const kinds: readonly Kind[] = [
  { name: 'monthly', cards: ['hsa'], items: eligible, bill: onHealthCard },
  { name: 'two cards', cards: ['hsa', 'credit'], items: mixed, bill: onBoth },
  { name: 'declines', cards: ['hsa'], items: eligible, bill: onHealthCard, weak: 'default_payment_method' },
  {
    ...{ name: 'trial', cards: ['fsa', 'debit'], items: mixed, bill: onBoth, trialDays: 10 },
    fields: () => ({ trial_period_days: 10 }),
  },
  {
    ...{ name: 'three months off', cards: ['hsa'], items: eligible },
    fields: ({ threeMonthsOff }) => ({ coupon: threeMonthsOff }),
    bill: (quantity, n) => ({ health: quantity * eligibleCents - (n < offMonths ? offCents : 0), other: 0 }),
  },
  { name: 'second declines', cards: ['hsa', 'credit'], items: mixed, bill: onBoth, weak: 'backup_payment_method' },
  {
    ...{ name: 'ten percent off', cards: ['fsa'], items: eligible },
    fields: ({ tenthOff }) => ({ coupon: tenthOff }),
    bill: (quantity) => ({ health: (quantity * eligibleCents * 9) / 10, other: 0 }),
  },
  { name: 'fortnightly', cards: ['hsa'], items: (o) => [o.fortnightly], bill: onHealthCard, days: 14 },
  { name: 'upgraded now', cards: ['hsa'], items: eligible, bill: onHealthCard, changing: otherPrice('always_invoice') },
  { name: 'more of it', cards: ['hsa'], items: eligible, bill: onHealthCard, least: 2, changing: otherQuantity },
  { name: 'upgraded later', cards: ['fsa'], items: eligible, bill: onHealthCard, changing: otherPrice('none') },
  { name: 'paused', cards: ['hsa'], items: eligible, bill: onHealthCard, changing: paused(true) },
  { name: 'paused, begins anew', cards: ['hsa'], items: eligible, bill: onHealthCard, changing: paused(false) },
  {
    ...{ name: 'paid by hand', cards: ['hsa'], items: eligible, bill: onHealthCard },
    ...{ weak: 'default_payment_method', isPaidByHand: true },
  },
  { name: 'canceled in mid-run', cards: ['hsa', 'credit'], items: mixed, bill: onBoth, ending: 'canceled' },
  {
    ...{ name: 'dunned to its end', cards: ['hsa'], items: eligible, bill: onHealthCard },
    ...{ weak: 'default_payment_method', ending: 'dunned' },
  },
  {
    ...{ name: 'canceled with its period', cards: ['hsa'], items: eligible, bill: onHealthCard },
    ending: 'canceled with its period',
  },
  // The short run has none of those that follow.
  {
    ...{ name: 'once off', cards: ['hsa'], items: eligible, fields: ({ onceOff }) => ({ coupon: onceOff }) },
    bill: (quantity, n) => ({ health: quantity * eligibleCents - (n === 0 ? offCents : 0), other: 0 }),
  },
  {
    ...{ name: 'trial, then a month off', cards: ['fsa'], items: eligible, trialDays: 40 },
    fields: ({ monthOff }) => ({ trial_period_days: 40, coupon: monthOff }),
    bill: (quantity, n) => ({ health: quantity * eligibleCents - (n === 0 ? offCents : 0), other: 0 }),
  },
  {
    ...{ name: 'more of it with a coupon', cards: ['hsa'], items: eligible, bill: onHealthCard, least: 2 },
    changing: otherQuantityWithCoupon,
  },
  {
    ...{ name: 'not eligible any more', cards: ['hsa', 'credit'], items: () => [], bill: onHealthCard },
    ownClass: 'auto_substantiation',
  },
  {
    ...{ name: 'by a letter', cards: ['hsa', 'credit'], items: () => [], ownClass: 'letter_of_medical_necessity' },
    bill: (quantity, n) => (n < letterMonths ? onHealthCard(quantity) : onOtherCard(onHealthCard(quantity))),
  },
];

/** Sold while processes die, in turn. */
const lateKinds: readonly Kind[] = [
  { name: 'sold in mid-run', cards: ['hsa'], items: eligible, bill: onHealthCard },
  { name: 'sold in mid-run, two cards', cards: ['hsa', 'credit'], items: mixed, bill: onBoth },
];

const fortnightlyKinds: readonly Kind[] = [
  { name: 'overdue', cards: ['hsa'], items: (offer) => [offer.fortnightly], bill: onHealthCard, days: 14 },
  {
    ...{ name: 'overdue, two cards', cards: ['hsa', 'credit'], bill: onBoth, days: 14 },
    items: (offer) => [offer.fortnightly, offer.fortnightlyTowels],
  },
];

/** Sells the subscription number `place` to a new customer on a clock that stands at `at`: one kind after the other. */
export function sellOnClock(running: RunningShop, offer: Offer, clock: string, at: Date, place: number): Promise<Kept> {
  return sell(running, offer, kinds, place, { clock, at });
}

/** The same while processes die, as a client does that asks again with its key. */
export function sellInMidRun(
  running: RunningShop,
  offer: Offer,
  clock: string,
  at: Date,
  place: number,
): Promise<Kept> {
  return sell(running, offer, lateKinds, place, { clock, at, key: `sold-${clock}-${place}` });
}

/** The same by the wall clock, each two weeks. */
export function sellByWallClock(running: RunningShop, offer: Offer, place: number): Promise<Kept> {
  return sell(running, offer, fortnightlyKinds, place, undefined);
}

async function sell(
  { api }: RunningShop,
  offer: Offer,
  from: readonly Kind[],
  place: number,
  on: { clock: string; at: Date; key?: string } | undefined,
): Promise<Kept> {
  const kind = from[place % from.length] as Kind;
  const quantity = (kind.least ?? 1) + (Math.floor(place / from.length) % 3);
  const ask = (path: string, envelope: string, fields: Json, idempotencyKey?: string) =>
    on?.key === undefined
      ? make(api, path, envelope, fields)
      : makeInsisting(api, path, envelope, fields, idempotencyKey);
  const cardOf = async (card: string) =>
    text(await ask('/v1/test_helpers/payment_methods', 'payment_method', { customer, card }), 'payment_method_id');
  const person = { email: 'ada@example.com', ...(on && { test_clock: on.clock }) };
  const customer = text(await ask('/v1/customers', 'customer', person), 'customer_id');
  const [card = '', backup] = await Promise.all(kind.cards.map(cardOf));
  const own = kind.ownClass && (await makeOwn(api, kind.ownClass));
  const isByLetter = kind.ownClass === 'letter_of_medical_necessity';
  const letterSession = own && isByLetter ? await getLetter(api, customer, [card, backup ?? ''], own.once) : undefined;
  const prices = own === undefined ? kind.items(offer) : [own.monthly];
  const fields = {
    ...{ customer, items: prices.map((price) => ({ price, quantity })), default_payment_method: card },
    ...(backup === undefined ? {} : { backup_payment_method: backup }),
    ...kind.fields?.(offer),
  };
  const made = await ask('/v1/subscriptions', 'subscription', fields, on?.key);
  const status = kind.trialDays === undefined ? 'active' : 'trialing';
  // The outcome of the first charge may be unknown while processes die.
  if (made.status !== status && !(on?.key !== undefined && made.status === 'incomplete'))
    throw new Error(`the subscription ${kind.name} was sold ${made.status}`);
  const at = on?.at ?? new Date(text(made, 'current_period_start'));
  const good = kind.weak === 'backup_payment_method' ? (backup ?? '') : card;
  return {
    ...{ id: text(made, 'subscription_id'), customer, kind: kind.name },
    anchor: new Date(at.getTime() + (kind.trialDays ?? 0) * dayMs),
    ...(kind.trialDays === undefined ? {} : { trialFrom: at }),
    ...(kind.days === undefined ? {} : { days: kind.days }),
    bill: (n) => kind.bill(quantity, n),
    ...(kind.changing && { changing: kind.changing(offer, quantity) }),
    ...(kind.ending && { ending: kind.ending }),
    ...(kind.ownClass === 'auto_substantiation' && own !== undefined && { losesClass: own.product }),
    ...(letterSession !== undefined && { letterSession }),
    ...(kind.weak && {
      weak: {
        ...{ field: kind.weak, good, bad: await cardOf('insufficient_funds') },
        ...(kind.isPaidByHand === true && { isPaidByHand: true }),
      },
    }),
  };
}

/** A product of a class, with the price of a month and that of a purchase. */
async function makeOwn(api: Api, ownClass: string) {
  const fields = { name: 'A product of its own', hsa_fsa_eligibility: ownClass };
  const product = text(await make(api, '/v1/products', 'product', fields), 'product_id');
  const price = async (more: Json) =>
    text(await make(api, '/v1/prices', 'price', { product, unit_amount: eligibleCents, ...more }), 'price_id');
  return { product, monthly: await price({ recurring: { interval: 'month' } }), once: await price({}) };
}

/** A letter comes with a session in which the customer buys the product, and which is approved. */
async function getLetter(api: Api, customer: string, cards: readonly string[], price: string): Promise<string> {
  const session = await make(api, '/v1/checkout/sessions', 'checkout_session', {
    ...{ mode: 'payment', customer, success_url: 'https://shop.example/done' },
    line_items: [{ price, quantity: 1 }],
  });
  const id = text(session, 'checkout_session_id');
  const [payment_method, second_payment_method] = cards;
  const body = { checkout_session: { payment_method, second_payment_method } };
  await api.ok('POST', `/v1/test_helpers/checkout/sessions/${id}/complete`, { body });
  const [letter] = records(await api.ok('GET', `/v1/letters?checkout_session=${id}`), 'letters');
  await api.ok('POST', `/v1/test_helpers/letters/${text(letter ?? {}, 'letter_id')}/approve`);
  return id;
}

async function makeInsisting(
  api: Api,
  path: string,
  envelope: string,
  fields: Json,
  idempotencyKey: string | undefined,
): Promise<Json> {
  const key = idempotencyKey === undefined ? {} : { idempotencyKey };
  return record((await insist(`POST ${path}`, () => api.post(path, { [envelope]: fields }, key), 200)).body, envelope);
}

/** When the period number `n` begins: so many days or months after the anchor, on its day of the month or the last one of a shorter month. */
export function beginningOf({ anchor, days }: Pick<Kept, 'anchor' | 'days'>, n: number): Date {
  if (days !== undefined) return new Date(anchor.getTime() + n * days * dayMs);
  const [year, month] = [anchor.getUTCFullYear(), anchor.getUTCMonth() + n];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const midnight = Date.UTC(year, month, Math.min(anchor.getUTCDate(), lastDay));
  return new Date(midnight + (anchor.getTime() % dayMs));
}
