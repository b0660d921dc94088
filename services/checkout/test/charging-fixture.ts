import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { requestHash } from '@eligo/postgres';
import { openProcessors, type ProcessorPort } from '@eligo/processor';
import type { ConfirmSessionResponse, CreateSessionRequestSchema } from '@eligo/proto/checkout/v1/checkout';
import { type Sandbox, startSandbox } from '@eligo/sandbox';
import { waitUntil } from '@eligo/testkit';
import type { ConfirmRequest } from '../src/actions/charge-claim.ts';
import { confirmSession } from '../src/actions/confirm-session.ts';
import { createCustomer } from '../src/actions/create-customer.ts';
import { createTestPaymentMethod } from '../src/actions/create-test-payment-method.ts';
import type { ChargeBudgets } from '../src/charge-budgets.ts';
import type { Context } from '../src/context.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { type Fixture, type FixtureOptions, line, openFixture } from './fixture.ts';

/** A charge as the sandbox witnessed it. */
export interface WitnessedCharge {
  readonly amount: number;
  readonly amount_captured: number;
  readonly status: string;
  readonly metadata: Record<string, string>;
}

/** A fault of the sandbox (decisions 12). */
export interface SandboxFault {
  readonly call: string;
  readonly kind: string;
  readonly delay_ms?: number;
  readonly times?: number;
}

/** Checkout's actions with the real sandbox processor behind them. */
export interface ChargingFixture extends Fixture {
  /** A customer, and a card of theirs by its name. */
  card(
    name: string,
    options?: { offSession?: boolean; customerId?: string },
  ): Promise<PaymentMethod & { customerId: string }>;
  /** A session of 40.00 eligible and 60.00 not, of the card's customer. */
  mixedSession(
    card: { customerId: string },
    parts?: MessageInitShape<typeof CreateSessionRequestSchema>,
  ): Promise<Session>;
  confirm(
    session: Session,
    card: PaymentMethod,
    options?: Partial<ConfirmRequest>,
    with_?: Context,
  ): Promise<ConfirmSessionResponse>;
  /** The processor's id of a card that was typed into its fields and has no owner, as a payment method; by the card's token: `tok_hsa`. */
  typedCard(token: string): Promise<string>;
  /** The same as a confirmation token, which the fields make in live mode. */
  confirmationToken(card: string): Promise<string>;
  charges(session: Session): Promise<WitnessedCharge[]>;
  /** Resolves once a session's attempt has passed its fence: the call to the processor is then in flight. */
  sending(session: Session): Promise<void>;
  fault(fault: SandboxFault): Promise<void>;
  clearFaults(): Promise<void>;
  /** The same actions with a processor that differs from the sandbox in these calls. */
  contextWith(change: (port: ProcessorPort) => Partial<ProcessorPort>): Context;
  /** What the card's bank or a person at the processor does to a hold. */
  cancelAtProcessor(session: Session, leg: 'health' | 'other'): Promise<void>;
  /** What a card network does when a bank issues another card: the payment method is then this test card. */
  replaceCard(processorPaymentMethodId: string, card: string): Promise<void>;
  /** Moves the clock by which the processor's holds lapse. */
  advanceProcessor(ms: number): Promise<void>;
  /** How often each type of event was told of the session and its intents. */
  told(session: Session): Promise<Record<string, number>>;
  /** The set-up intents that the processor has of a customer, newest first. */
  setUpIntents(customerId: string): Promise<{ readonly id: string; readonly status: string }[]>;
  /** Lets every lease and waiting time be over, so that a sweep finds all that is unsettled. */
  lapseLeases(): Promise<void>;
}

const secretKey = 'sk_test_charging_world';
const lapse = `with attempts as (update checkout.charge_attempts set lease_until = now() - interval '5 minutes', next_check_at = now() - interval '1 second'
    where status in ('created', 'sending', 'unknown')),
  operations as (update checkout.intent_operations set lease_until = now() - interval '5 minutes', next_check_at = now() - interval '1 second'
    where status = 'pending'),
  plans as (update checkout.payment_plans set lease_until = now() - interval '5 minutes', next_check_at = now() - interval '1 second'
    where state in ('running', 'releasing'))
  update checkout.idempotency_keys set lease_until = now() - interval '5 minutes' where state = 'in_progress'`;

