import { allRoutes } from '@eligo/contract';
import { describe, expect, it } from 'vitest';
import { growthCases, notMeasured } from '../src/growth/cases.ts';
import { bodies, idIn, madeBy } from '../src/growth/made-records.ts';
import { copyOf } from '../src/growth/multiply.ts';
import { runGrowth } from '../src/growth/run-growth.ts';
import { readOptions } from '../src/options.ts';

describe('growth', () => {
  it('has a row for every route of the contract, or says why not', () => {
    const named = new Set([...growthCases().map(({ name }) => name), ...Object.keys(notMeasured)]);
    expect(allRoutes.map(({ id }) => id).filter((id) => !named.has(id))).toEqual([]);
    expect(named).toContain('checkout_sessions.list customer_email');
    expect(named).toContain('products.list active metadata');
    const routes = new Set(allRoutes.map(({ id }) => id));
    expect(Object.keys(notMeasured).filter((name) => !routes.has(name.split(' ')[0] ?? ''))).toEqual([]);
  });

  it('makes what a route ends, by routes of the contract, and finds its identifier in the answer', () => {
    const routes = new Set(allRoutes.map(({ id }) => id));
    const named = Object.entries(madeBy).flatMap(([id, makers]) => [id, ...makers.map(({ route }) => route)]);
    expect([...named, ...Object.keys(bodies)].filter((id) => !routes.has(id))).toEqual([]);
    const captures = ['checkout_sessions.capture', 'payment_intents.capture', 'captures.get', 'captures.list'];
    const ended = ['payment_methods.attach', 'payment_methods.detach', 'disputes.close', 'webhooks.delete'];
    const names = growthCases().map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([...captures, ...ended, 'files.create', 'events.retry']));

    const intent = { payment_intent_id: 'fpi_1', latest_charge: 'fch_1' };
    const session = { envelope: 'checkout_session', record: { checkout_session_id: 'fcs_1', payment_intent: intent } };
    expect(['checkout_session', 'payment_intent', 'invoice'].map((kind) => idIn(session, kind))).toEqual([
      ...['fcs_1', 'fpi_1', undefined],
    ]);
    const subscription = { envelope: 'subscription', record: { latest_invoice: 'fin_1' } };
    expect(idIn(subscription, 'invoice')).toBe('fin_1');
    expect(idIn({ envelope: 'webhook', record: { webhook_id: 'fwh_1' } }, 'webhook_endpoint')).toBe('fwh_1');
    const disputed = bodies['test_helpers.create_dispute']?.({} as never, session);
    expect(disputed).toEqual({ charge: 'fch_1', amount: 1 });
  });

  it('names a copy by the end of its identifier, whose length stays', () => {
    expect(copyOf('fcus_01m80qp1f47t52n3xk2hzzzzzz', 1_000_000)).toBe('fcus_01m80qp1f47t52n3xk2h0f4240');
  });

  // Processor time is read from where only Linux has it. It is there with `ELIGO_TEST_LONG=on`.
  const itOfLongRun = process.platform === 'linux' && process.env.ELIGO_TEST_LONG === 'on' ? it : undefined;
  itOfLongRun?.(
    'measures both accounts, with counts too small to mean anything',
    async () => {
      const { growth } = readOptions(['--only', 'growth', '--tiny', '--filter', 'customers.get']);
      const report = await runGrowth(
        { ...(growth ?? expect.fail('no growth')), topology: 'all-in-one' },
        { onRow: () => undefined, onFailure: () => undefined },
      );
      expect(report.failures).toEqual([]);
      const names = new Set(report.rows.map(({ name }) => name));
      expect(names).toContain('customers.get');
      expect(names).toContain('one customer with many sessions: customers.get');
    },
    300_000,
  );
});
