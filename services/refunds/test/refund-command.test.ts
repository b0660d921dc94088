import { create } from '@bufbuild/protobuf';
import { handleOnce } from '@eligo/events';
import { type Event, EventSchema } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refundCommands } from '../src/consumers/refund-commands.ts';
import type { Context } from '../src/context.ts';
import type { DueWork } from '../src/store/due-work.ts';
import { type Fixture, openFixture, someScope, untilStatus } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

const command = (
  scope: { accountId: string; testMode: boolean },
  sessionId: string,
  operationId: string,
  parts: { recurringLinesOnly?: boolean; letterFee?: boolean } = {},
): Event =>
  create(EventSchema, {
    eventId: newId('event'),
    type: 'command.refund',
    accountId: scope.accountId,
    testMode: scope.testMode,
    aggregateId: 'fsub_1',
    object: {
      case: 'refundRequested',
      value: {
        $typeName: 'eligo.events.v1.RefundRequested',
        operationId,
        subject: { case: 'sessionId', value: sessionId },
        amountCents: 450n,
        reason: 'requested_by_customer',
        subscriptionId: 'fsub_1',
        invoiceId: 'fin_1',
        ...parts,
      },
    },
  });

describe("billing's word that money is to be returned", () => {
  it('is carried out once per operation id, however often it comes [D14.4]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const woken: DueWork[] = [];
    const consumer = refundCommands({ wake: (work) => void woken.push(...work) } as Partial<Context> as Context);
    const events = [command(scope, session.id, 'cancel:1'), command(scope, session.id, 'cancel:1')];
    for (const event of [...events, ...events]) {
      await handleOnce(on.service.database, consumer.consumer, event, consumer.handle);
    }
    expect(woken).toHaveLength(1);
    await on.sweep();
    const { refunds } = await on.refunds.listRefunds({}, on.as(scope));
    expect(refunds).toMatchObject([
      { amountCents: 450n, reason: 'requested_by_customer', subscriptionId: 'fsub_1', invoiceId: 'fin_1' },
    ]);
    await untilStatus(on, scope, refunds[0]?.refundId ?? '', 'succeeded');
    expect(await on.atProcessor(session)).toMatchObject([{ amount: 450 }]);
  });

  it('is told to checkout as no request of a partner: only such a one has to wait until its payment has succeeded [REF-4]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const consumer = refundCommands({ wake: () => undefined } as Partial<Context> as Context);
    await handleOnce(on.service.database, consumer.consumer, command(scope, session.id, 'cancel:1'), consumer.handle);
    await on.sweep();
    await on.refunds.refundSession({ sessionId: session.id, instruction: { amountCents: 700n } }, on.as(scope));
    const { refunds } = await on.refunds.listRefunds({}, on.as(scope));
    const told = refunds.map(({ refundId, amountCents }) => [amountCents, on.checkout.askedByPartner.get(refundId)]);
    expect(told).toEqual([
      [700n, true],
      [450n, false],
    ]);
  });

  it.each([
    ['the lines that recur', { recurringLinesOnly: true }],
    ['the letter fee', { letterFee: true }],
  ])(
    'is told to checkout as of %s only where the command says so: an older one does not [D14.349, D14.385]',
    async (_of, says) => {
      const scope = someScope();
      const session = await on.paid(scope, { hsa: 2_000 });
      const consumer = refundCommands({ wake: () => undefined } as Partial<Context> as Context);
      for (const [operation, parts] of [
        ['cancel:1', {}],
        ['cancel:2', says],
      ] as const) {
        const event = command(scope, session.id, operation, parts);
        await handleOnce(on.service.database, consumer.consumer, event, consumer.handle);
        await on.sweep();
      }
      const { refunds } = await on.refunds.listRefunds({}, on.as(scope));
      const told = refunds.reverse().map(({ refundId }) => on.checkout.instructions.get(refundId));
      const none = { amountCents: 450n, atMost: true, recurringLinesOnly: false, letterFee: false };
      expect(told).toMatchObject([none, { ...none, ...says }]);
    },
  );

  it('waits while the session is busy, and ends when checkout refuses it', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 500 });
    const consumer = refundCommands({ wake: () => undefined } as Partial<Context> as Context);
    await handleOnce(on.service.database, consumer.consumer, command(scope, session.id, 'cancel:1'), consumer.handle);
    on.checkout.trouble('busy');
    await on.sweep();
    await on.sweep();
    expect((await on.refunds.listRefunds({}, on.as(scope))).refunds).toHaveLength(1);

    // Less remains than was decided: it is given back. The next finds nothing.
    for (const operation of ['cancel:2', 'cancel:3']) {
      await handleOnce(on.service.database, consumer.consumer, command(scope, session.id, operation), consumer.handle);
      await on.sweep();
    }
    const { refunds } = await on.refunds.listRefunds({}, on.as(scope));
    expect(refunds.map((refund) => refund.amountCents)).toEqual([50n, 450n]);
    const rows = await on.admin(
      'select status, refusal_code from refunds.refunds where operation_id = $1 and account_id = $2',
      ['cancel:3', scope.accountId],
    );
    expect(rows).toEqual([{ status: 'refused', refusal_code: 'refund_amount_exceeds_remaining' }]);
  });

  it('ends where checkout has nothing left of the lines that recur: it is not asked for again [D14.40, D14.349]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 450 });
    const consumer = refundCommands({ wake: () => undefined } as Partial<Context> as Context);
    for (const operation of ['cancel:1', 'cancel:2']) {
      const event = command(scope, session.id, operation, { recurringLinesOnly: true });
      await handleOnce(on.service.database, consumer.consumer, event, consumer.handle);
      await on.sweep();
    }
    const ended = () =>
      on.admin('select id, status, refusal_code from refunds.refunds where operation_id = $1 and account_id = $2', [
        'cancel:2',
        scope.accountId,
      ]);
    const [refused] = await ended();
    expect(refused).toMatchObject({ status: 'refused', refusal_code: 'refund_amount_exceeds_remaining' });
    on.checkout.instructions.clear();
    await on.sweep();
    await on.sweep();
    expect(on.checkout.instructions.size).toBe(0);
    expect(await ended()).toEqual([refused]);
    expect((await on.refunds.listRefunds({}, on.as(scope))).refunds).toMatchObject([{ amountCents: 450n }]);
  });
});
