import { randomBytes } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { create } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import type { Database, DatabaseOptions, Scope } from '@eligo/postgres';
import type { Processors } from '@eligo/processor';
import {
  type CartLine,
  CartLineSchema,
  type CatalogService,
  type Coupon,
  CouponSchema,
  ResolvedCartSchema,
  ResolvedCartsSchema,
  ResolvedPromoCodeSchema,
} from '@eligo/proto/catalog/v1/catalog';
import { type CreateSessionRequest, CreateSessionRequestSchema } from '@eligo/proto/checkout/v1/checkout';
import type { Call, Client } from '@eligo/rpc';
import { createLogger, failpoint, openKeyring, readEnvironment } from '@eligo/service';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { type Clock, newId } from '@eligo/values';
import { openChargeGroups } from '../src/actions/charge-groups.ts';
import {
  createSession,
  openCreationFacts,
  openNewKeyedSessions,
  openNewSessions,
} from '../src/actions/create-session.ts';
import { openPaymentTurns } from '../src/actions/payment-turn.ts';
import { openPlainCarts } from '../src/actions/plain-carts.ts';
import { type ChargeBudgets, defaultBudgets } from '../src/charge-budgets.ts';
import type { Context } from '../src/context.ts';
import type { Session } from '../src/domain/session.ts';
import type { ChargeFailpoint } from '../src/failpoints.ts';
import { readPageUrls } from '../src/page-urls.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { checkoutService } from '../src/service.ts';

/** Checkout's actions on a database of their own, with a catalog across the network that is a fake, and a clock that is moved by hand. */
export interface Fixture {
  readonly test: TestDatabase;
  readonly database: Database;
  readonly scope: Scope;
  readonly call: Call;
  readonly clock: Clock & { set(time: Date): void };
  readonly catalog: FakeCatalog;
  readonly context: Context;
  /** Creates a session in payment mode with one eligible line of 10.00 unless told otherwise. */
  session(parts?: MessageInitShape<typeof CreateSessionRequestSchema>): Promise<Session>;
  close(): Promise<void>;
}

/** URLs of checkout pages as a shop's shoppers see them. */
export const testPages = readEnvironment(
  { ELIGO_PUBLIC_URL: 'https://pay.example', ELIGO_PAGE_KEY: 'a key of the tests of checkout alone' },
  readPageUrls,
);

export const start = new Date('2026-03-01T12:00:00.000Z');

/** On a database and in an account of its own, unless told otherwise. */
export interface FixtureOptions {
  readonly test?: TestDatabase;
  readonly pool?: Partial<DatabaseOptions>;
  readonly accountId?: string;
  /** Test mode unless it says otherwise. */
  readonly testMode?: boolean;
  /** None unless given: its tests call no processor. */
  readonly processors?: Processors;
  readonly budgets?: Partial<ChargeBudgets>;
}

/**
 * So short that a test meets their ends. All others have the budgets of production, and `patience` at the database: where the machine stalls for seconds, no call is
 * cut off, no lease lapses, and nobody stops waiting for a connection or a row.
 */
export const shortBudgets: ChargeBudgets = {
  lockMs: 1_000,
  answerMs: 3_000,
  settleMs: 500,
  callMs: 1_500,
  soonMs: 2_000,
  leaseMs: 4_000,
  marginMs: 500,
  confirmMs: 60_000,
};
const patience = {
  connectionWaitMs: 20_000,
  statementTimeoutMs: 20_000,
  lockTimeoutMs: 10_000,
  idleInTransactionTimeoutMs: 60_000,
};

export async function openFixture(options: FixtureOptions = {}): Promise<Fixture> {
  const test = options.test ?? (await testDatabase(checkoutService));
  const database = test.open('checkout', { max: 10, ...patience, ...options.pool });
  const scope: Scope = { accountId: options.accountId ?? newId('account'), testMode: options.testMode ?? true };
  let now = start;
  const clock = {
    now: () => now,
    set(time: Date) {
      now = time;
    },
  };
  const catalog = fakeCatalog();
  const call = callIn(scope);
  const charges = {
    ...{ database, clock },
    budgets: { ...defaultBudgets, soonMs: defaultBudgets.callMs, ...options.budgets },
    failpoint: (name: ChargeFailpoint) => failpoint(name),
  };
  const context: Context = {
    ...charges,
    logger: createLogger({ service: 'checkout', level: 'silent' }),
    processors: options.processors ?? {
      of: () => {
        throw new Error('these tests call no processor');
      },
      at: () => {
        throw new Error('these tests call no processor');
      },
      findOf: () => undefined,
      findAt: () => undefined,
      processorOf: () => 'sandbox',
      close: () => undefined,
    },
    catalog: catalog.client,
    plainCarts: openPlainCarts(catalog.client),
    pages: testPages,
    keyring: openKeyring(`k1:${randomBytes(32).toString('base64')}`),
    callerFor: () => call.caller,
    turns: openPaymentTurns(),
    groups: openChargeGroups(charges),
    creationFacts: openCreationFacts(database),
    newSessions: openNewSessions(database),
    newKeyedSessions: openNewKeyedSessions(database),
  };
  return {
    ...{ test, database, scope, call, clock, catalog, context },
    session: (parts = {}) => createSession(context, call, sessionRequestOf(sessionMessage(parts))),
    close: () => test.drop(),
  };
}

export function sessionMessage(parts: MessageInitShape<typeof CreateSessionRequestSchema>): CreateSessionRequest {
  return create(CreateSessionRequestSchema, {
    mode: 'payment',
    lines: [line({ unitAmount: 1000, class: 'auto_substantiation' })],
    successUrl: 'https://shop.example/done',
    ...parts,
  } as MessageInitShape<typeof CreateSessionRequestSchema>);
}

