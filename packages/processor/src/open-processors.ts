import { Failure } from '@eligo/failures';
import Stripe from 'stripe';
import { type CallObservation, createCaller } from './call.ts';
import { createCircuitBreaker } from './circuit-breaker.ts';
import { createHttpClient } from './http-client.ts';
import { LeanStripe } from './lean-stripe.ts';
import type { ProcessorPort } from './port.ts';
import { type ProcessorScope, sandboxAccountOf } from './processor-account.ts';
import { checkLiveKey, readStripeAccounts, type StripeAccount } from './stripe-accounts.ts';
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
  /** Total time of a call that brings no budget of its own. */
  readonly timeoutMs?: number;
  /** Where Stripe is. */
  readonly stripeUrl?: string;
}

export interface Processors {
  /**
   * The processor of an account and mode: test is always the sandbox, live is Stripe. Throws Failure `processor_not_configured`
   * where there is none, so ask before the first row is written.
   */
  of(scope: ProcessorScope): ProcessorPort;
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
  const ports = new Map<string, ProcessorPort>();
  return {
    of: (scope) => {
      const name = `${scope.testMode} ${scope.accountId}`;
      const known = ports.get(name);
      if (known !== undefined) return known;
      const port = (scope.testMode ? sandbox : live)?.portOf(scope);
      if (port === undefined) throw new Failure('processor_not_configured');
      if (ports.size >= maxPortsKept) ports.clear();
      ports.set(name, port);
      return port;
    },
    processorOf: (mode) => (mode === 'test' ? sandbox : live)?.name,
    close: () => {
      sandbox?.close();
      live?.close();
    },
  };
}

interface Target {
  name: 'sandbox' | 'stripe';
  /** Undefined when the account has none here. */
  portOf(scope: ProcessorScope): ProcessorPort | undefined;
  close(): void;
}

function openSandbox(environment: ProcessorEnvironment, options: ProcessorOptions): Target | undefined {
  const { ELIGO_SANDBOX_URL: url, ELIGO_SANDBOX_KEY: secretKey } = environment;
  if (!url || !secretKey) return undefined;
  const accountOf = (scope: ProcessorScope) => ({ connected: sandboxAccountOf(scope) });
  return openTarget({ name: 'sandbox', url, secretKey, accountOf }, options);
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
    accountOf: (scope: ProcessorScope) => StripeAccount | undefined;
  },
  options: ProcessorOptions,
): Target {
  const { name, url, secretKey } = target;
  const { protocol, hostname, port } = new URL(url);
  const httpClient = createHttpClient();
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
    portOf: (scope) => {
      const account = target.accountOf(scope);
      if (account === undefined) return undefined;
      const processorAccount = account.connected;
      const beforeCall = options.beforeCall ?? noop;
      const call = createCaller({
        processor: name,
        breaker,
        processorAccount,
        timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
        beforeCall,
        onCall: options.onCall ?? noop,
      });
      const testBank = name === 'sandbox' ? createTestBank({ url, secretKey, stripe, call, beforeCall }) : undefined;
      return createStripePort({ name, processorAccount, stripe, call, isDown: breaker.isOpen, testBank });
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
