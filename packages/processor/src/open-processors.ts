import { Failure } from '@eligo/failures';
import { ownAccount, type ProcessorAccount } from '@eligo/values';
import Stripe from 'stripe';
import { type CallObservation, createCaller } from './call.ts';
import { createCircuitBreaker } from './circuit-breaker.ts';
import { createHttpClient } from './http-client.ts';
import { LeanStripe } from './lean-stripe.ts';
import type { ProcessorPort } from './port.ts';
import { type ProcessorScope, sandboxAccountOf } from './processor-account.ts';
import { checkLiveKey, readStripeAccounts } from './stripe-accounts.ts';
import { createStripePort } from './stripe-port.ts';
import { createTestBank } from './test-bank.ts';

/** What of the environment decides which processor is used. */
export interface ProcessorEnvironment {
  readonly ELIGO_SANDBOX_URL?: string | undefined;
  readonly ELIGO_SANDBOX_KEY?: string | undefined;
  readonly STRIPE_SECRET_KEY?: string | undefined;
  /** JSON: Eligo's account id -> Stripe's connected account, or `self` for the key's own (`{"facct_…":"acct_…"}`). */
  readonly STRIPE_ACCOUNTS?: string | undefined;
  /** `sandbox` lets live keys charge at the sandbox. */
  readonly ELIGO_LIVE_PROCESSOR?: string | undefined;
}

export interface ProcessorOptions {
  /** Called before each call; throws where none may be made (`refuseInsideTransaction`). */
  readonly beforeCall?: () => void;
  /** Told of every call: for latency and outcome metrics. */
  readonly onCall?: (observation: CallObservation) => void;
  /** Called when a processor's circuit breaker opens or closes. */
  readonly onBreaker?: (change: { processor: 'sandbox' | 'stripe'; open: boolean }) => void;
  /** Called when money is at a processor that the environment does not configure: the stored one, or none for a record that has none stored. */
  readonly onNotConfigured?: (account: ProcessorAccount | undefined) => void;
  /** The request that the current work belongs to, which the sandbox logs. Stripe is not told: its API has no field for it. */
  readonly requestId?: () => string | undefined;
  /** Total time of a call that brings no budget of its own. */
  readonly timeoutMs?: number;
  /** Where Stripe is. */
  readonly stripeUrl?: string;
}

export interface Processors {
  /**
   * The processor that new money of an account and mode goes to: test is always the sandbox, live is Stripe. Throws Failure
   * `processor_not_configured` where there is none, so ask before the first row is written.
   */
  of(scope: ProcessorScope): ProcessorPort;
  /** The same as `of`, or undefined where there is none. */
  findOf(scope: ProcessorScope): ProcessorPort | undefined;
  /**
   * The processor account at which money, a card or a customer already is, whichever new money goes to by now. Null, for a record of a release that
   * did not store it, is that of new money. Throws Failure `processor_not_configured` while the environment has no key for it.
   */
  at(scope: ProcessorScope, stored: ProcessorAccount | null): ProcessorPort;
  /** The same as `at`, or undefined: the log and a metric say so, and the caller postpones its work. */
  findAt(scope: ProcessorScope, stored: ProcessorAccount | null): ProcessorPort | undefined;
  /** Which processor serves a mode, or undefined; for the announcement at start. */
  processorOf(mode: 'test' | 'live'): 'sandbox' | 'stripe' | undefined;
  close(): void;
}

const defaultTimeoutMs = 6_000;
const probeTimeoutMs = 1_000;
const maxPortsKept = 2_000;

/** Opens the processors that the environment names. Throws when the environment contradicts itself. */
export function openProcessors(environment: ProcessorEnvironment, options: ProcessorOptions = {}): Processors {
  const sandbox = openSandbox(environment, options);
  const live = openLive(environment, options, sandbox);
  const targets = { sandbox, stripe: live === sandbox ? undefined : live };
  const ports = new Map<string, ProcessorPort>();

  function portAt(target: Target, account: string): ProcessorPort {
    const name = `${target.name} ${account}`;
    const known = ports.get(name);
    if (known !== undefined) return known;
    const port = target.portOf(account);
    if (ports.size >= maxPortsKept) ports.clear();
    ports.set(name, port);
    return port;
  }

  function findOf(scope: ProcessorScope): ProcessorPort | undefined {
    const target = scope.testMode ? sandbox : live;
    const account = target?.accountOf(scope);
    return target === undefined || account === undefined ? undefined : portAt(target, account);
  }

  function ofMoney(scope: ProcessorScope, stored: ProcessorAccount | null): ProcessorPort | undefined {
    if (stored === null) return findOf(scope);
    if (scope.testMode && stored.processor !== 'sandbox') throw new Error('Test mode uses the sandbox alone');
    const target = targets[stored.processor];
    return target && portAt(target, stored.account);
  }

  function findAt(scope: ProcessorScope, stored: ProcessorAccount | null): ProcessorPort | undefined {
    const port = ofMoney(scope, stored);
    if (port === undefined) options.onNotConfigured?.(stored ?? undefined);
    return port;
  }

  return {
    ...{ findOf, findAt },
    of: (scope) => configured(findOf(scope)),
    at: (scope, stored) => configured(findAt(scope, stored)),
    processorOf: (mode) => (mode === 'test' ? sandbox : live)?.name,
    close: () => {
      targets.sandbox?.close();
      targets.stripe?.close();
    },
  };
}