export function callIn(scope: Scope, { letterFeeCents = 0 }: { readonly letterFeeCents?: number } = {}): Call {
  return {
    scope,
    caller: { ...scope, features: [], letterFeeCents: BigInt(letterFeeCents) } as unknown as Call['caller'],
    from: 'gateway',
    requestId: 'freq_test',
    signal: new AbortController().signal,
    timeoutMs: () => 5_000,
  };
}

/** What a line of the fake catalog is: its price's id says it. */
export interface LineFacts {
  readonly unitAmount: number;
  readonly class?: string;
  readonly quantity?: number;
  readonly rule?: string;
  readonly ruleVersion?: string;
  readonly visitType?: string;
  /** Monthly if it is only said to be. */
  readonly recurring?: boolean | { readonly interval: string; readonly intervalCount: number };
  readonly product?: string;
  readonly name?: string;
  /** Whether the catalog refuses it in a call for several carts. */
  readonly isRefusedWithOthers?: boolean;
}

export function line(facts: LineFacts): CartLine {
  return create(CartLineSchema, {
    item: { case: 'priceId', value: JSON.stringify(facts) },
    quantity: BigInt(facts.quantity ?? 1),
  });
}

/** The catalog as far as checkout asks it; notes its calls, and fails the next one of a name on request. */
export interface FakeCatalog {
  readonly client: Client<typeof CatalogService>;
  readonly calls: { readonly name: string; readonly sessionId: string }[];
  /** A promo code in capitals, with what its coupon takes off. */
  addCode(code: string, coupon: MessageInitShape<typeof CouponSchema>): void;
  failNext(name: string, error: Error): void;
}

function fakeCatalog(): FakeCatalog {
  const calls: { name: string; sessionId: string }[] = [];
  const codes = new Map<string, Coupon>();
  const failures = new Map<string, Error>();
  const note = (name: string, sessionId: string | undefined) => {
    calls.push({ name, sessionId: sessionId ?? '' });
    const failure = failures.get(name);
    failures.delete(name);
    if (failure !== undefined) throw failure;
  };
  const acknowledge = (name: string) => async (request: { sessionId?: string }) => {
    note(name, request.sessionId);
    return {};
  };
  const client = {
    async resolveCart(request: {
      sessionId?: string;
      lines?: CartLine[];
      discounts?: { source?: { case?: string; value?: unknown } }[];
    }) {
      note('resolveCart', request.sessionId);
      return create(ResolvedCartSchema, {
        lines: (request.lines ?? []).map(resolvedLine),
        discounts: (request.discounts ?? []).map(({ source }) => ({
          coupon:
            source?.case === 'couponId'
              ? JSON.parse(String(source.value))
              : { couponId: newId('coupon'), duration: 'once', valid: true, ...(source?.value ?? {}) },
        })),
        shippingRate: {
          shippingRateId: newId('shipping_rate'),
          displayName: 'Standard',
          amountCents: 799n,
          active: true,
        },
      });
    },
    async resolveCarts({ carts = [] }: { carts?: { priceIds?: string[] }[] }) {
      note('resolveCarts', undefined);
      return create(ResolvedCartsSchema, {
        carts: carts.map(({ priceIds = [] }) => {
          const lines = priceIds.map((value) => create(CartLineSchema, { item: { case: 'priceId', value } }));
          return priceIds.some(isRefusedWithOthers) ? {} : { cart: { lines: lines.map(resolvedLine) } };
        }),
      });
    },
    async resolvePromoCode({ code = '' }: { code?: string }) {
      note('resolvePromoCode', code);
      const coupon = codes.get(code.toUpperCase());
      if (coupon === undefined) throw new Failure('promo_code_invalid');
      const promoCodeId = `fpromo_${code.toUpperCase()}`;
      return create(ResolvedPromoCodeSchema, { coupon, promoCodeId, code: code.toUpperCase() });
    },
    activateInline: acknowledge('activateInline'),
    reserveRedemption: acknowledge('reserveRedemption'),
    releaseRedemption: acknowledge('releaseRedemption'),
    finalizeRedemption: acknowledge('finalizeRedemption'),
  };
  return {
    client: client as unknown as Client<typeof CatalogService>,
    calls,
    addCode(code, coupon) {
      codes.set(code, create(CouponSchema, { couponId: newId('coupon'), duration: 'once', valid: true, ...coupon }));
    },
    failNext: (name, error) => void failures.set(name, error),
  };
}

function isRefusedWithOthers(priceId: string): boolean {
  const facts: LineFacts = JSON.parse(priceId);
  return facts.isRefusedWithOthers === true;
}

const monthly = { interval: 'month', intervalCount: 1 };

function resolvedLine({ item }: CartLine) {
  const facts: LineFacts = item.case === 'priceId' ? JSON.parse(item.value) : { unitAmount: 500 };
  return {
    price: {
      priceId: newId('price'),
      unitAmountCents: BigInt(facts.unitAmount),
      ...(facts.recurring ? { recurring: facts.recurring === true ? monthly : facts.recurring } : {}),
    },
    product: {
      productId: facts.product ?? newId('product'),
      name: facts.name ?? 'A product',
      ...(facts.visitType === undefined ? {} : { visitType: facts.visitType }),
    },
    eligibility: {
      rule: facts.rule ?? 'product',
      ruleVersion: facts.ruleVersion ?? '',
      rationale: 'set on the product',
      ...(facts.class === undefined ? {} : { hsaFsaEligibility: facts.class }),
    },
  };
}
