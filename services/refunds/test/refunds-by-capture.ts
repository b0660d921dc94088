import { waitUntil } from '@eligo/testkit';
import { describe, expect, it } from 'vitest';
import { carryOutAttempt } from '../src/actions/carry-out-attempt.ts';
import { defaultBudgets } from '../src/budgets.ts';
import type { Context } from '../src/context.ts';
import { type Fixture, someScope, untilStatus } from './fixture.ts';

const unknownAttempts = `select 1 from refunds.refund_attempts where refund_id = $1 and status = 'unknown'`;

/** What the sends of a refund say of captures. */
export function refundByCaptureTests(on: () => Fixture): void {
  describe('a refund of a card that was captured in parts', () => {
    it('names the same captures in each send, also by another process, and keeps them as they were reserved [D14.238]', async () => {
      const scope = someScope();
      const { id: sessionId, cards } = await on().paid(scope, { hsa: 2_000 });
      const captures = [
        { captureId: 'fcap_1', amountCents: 300n },
        { captureId: 'fcap_2', amountCents: 250n },
      ];
      on().checkout.paid({ id: sessionId, cards: cards.map((card) => ({ ...card, captures })) });
      await on().fault({ call: 'refunds.create', kind: 'drop_before' });
      const instruction = { amountCents: 600n };
      const { refund } = await on().refunds.refundSession({ sessionId, instruction }, on().as(scope));
      const id = refund?.refundId ?? '';
      await waitUntil(async () => (await on().admin(unknownAttempts, [id])).length === 1);
      await on().restart();
      const [attempt] = await on().admin<{ id: string }>(
        'select id from refunds.refund_attempts where refund_id = $1',
        [id],
      );
      const sent: unknown[] = [];
      const lost = { kind: 'unknown', reason: 'timeout', mayHaveHappened: true, replayed: false };
      const refunds = {
        ...{
          database: on().service.database,
          budgets: defaultBudgets,
          failpoint: () => undefined,
          wake: () => undefined,
        },
        processors: {
          findAt: () => ({
            isDown: () => false,
            createRefund: async (input: object) => {
              sent.push(input);
              return lost;
            },
          }),
        },
        logger: { warn: () => undefined },
      } as unknown as Context;
      for (const _ of [1, 2]) {
        await on().admin(
          `update refunds.refund_attempts set lease_until = now() - interval '1 second' where refund_id = $1`,
          [id],
        );
        await carryOutAttempt(refunds, scope, attempt?.id ?? '');
      }
      const named = captures.map((part) => ({ ...part, amountCents: Number(part.amountCents) }));
      expect(sent).toMatchObject([{ amountCents: 600, captures: named }, { captures: named }]);
      expect(sent[0]).toEqual(sent[1]);
    });

    it.each([
      ['more than it is', 'refund_item_covers_its_captures', [{ capture_id: 'fcap_1', amount_cents: 601 }]],
      ['nothing of one', 'refund_item_covers_its_captures', [{ capture_id: 'fcap_1', amount_cents: 0 }]],
    ])('never draws %s, whatever a statement says [D14.238]', async (_what, constraint, captures) => {
      const scope = someScope();
      const session = await on().paid(scope, { hsa: 2_000 });
      const instruction = { amountCents: 600n };
      const { refund } = await on().refunds.refundSession({ sessionId: session.id, instruction }, on().as(scope));
      // Else a fault that the next test arms may hit this one's call to the processor.
      await untilStatus(on(), scope, refund?.refundId ?? '', 'succeeded');
      const copied = on().admin(
        `insert into refunds.refund_items (account_id, test_mode, refund_id, payment_intent_id, position, payment_method_id, charge_id,
         processor_intent_id, amount_cents, status, captures)
       select account_id, test_mode, refund_id, 'fpi_other', 1, payment_method_id, charge_id, processor_intent_id, amount_cents, 'pending', $2
         from refunds.refund_items where account_id = $1`,
        [scope.accountId, JSON.stringify(captures)],
      );
      await expect(copied).rejects.toMatchObject({ constraint });
    });
  });
}
