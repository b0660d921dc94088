import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { requestHash } from '@eligo/postgres';
import { openProcessors, type ProcessorPort } from '@eligo/processor';
import type { ConfirmSessionResponse, CreateSessionRequestSchema } from '@eligo/proto/checkout/v1/checkout';
import { type Sandbox, startSandbox } from '@eligo/sandbox';
import { failpoint } from '@eligo/service';
import { waitUntil } from '@eligo/testkit';
import type { ConfirmRequest } from '../src/actions/charge-claim.ts';
import { openChargeGroups } from '../src/actions/charge-groups.ts';
import { confirmSession } from '../src/actions/confirm-session.ts';
import { createCustomer } from '../src/actions/create-customer.ts';
import { createTestPaymentMethod } from '../src/actions/create-test-payment-method.ts';
import { openPaymentTurns } from '../src/actions/payment-turn.ts';
import type { ChargeBudgets, ChargeFailpoint, Charging } from '../src/charging.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { line, openWorld, type World, type WorldOptions } from './world.ts';

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
export interface ChargingWorld extends World {
  readonly charging: Charging;
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
    with_?: Charging,
  ): Promise<ConfirmSessionResponse>;
  charges(session: Session): Promise<WitnessedCharge[]>;
  /** Resolves once a session's attempt has passed its fence: the call to the processor is then in flight. */
  sending(session: Session): Promise<void>;
  fault(fault: SandboxFault): Promise<void>;
  clearFaults(): Promise<void>;
  /** The same actions with a processor that differs from the sandbox in these calls. */
  chargingWith(change: (port: ProcessorPort) => Partial<ProcessorPort>): Charging;
  /** What the card's bank or a person at the processor does to a hold. */
  cancelAtProcessor(session: Session, leg: 'health' | 'other'): Promise<void>;
  /** How often each type of event was told of the session and its intents. */
  told(session: Session): Promise<Record<string, number>>;
  /** Lets every lease and waiting time be over, so that a sweep finds all that is unsettled. */
  lapseLeases(): Promise<void>;
}

const secretKey = 'sk_test_charging_world';
const lapse = `with attempts as (update checkout.charge_attempts set lease_until = now() - interval '5 minutes', next_check_at = now()
    where status in ('created', 'sending', 'unknown')),
  operations as (update checkout.intent_operations set lease_until = now() - interval '5 minutes', next_check_at = now()
    where status = 'pending'),
  plans as (update checkout.payment_plans set lease_until = now() - interval '5 minutes', next_check_at = now()
    where state in ('running', 'releasing'))
  update checkout.idempotency_keys set lease_until = now() - interval '5 minutes' where state = 'in_progress'`;

export async function openChargingWorld(
  budgets: Partial<ChargeBudgets> = {},
  options: WorldOptions = {},
): Promise<ChargingWorld> {
  const world = await openWorld(options);
  const home = await mkdtemp(join(tmpdir(), 'eligo-sandbox-'));
  const sandbox: Sandbox = await startSandbox({ home, host: '127.0.0.1', port: 0, secretKey });
  const processors = openProcessors({ ELIGO_SANDBOX_URL: sandbox.url, ELIGO_SANDBOX_KEY: secretKey });
  const claiming = {
    ...world.resources,
    failpoint: (name: ChargeFailpoint) => failpoint(name),
    budgets: {
      lockMs: 1_000,
      answerMs: 3_000,
      settleMs: 500,
      callMs: 1_500,
      leaseMs: 4_000,
      marginMs: 500,
      confirmMs: 60_000,
      ...budgets,
    },
  };
  const charging: Charging = {
    ...claiming,
    processors,
    turns: openPaymentTurns(),
    groups: openChargeGroups(claiming),
  };
  const resources = { ...world.resources, processors };
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${sandbox.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as { data: WitnessedCharge[] };
  };
  return {
    ...world,
    charging,
    async card(name, options = {}) {
      const customerId =
        options.customerId ??
        (
          await createCustomer(resources, world.scope, {
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
      const made = await createTestPaymentMethod(resources, world.scope, {
        customerId,
        card: name,
        cardLoc: [],
        offSession: options.offSession ?? true,
      });
      return { ...made, customerId };
    },
    mixedSession: ({ customerId }, parts = {}) =>
      world.session({
        lines: [line({ unitAmount: 4_000, class: 'auto_substantiation' }), line({ unitAmount: 6_000 })],
        customerId,
        ...parts,
      } as MessageInitShape<typeof CreateSessionRequestSchema>),
    confirm(session, card, options = {}, with_ = charging) {
      const path = `/v1/checkout/sessions/${session.id}/confirm`;
      return confirmSession(with_, world.scope, {
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
    async charges(session) {
      const { data } = await ask('GET', '/sandbox/charges?limit=1000');
      return data.filter((charge) => charge.metadata.session === session.id);
    },
    async sending({ id }) {
      const underWay = "select 1 from checkout.charge_attempts where subject_id = $1 and status = 'sending'";
      await waitUntil(async () => (await world.test.admin(underWay, [id])).length > 0, { what: 'the call under way' });
    },
    async fault(fault) {
      await ask('POST', '/sandbox/faults', { fault });
    },
    async clearFaults() {
      await ask('DELETE', '/sandbox/faults');
    },
    chargingWith(change) {
      const of = (scope: typeof world.scope) => {
        const port = processors.of(scope);
        return { ...port, ...change(port) };
      };
      return { ...charging, processors: { ...processors, of } };
    },
    async cancelAtProcessor({ id }, leg) {
      const [attempt] = await world.test.admin<{ processor_intent_id: string }>(
        "select processor_intent_id from checkout.charge_attempts where subject_id = $1 and leg = $2 and status = 'succeeded'",
        [id, leg],
      );
      if (attempt === undefined) throw new Error('there is no hold to cancel');
      const call = { idempotencyKey: randomUUID() };
      const answer = await processors.of(world.scope).cancelIntent(attempt.processor_intent_id, call);
      if (answer.kind !== 'canceled') throw new Error(`the hold is ${answer.kind}`);
    },
    async told({ id }) {
      const rows = await world.test.admin<{ type: string; times: string }>(
        `select type, count(*) as times from checkout.outbox where aggregate_id = $1
           or aggregate_id in (select i.id from checkout.payment_intents i where i.session_id = $1) group by type order by type`,
        [id],
      );
      return Object.fromEntries(rows.map(({ type, times }) => [type, Number(times)]));
    },
    async lapseLeases() {
      await world.test.admin(lapse);
    },
    async close() {
      processors.close();
      await sandbox.stop();
      await world.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}