function configured(port: ProcessorPort | undefined): ProcessorPort {
  if (port === undefined) throw new Failure('processor_not_configured');
  return port;
}

interface Target {
  name: 'sandbox' | 'stripe';
  /** The processor's account of new money; undefined when Eligo's account has none here. */
  accountOf(scope: ProcessorScope): string | undefined;
  portOf(account: string): ProcessorPort;
  close(): void;
}

function openSandbox(environment: ProcessorEnvironment, options: ProcessorOptions): Target | undefined {
  const { ELIGO_SANDBOX_URL: url, ELIGO_SANDBOX_KEY: secretKey } = environment;
  if (!url || !secretKey) return undefined;
  return openTarget({ name: 'sandbox', url, secretKey, accountOf: sandboxAccountOf }, options);
}

function openLive(
  environment: ProcessorEnvironment,
  options: ProcessorOptions,
  sandbox: Target | undefined,
): Target | undefined {
  const { ELIGO_LIVE_PROCESSOR: choice, STRIPE_SECRET_KEY: secretKey } = environment;
  if (choice && choice !== 'sandbox') throw new Error('ELIGO_LIVE_PROCESSOR must be "sandbox" or unset');
  if (choice && secretKey) throw new Error('Set either ELIGO_LIVE_PROCESSOR or STRIPE_SECRET_KEY, not both');
  if (choice) return sandbox;
  if (!secretKey) return undefined;
  checkLiveKey(secretKey);
  const accounts = readStripeAccounts(environment.STRIPE_ACCOUNTS);
  const url = options.stripeUrl ?? 'https://api.stripe.com';
  return openTarget({ name: 'stripe', url, secretKey, accountOf: (scope) => accounts.get(scope.accountId) }, options);
}

function openTarget(
  target: {
    name: Target['name'];
    url: string;
    secretKey: string;
    accountOf: (scope: ProcessorScope) => string | undefined;
  },
  options: ProcessorOptions,
): Target {
  const { name, url, secretKey } = target;
  const { protocol, hostname, port } = new URL(url);
  const requestId = name === 'sandbox' ? options.requestId : undefined;
  const httpClient = createHttpClient(requestId);
  const scheme = protocol === 'http:' ? 'http' : 'https';
  const stripe = new LeanStripe(secretKey, {
    host: hostname,
    port: port || (scheme === 'http' ? 80 : 443),
    protocol: scheme,
    httpClient,
    // Retries have one layer, ours: a repetition that the SDK makes on its own could not be told from one that we decided on.
    maxNetworkRetries: 0,
    telemetry: false,
    timeout: options.timeoutMs ?? defaultTimeoutMs,
  });
  const breaker = createCircuitBreaker({
    probe: () => isAlive(stripe),
    onChange: (open) => options.onBreaker?.({ processor: name, open }),
  });
  return {
    name,
    accountOf: target.accountOf,
    portOf: (account) => {
      const processorAccount = account === ownAccount ? undefined : account;
      const beforeCall = options.beforeCall ?? noop;
      const call = createCaller({
        processor: name,
        breaker,
        processorAccount,
        timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
        beforeCall,
        onCall: options.onCall ?? noop,
      });
      const testBank =
        name === 'sandbox'
          ? createTestBank({ url, secretKey, account, stripe, call, beforeCall, requestId })
          : undefined;
      return createStripePort({
        account: { processor: name, account },
        stripe,
        call,
        isDown: breaker.isOpen,
        testBank,
      });
    },
    close: () => {
      breaker.close();
      httpClient.close();
    },
  };
}

/** Any answer below 500, a refusal too, shows that the processor is there. */
async function isAlive(stripe: Stripe): Promise<boolean> {
  try {
    await stripe.customers.list({ limit: 1 }, { timeout: probeTimeoutMs });
    return true;
  } catch (error) {
    return error instanceof Stripe.errors.StripeError && error.statusCode !== undefined && error.statusCode < 500;
  }
}

function noop(): void {
  // No callback was given.
}
