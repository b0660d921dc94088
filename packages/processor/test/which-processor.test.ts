import { Failure } from '@eligo/failures';
import { startSandbox } from '@eligo/sandbox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openProcessors, openServiceProcessors, type ProcessorPort, sandboxAccountOf } from '../src/index.ts';
import { charged, newBench, newHome, newKey, scope, secretKey } from './support.ts';

/** What a second processor must bring. A member of the port, or of what its calls take, that is missing here does not compile. */
const surface = {
  ...{ name: 'string', account: 'object', asksForParts: 'boolean', refundsByCapture: 'boolean', isDown: 'function' },
  ...{ createCustomer: 'function', createPaymentMethod: 'function', retrievePaymentMethod: 'function' },
  ...{ attachPaymentMethod: 'function', detachPaymentMethod: 'function', retrieveConfirmationToken: 'function' },
  ...{ createIntent: 'function', confirmIntent: 'function', retrieveIntent: 'function', captureIntent: 'function' },
  ...{ cancelIntent: 'function', findIntentByMetadata: 'function' },
  ...{ createRefund: 'function', retrieveRefund: 'function', findRefund: 'function' },
  ...{ createSetupIntent: 'function', confirmSetupIntent: 'function', retrieveSetupIntent: 'function' },
  ...{ cancelSetupIntent: 'function', findSetupIntent: 'function' },
  ...{ retrieveCharge: 'function', retrieveDispute: 'function', updateDispute: 'function', closeDispute: 'function' },
  ...{ uploadEvidence: 'function', listEvents: 'function' },
  ...{ retrieveBalance: 'function', retrieveBalanceTransaction: 'function', listBalanceTransactions: 'function' },
  ...{ retrievePayout: 'function', listPayoutTransactions: 'function' },
} as const satisfies Record<Exclude<keyof ProcessorPort, 'processorAccount' | 'testBank'>, string>;