export async function openChargingFixture(
  budgets: Partial<ChargeBudgets> = {},
  options: FixtureOptions = {},
): Promise<ChargingFixture> {
  const home = await mkdtemp(join(tmpdir(), 'eligo-sandbox-'));
  const sandbox: Sandbox = await startSandbox({ home, host: '127.0.0.1', port: 0, secretKey });
  const processors = openProcessors({
    ELIGO_SANDBOX_URL: sandbox.url,
    ELIGO_SANDBOX_KEY: secretKey,
    ELIGO_LIVE_PROCESSOR: 'sandbox',
  });
  const fixture = await openFixture({ budgets, ...options, processors });
  const { context } = fixture;
  const ask = async <Of = WitnessedCharge>(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const response = await fetch(`${sandbox.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as { data: Of[] };
  };
  return {
    ...fixture,
    async card(name, options = {}) {
      const customerId =
        options.customerId ??
        (
          await createCustomer(context, fixture.scope, {
            firstName: null,
            lastName: null,
            email: null,
            phone: null,
            employer: null,
            shipping: null,
            metadata: {},
            testClockId: null,
          })
        ).customerId;
      const made = await createTestPaymentMethod(context, fixture.scope, {
        customerId,
        card: name,
        cardLoc: [],
        offSession: options.offSession ?? true,
      });
      return { ...made, customerId };
    },
    mixedSession: ({ customerId }, parts = {}) =>
      fixture.session({
        lines: [line({ unitAmount: 4_000, class: 'auto_substantiation' }), line({ unitAmount: 6_000 })],
        customerId,
        ...parts,
      } as MessageInitShape<typeof CreateSessionRequestSchema>),
    confirm(session, card, options = {}, with_ = context) {
      const path = `/v1/checkout/sessions/${session.id}/confirm`;
      return confirmSession(with_, fixture.scope, {
        sessionId: session.id,
        paymentMethodId: card.id,
        captureMethod: null,
        expand: [],
        features: [],
        key: randomUUID(),
        requestHash: requestHash({ method: 'POST', path, body: { card: card.id } }),
        ...options,
      });
    },
    async typedCard(token) {
      const made = await processors.of(fixture.scope).createPaymentMethod({ token }, { idempotencyKey: randomUUID() });
      if (made.kind !== 'found') throw new Error(`The sandbox answered ${made.kind}`);
      return made.paymentMethodId;
    },
    async confirmationToken(card) {
      const form = { 'payment_method_data[type]': 'card', 'payment_method_data[card][token]': card };
      const response = await fetch(`${sandbox.url}/v1/test_helpers/confirmation_tokens`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${secretKey}`,
          'stripe-account': processors.of(fixture.scope).processorAccount ?? '',
        },
        body: new URLSearchParams(form),
      });
      const { id } = (await response.json()) as { id?: string };
      if (id === undefined) throw new Error(`The sandbox answered ${response.status}`);
      return id;
    },
    async charges(session) {
      const { data } = await ask('GET', '/sandbox/charges?limit=1000');
      return data.filter((charge) => charge.metadata.session === session.id);
    },
    async sending({ id }) {
      const underWay = "select 1 from checkout.charge_attempts where subject_id = $1 and status = 'sending'";
      await waitUntil(async () => (await fixture.test.admin(underWay, [id])).length > 0, {
        what: 'the call under way',
      });
    },
    async replaceCard(id, card) {
      await ask('POST', `/sandbox/cards/${id}/update`, { card });
    },
    async fault(fault) {
      await ask('POST', '/sandbox/faults', { fault });
    },
    async clearFaults() {
      await ask('DELETE', '/sandbox/faults');
    },
    contextWith(change) {
      const changed = (port: ProcessorPort) => ({ ...port, ...change(port) });
      const ifFound = (port: ProcessorPort | undefined) => port && changed(port);
      return {
        ...context,
        processors: {
          ...processors,
          of: (scope) => changed(processors.of(scope)),
          findOf: (scope) => ifFound(processors.findOf(scope)),
          at: (scope, stored) => changed(processors.at(scope, stored)),
          findAt: (scope, stored) => ifFound(processors.findAt(scope, stored)),
        },
      };
    },
    async cancelAtProcessor({ id }, leg) {
      const [attempt] = await fixture.test.admin<{ processor_intent_id: string }>(
        "select processor_intent_id from checkout.charge_attempts where subject_id = $1 and leg = $2 and status = 'succeeded'",
        [id, leg],
      );
      if (attempt === undefined) throw new Error('there is no hold to cancel');
      const call = { idempotencyKey: randomUUID() };
      const answer = await processors.of(fixture.scope).cancelIntent(attempt.processor_intent_id, call);
      if (answer.kind !== 'canceled') throw new Error(`the hold is ${answer.kind}`);
    },
    async advanceProcessor(ms) {
      await ask('POST', '/sandbox/clock', { advance_ms: ms });
    },
    async told({ id }) {
      const rows = await fixture.test.admin<{ type: string; times: string }>(
        `select type, count(*) as times from checkout.outbox where aggregate_id = $1
           or aggregate_id in (select i.id from checkout.payment_intents i where i.session_id = $1) group by type order by type`,
        [id],
      );
      return Object.fromEntries(rows.map(({ type, times }) => [type, Number(times)]));
    },
    async setUpIntents(customerId) {
      const [customer] = await fixture.test.admin<{ id: string | null }>(
        'select processor_customer_id as id from checkout.customers where id = $1',
        [customerId],
      );
      const path = `/v1/setup_intents?limit=100&customer=${customer?.id}`;
      const account = { 'stripe-account': processors.of(fixture.scope).processorAccount ?? '' };
      return customer?.id == null
        ? []
        : (await ask<{ id: string; status: string }>('GET', path, undefined, account)).data;
    },
    async lapseLeases() {
      await fixture.test.admin(lapse);
    },
    async close() {
      processors.close();
      await sandbox.stop();
      await fixture.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}
