import { type Scope, scoped, withTx } from '@eligo/postgres';
import { untilLockWait } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { describe, expect, it } from 'vitest';
import { eraseDisputes } from '../src/actions/erase-disputes.ts';
import { markErased } from '../src/store/erased-intents.ts';
import type { Fixture } from './fixture.ts';

/** A dispute of a test's own. */
export interface Disputed {
  readonly scope: Scope;
  readonly disputeId: string;
  readonly paymentIntentId: string;
}

/** Hands a file over, or begins to. */
type Handing = (dispute: Disputed, field: string, fileId: string) => Promise<unknown>;

/** Tests of disputes whose customer was erased. */
export function erasedDisputeTests(
  using: () => Fixture,
  disputed: (scope?: Scope) => Promise<Disputed>,
  { give, begin }: { readonly give: Handing; readonly begin: Handing },
): void {
  const erase = ({ scope, paymentIntentId }: Disputed) => eraseDisputes(using().operator(), scope, [paymentIntentId]);
  const read = ({ scope, disputeId: id }: Disputed) => using().refunds.getDispute({ id }, using().as(scope));
  const evidenceOf = async (dispute: Disputed) => (await read(dispute)).evidence;
  const update = ({ scope, disputeId: id }: Disputed, evidence: Record<string, string>) =>
    using().refunds.updateDispute({ id, evidence, metadata: { a: 'b' }, replaceMetadata: true }, using().as(scope));

  const waitsForLock = (what: string) => untilLockWait(using().admin, what, { event: 'advisory' });

  describe('the evidence of a dispute whose customer is erased', () => {
    it('is gone with what waits for its upload, and tells the files that no other customer’s dispute has [D14.326]', async () => {
      const dispute = await disputed();
      const ofOther = await disputed(dispute.scope);
      const [own, shared, waiting] = [newId('file'), newId('file'), newId('file')];
      await give(dispute, 'receipt', own);
      for (const one of [dispute, ofOther]) await give(one, 'refund_policy', shared);
      await begin(dispute, 'customer_signature', waiting);
      await update(dispute, { receipt: own, refund_policy: shared, customer_name: 'Ann' });
      await update(ofOther, { refund_policy: shared, customer_name: 'Bob' });
      const erased = await erase(dispute);
      expect(erased).toEqual({ disputes: 1, fileIds: expect.arrayContaining([own, waiting]) });
      expect(erased.fileIds).toHaveLength(2);
      expect(await read(dispute)).toMatchObject({ evidence: {}, metadata: {}, hasEvidence: true, amountCents: 2_000n });
      expect(await evidenceOf(ofOther)).toEqual({ refund_policy: shared, customer_name: 'Bob' });
      const parts = 'select 1 from refunds.evidence_parts where dispute_id = $1';
      expect(await using().admin(parts, [dispute.disputeId])).toEqual([]);
      // Once the other customer is erased, too, no dispute keeps the shared file.
      expect(await erase(ofOther)).toEqual({ disputes: 1, fileIds: [shared] });
      expect((await erase(dispute)).fileIds).toHaveLength(3);
    });

    it('is not stored again by a look at the processor, nor by a process of the release before [D14.326]', async () => {
      const dispute = await disputed();
      await update(dispute, { customer_name: 'Ann' });
      const updates = () =>
        using().admin("select 1 from refunds.outbox where aggregate_id = $1 and type = 'charge.dispute.updated'", [
          dispute.disputeId,
        ]);
      await erase(dispute);
      const before = await updates();
      await using().lookAtDisputes();
      expect(await evidenceOf(dispute)).toEqual({});
      expect(await updates()).toEqual(before);
      await using().admin(`update refunds.disputes set evidence = '{"customer_name": "Ann"}' where id = $1`, [
        dispute.disputeId,
      ]);
      expect(await evidenceOf(dispute)).toEqual({});
      // Only the operator's command marks an intent, and nothing unmarks it.
      for (const sql of [
        'delete from refunds.erased_intents where account_id = $1 and test_mode = $2 and payment_intent_id = $3',
        'insert into refunds.erased_intents (account_id, test_mode, payment_intent_id) values ($1, $2, $3)',
      ]) {
        const change = withTx(using().service.database, dispute.scope, (tx) =>
          tx.execute(scoped('test.mark', sql), dispute.scope, [dispute.paymentIntentId]),
        );
        await expect(change).rejects.toMatchObject({ code: '42501' });
      }
    });

    it('is erased also where it is being stored as the customer is erased [D14.326]', async () => {
      const dispute = await disputed();
      const store = scoped<never>(
        'test.store_evidence',
        `update refunds.disputes set evidence = '{"customer_name": "Ann"}' where account_id = $1 and test_mode = $2 and id = $3`,
      );
      const stored = Promise.withResolvers<void>();
      const mayCommit = Promise.withResolvers<void>();
      const storing = withTx(using().service.database, dispute.scope, async (tx) => {
        await tx.execute(store, dispute.scope, [dispute.disputeId]);
        stored.resolve();
        await mayCommit.promise;
      });
      await stored.promise;
      const erasing = erase(dispute);
      await waitsForLock('the erasure to wait');
      mayCommit.resolve();
      await storing;
      expect(await erasing).toMatchObject({ disputes: 1 });
      expect(await evidenceOf(dispute)).toEqual({});
    });

    it('is in no event of a look that the erasure overtakes [D14.326]', async () => {
      const dispute = await disputed();
      const marked = Promise.withResolvers<void>();
      const mayCommit = Promise.withResolvers<void>();
      const marking = withTx(using().operator(), dispute.scope, async (tx) => {
        await markErased(tx, dispute.scope, [dispute.paymentIntentId]);
        marked.resolve();
        await mayCommit.promise;
      });
      await marked.promise;
      const updating = update(dispute, { customer_name: 'Zelda' });
      await waitsForLock('the look to wait');
      mayCommit.resolve();
      await marking;
      await updating;
      const naming =
        "select type from refunds.outbox where aggregate_id = $1 and position('Zelda'::bytea in payload) > 0";
      expect(await using().admin(naming, [dispute.disputeId])).toEqual([]);
      expect(await evidenceOf(dispute)).toEqual({});
    });
  });
}