describe('which processor', () => {
  const sandbox = { ELIGO_SANDBOX_URL: 'http://127.0.0.1:9', ELIGO_SANDBOX_KEY: secretKey };
  const live = { accountId: 'facct_test', testMode: false };

  test('test mode is the sandbox, also beside a Stripe key', () => {
    const processors = openProcessors({ ...sandbox, STRIPE_SECRET_KEY: 'sk_live_x' });
    expect([processors.processorOf('test'), processors.processorOf('live')]).toEqual(['sandbox', 'stripe']);
    expect(processors.of(scope).name).toBe('sandbox');
    processors.close();
  });

  test('a metric says whether the circuit breaker of each processor is open', async () => {
    let read = async (): Promise<readonly (readonly [{ processor: string }, number])[]> => [];
    const quiet = () => undefined;
    const metrics = {
      counter: () => ({ inc: quiet }),
      histogram: () => ({ observe: quiet }),
      gaugeTable(name: string, _help: string, _labels: readonly 'processor'[], reads: typeof read) {
        expect(name).toBe('processor_breaker_open');
        read = reads;
      },
    };
    const processors = openServiceProcessors(
      { ...sandbox, STRIPE_SECRET_KEY: 'sk_live_x' },
      { metrics, logger: { error: quiet, warn: quiet }, recordCall: quiet },
      { beforeCall: quiet, requestId: quiet, onRecovered: quiet },
    );
    onTestFinished(() => processors.close());
    expect(await read()).toEqual([
      [{ processor: 'sandbox' }, 0],
      [{ processor: 'stripe' }, 0],
    ]);
    for (let call = 0; call < 3; call += 1) await processors.of(scope).createCustomer({}, newKey());
    expect(await read()).toEqual([
      [{ processor: 'sandbox' }, 1],
      [{ processor: 'stripe' }, 0],
    ]);
  });

  test('an object of ours that a processor does not have is an error in the log, and in the metric of calls [D14.74]', async () => {
    const bench = await newBench();
    const quiet = () => undefined;
    const outcomes: string[] = [];
    const errors: object[] = [];
    const processors = openServiceProcessors(
      { ELIGO_SANDBOX_URL: bench.sandbox.url, ELIGO_SANDBOX_KEY: secretKey },
      {
        metrics: {
          counter: () => ({ inc: quiet }),
          histogram: () => ({ observe: ({ call, outcome }) => outcomes.push(`${call} ${outcome}`) }),
          gaugeTable: quiet,
        },
        logger: { error: (fields: object, message: string) => errors.push({ ...fields, message }), warn: quiet },
        recordCall: quiet,
      },
      { beforeCall: quiet, requestId: quiet, onRecovered: quiet },
    );
    onTestFinished(() => processors.close());
    const port = processors.of(scope);
    const calls = [
      () => port.retrieveIntent('pi_gone'),
      () => port.confirmIntent('pi_gone', { offSession: true }, newKey()),
      () => port.captureIntent('pi_gone', { amountCents: 100, finalCapture: true }, newKey()),
      () => port.retrieveRefund('re_gone'),
    ];
    for (const call of calls) expect(await call()).toMatchObject({ kind: 'rejected', status: 404 });
    const names = [
      'payment_intents.retrieve',
      'payment_intents.confirm',
      'payment_intents.capture',
      'refunds.retrieve',
    ];
    expect(outcomes).toEqual(names.map((name) => `${name} rejected:missing`));
    const message = 'Processor does not have an object of ours; the outcome stays unknown';
    expect(errors).toEqual(names.map((operation) => ({ processor: 'sandbox', operation, message })));
  });

  test('live is Stripe for an account that has one there; it has no test bank', () => {
    const processors = openProcessors({
      ...sandbox,
      STRIPE_SECRET_KEY: 'sk_live_x',
      STRIPE_ACCOUNTS: '{"facct_test":"acct_9"}',
    });
    expect(processors.of(live)).toMatchObject({ name: 'stripe', processorAccount: 'acct_9', testBank: undefined });
    expect(() => processors.of({ ...live, accountId: 'facct_other' })).toThrow(Failure);
    processors.close();
  });

  test('the adapters of both processors have the whole surface of the port', () => {
    const processors = openProcessors({
      ...sandbox,
      STRIPE_SECRET_KEY: 'sk_live_x',
      STRIPE_ACCOUNTS: '{"facct_test":"acct_9"}',
    });
    onTestFinished(() => processors.close());
    const [ofSandbox, ofStripe] = [processors.of(scope), processors.of(live)];
    expect([ofSandbox.name, ofStripe.name]).toEqual(['sandbox', 'stripe']);
    for (const port of [ofSandbox, ofStripe]) {
      for (const [name, kind] of Object.entries(surface)) {
        expect([port.name, name, typeof port[name as keyof typeof surface]]).toEqual([port.name, name, kind]);
      }
    }
    // The capabilities that Stripe lacks, and what no processor but the sandbox does.
    expect([ofSandbox.asksForParts, ofStripe.asksForParts]).toEqual([true, false]);
    expect([ofSandbox.refundsByCapture, ofStripe.refundsByCapture]).toEqual([true, false]);
  });

  test('live is the sandbox only on request', () => {
    const processors = openProcessors({ ...sandbox, ELIGO_LIVE_PROCESSOR: 'sandbox' });
    expect(processors.of(live).name).toBe('sandbox');
    processors.close();
  });

  test('live without a processor is 503 processor_not_configured', () => {
    const processors = openProcessors(sandbox);
    expect(processors.processorOf('live')).toBeUndefined();
    expect(() => processors.of(live)).toThrow(
      expect.objectContaining({ code: 'processor_not_configured', status: 503 }),
    );
    processors.close();
  });

  test('an environment that contradicts itself is refused', () => {
    expect(() => openProcessors({ ...sandbox, ELIGO_LIVE_PROCESSOR: 'stripe' })).toThrow();
    expect(() =>
      openProcessors({ ...sandbox, ELIGO_LIVE_PROCESSOR: 'sandbox', STRIPE_SECRET_KEY: 'sk_live_x' }),
    ).toThrow();
  });

  test.each([
    ['no JSON', 'facct_a=acct_1', /must be a JSON object/],
    ['a list', '["acct_1"]', /must be a JSON object/],
    ['something else than an account', '{"facct_a":"x"}', /that of facct_a is neither/],
    ['one account for two', '{"facct_a":"acct_1","facct_b":"acct_1"}', /both facct_a and facct_b to acct_1/],
    ['the key’s own for two', '{"facct_a":"self","facct_b":"self"}', /both facct_a and facct_b to the key's own/],
  ])('STRIPE_ACCOUNTS is refused at start when it is %s', (_, accounts, message) => {
    expect(() => openProcessors({ STRIPE_SECRET_KEY: 'sk_live_x', STRIPE_ACCOUNTS: accounts })).toThrow(message);
  });

  test.each(['sk_test_x', 'rk_test_x', 'sk_org_test_x'])('%s is refused at start as the key of live mode', (key) => {
    expect(() => openProcessors({ ...sandbox, STRIPE_SECRET_KEY: key })).toThrow(/is a test key/);
    const processors = openProcessors({ ...sandbox, ELIGO_SANDBOX_KEY: key, ELIGO_LIVE_PROCESSOR: 'sandbox' });
    expect(processors.processorOf('live')).toBe('sandbox');
    processors.close();
  });

  test('a publishable key is refused, a restricted one is not', () => {
    expect(() => openProcessors({ STRIPE_SECRET_KEY: 'pk_live_x' })).toThrow(/publishable/);
    openProcessors({ STRIPE_SECRET_KEY: 'rk_live_x' }).close();
  });

  test('one account may be bound to the key’s own, which is charged without Stripe-Account', async () => {
    const key = 'sk_live_own';
    const home = newHome();
    const bank = await startSandbox({ home, host: '127.0.0.1', port: 0, secretKey: key });
    onTestFinished(() => bank.stop());
    const processors = openProcessors(
      { STRIPE_SECRET_KEY: key, STRIPE_ACCOUNTS: '{"facct_own":"self","facct_other":"acct_connected"}' },
      { stripeUrl: bank.url },
    );
    onTestFinished(() => processors.close());
    const customerOf = async (accountId: string) => {
      const port = processors.of({ accountId, testMode: false });
      const made = await port.createCustomer({}, newKey());
      if (made.kind !== 'found') throw new Error(made.kind);
      return { account: port.processorAccount, customerId: made.customerId };
    };
    const [own, other] = [await customerOf('facct_own'), await customerOf('facct_other')];
    expect([own.account, other.account]).toEqual([undefined, 'acct_connected']);
    // What a request without the header finds is the platform's own.
    const find = (id: string) =>
      fetch(`${bank.url}/v1/customers/${id}`, { headers: { authorization: `Bearer ${key}` } }).then(
        (answer) => answer.status,
      );
    expect([await find(own.customerId), await find(other.customerId)]).toEqual([200, 404]);
    expect(() => processors.of({ accountId: 'facct_third', testMode: false })).toThrow(Failure);
  });

  test('the sandbox is told the request that a call is made for, and Stripe is not [D14.360]', async () => {
    const lines: (readonly [string, unknown])[] = [];
    const open = async (name: string) => {
      const info = (fields: object) => void lines.push([name, (fields as { requestId?: unknown }).requestId]);
      const bank = await startSandbox({
        ...{ home: newHome(), host: '127.0.0.1', port: 0, secretKey: 'sk_live_told' },
        logger: { info, error: () => undefined },
      });
      onTestFinished(() => bank.stop());
      return bank.url;
    };
    const [url, stripeUrl] = [await open('sandbox'), await open('stripe')];
    let requestId: string | undefined = 'freq_1';
    const processors = openProcessors(
      {
        ...{ ELIGO_SANDBOX_URL: url, ELIGO_SANDBOX_KEY: 'sk_live_told', STRIPE_SECRET_KEY: 'sk_live_told' },
        STRIPE_ACCOUNTS: '{"facct_test":"self"}',
      },
      { stripeUrl, requestId: () => requestId },
    );
    onTestFinished(() => processors.close());
    await processors.of(scope).createCustomer({}, newKey());
    await processors.of(scope).testBank?.failRefund('re_gone');
    await processors.of(live).createCustomer({}, newKey());
    requestId = undefined;
    await processors.of(scope).createCustomer({}, newKey());
    const own = expect.stringMatching(/^req_/);
    expect(lines).toEqual([
      ['sandbox', 'freq_1'],
      ['sandbox', 'freq_1'],
      ['stripe', own],
      ['sandbox', own],
    ]);
  });

  test('money is found where it is stored, whichever account new money goes to [D14.105]', async () => {
    const key = 'sk_live_moved';
    const bank = await startSandbox({ home: newHome(), host: '127.0.0.1', port: 0, secretKey: key });
    onTestFinished(() => bank.stop());
    const told: unknown[] = [];
    const open = (environment: object) => {
      const processors = openProcessors(environment, {
        stripeUrl: bank.url,
        onNotConfigured: (at) => void told.push(at),
      });
      onTestFinished(() => processors.close());
      return processors;
    };
    const atSandbox = { ELIGO_SANDBOX_URL: bank.url, ELIGO_SANDBOX_KEY: key };
    const accounts = (account: string) => ({
      ...{ ...atSandbox, STRIPE_SECRET_KEY: key, STRIPE_ACCOUNTS: `{"facct_test":"${account}"}` },
    });
    const places = [
      open({ ...atSandbox, ELIGO_LIVE_PROCESSOR: 'sandbox' }).of(live),
      open(accounts('self')).of(live),
      open(accounts('acct_first000')).of(live),
    ];
    const now = open(accounts('acct_second00'));
    for (const port of places) {
      const made = await port.createIntent(
        { attemptId: 'att', amountCents: 500, capture: 'automatic', metadata: {} },
        newKey(),
      );
      if (made.kind !== 'created') throw new Error(made.kind);
      expect(await now.at(live, port.account).retrieveIntent(made.intentId)).toMatchObject({ intentId: made.intentId });
      expect(await now.of(live).retrieveIntent(made.intentId)).toMatchObject({ kind: 'rejected', status: 404 });
    }
    expect(now.at(live, null).account).toEqual({ processor: 'stripe', account: 'acct_second00' });
    expect(() => now.at(scope, { processor: 'stripe', account: 'self' })).toThrow(/sandbox alone/);
    expect(told).toEqual([]);
    const without = open(atSandbox);
    for (const stored of [{ processor: 'stripe', account: 'self' } as const, null]) {
      expect(() => without.at(live, stored)).toThrow(expect.objectContaining({ code: 'processor_not_configured' }));
    }
    expect(told).toEqual([{ processor: 'stripe', account: 'self' }, undefined]);
  });

  test('each account and mode has an account of its own at the sandbox [D6.4, D14.10]', async () => {
    const bench = await newBench();
    const id = await charged(bench);
    const other = bench.processors.of({ ...scope, accountId: 'facct_other' });
    expect((await other.retrieveIntent(id)).kind).toBe('rejected');
    // An object that the processor does not have is counted apart: an operator is to see it [D14.74].
    expect(bench.observed.at(-1)).toMatchObject({ call: 'payment_intents.retrieve', outcome: 'rejected:missing' });
    expect(sandboxAccountOf(scope)).not.toBe(sandboxAccountOf({ ...scope, testMode: false }));
    expect(await bench.charges()).toMatchObject([{ account: sandboxAccountOf(scope) }]);
  });
});
