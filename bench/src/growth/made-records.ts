import type { JsonObject } from '@eligo/contract';
import type { ExampleReferences } from '@eligo/gateway/probes';

/** A record that a step of a case has made. */
export interface MadeRecord {
  readonly envelope: string;
  readonly record: Readonly<Record<string, unknown>>;
}

/** What stands in a body's envelope, where it is not what the contract's probes send. */
export type BodyOf = (references: ExampleReferences, made: MadeRecord | undefined) => JsonObject;

/** A request that makes a record: its route, and what it sends. */
export interface MakingStep {
  readonly route: string;
  readonly body?: BodyOf;
}

const step = (route: string, body?: BodyOf): MakingStep => ({ route, ...(body === undefined ? {} : { body }) });

const session = step('checkout_sessions.create');
const heldSession = step('checkout_sessions.create', ({ price, customer }) => ({
  ...{ line_items: [{ price, quantity: 1 }], customer, success_url: 'https://shop.example/ok' },
  capture_method: 'manual',
}));
// A card that is new each time: it waits for no other session.
const held = [heldSession, step('test_helpers.complete_checkout_session', () => ({ payment_method: 'credit' }))];
const paid = [session, step('checkout_sessions.confirm')];
const disputedCharge: BodyOf = (_, made) => ({ charge: chargeIn(made), amount: 1 });
const disputed = [...paid, step('test_helpers.create_dispute', disputedCharge)];
// Nothing is ever told of: its deliveries would be tried again beside other rows.
const quietEvents = { events: ['consultation.denied'] };
const subscription = step('subscriptions.create');
const paidSubscription = [subscription, step('invoices.pay')];
const testClock = step('test_clocks.create');

/** What makes the record that a route ends or changes for good, by the route's id. */
export const madeBy: Readonly<Record<string, readonly MakingStep[]>> = {
  'coupons.delete': [step('coupons.create')],
  'customers.delete': [step('customers.create')],
  'payment_methods.attach': [step('test_helpers.create_payment_method', () => ({ card: 'credit' }))],
  'payment_methods.detach': [step('test_helpers.create_payment_method')],
  'checkout_sessions.confirm': [session],
  'checkout_sessions.cancel': [session],
  'checkout_sessions.expire': [session],
  'checkout_sessions.capture': held,
  'checkout_sessions.preview_capture': held,
  'payment_intents.capture': held,
  'test_helpers.complete_checkout_session': [session],
  'test_helpers.expire_checkout_session': [session],
  'test_helpers.create_dispute': paid,
  'disputes.update': disputed,
  'disputes.close': disputed,
  'subscriptions.cancel': [subscription],
  'subscriptions.pause': paidSubscription,
  'subscriptions.resume': [...paidSubscription, step('subscriptions.pause')],
  'invoices.pay': [subscription],
  'invoices.void': [subscription],
  'webhooks.delete': [step('webhooks.create', () => ({ url: 'http://127.0.0.1:9/hooks', ...quietEvents }))],
  'test_clocks.advance': [testClock],
  'test_clocks.delete': [testClock],
};

/** Bodies of the routes that are measured. */
export const bodies: Readonly<Record<string, BodyOf>> = {
  'test_helpers.create_dispute': disputedCharge,
  // The stub processor does not say whether a card can be captured again.
  'checkout_sessions.preview_capture': () => ({ amount: 1, final_capture: true }),
  'webhooks.update': () => quietEvents,
};

/** The identifier of a record of this kind in what was answered: its own, or that of a record that it names. */
export function idIn({ envelope, record }: MadeRecord, kind: string): string | undefined {
  const named = record[kind];
  const isOwn = kind === envelope || (kind === 'webhook_endpoint' && envelope === 'webhook');
  const found = isOwn
    ? record[`${envelope}_id`]
    : (record[`latest_${kind}`] ?? (isRecord(named) ? named[`${kind}_id`] : named));
  return typeof found === 'string' ? found : undefined;
}

function chargeIn(made: MadeRecord | undefined): string {
  const intent = made?.record.payment_intent;
  const charge = isRecord(intent) ? intent.latest_charge : undefined;
  if (typeof charge !== 'string') throw new Error('the answer of a confirm names no charge');
  return charge;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
