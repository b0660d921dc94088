import { scoped, withTx } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { waitUntil } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { describe, expect, it } from 'vitest';
import { renewHold } from '../src/actions/renew-hold.ts';
import type { PaymentIntent } from '../src/domain/payment-intent.ts';
import type { Session } from '../src/domain/session.ts';
import type { ChargeFailpoint } from '../src/failpoints.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { findIntents } from '../src/store/payment-intents.ts';
import { letterLine } from './letters-fixture.ts';
import type { RenewalsFixture } from './renewals-fixture.ts';

/** Each check that keeps a renewal and a decision apart, by itself: behind one that is lost stands another one, which would hide it. */
export function renewalLayerTests(fixture: () => RenewalsFixture): void {
  const attemptsOf = async ({ id }: Session) =>
    fixture().test.admin<{ id: string; purpose: string; status: string }>(
      'select id, purpose, status from checkout.charge_attempts where subject_id = $1 order by created_at',
      [id],
    );
  const purposes = async (session: Session) => (await attemptsOf(session)).map(({ purpose }) => purpose);
  const holdOf = async (session: Session): Promise<PaymentIntent> => {
    const [intent] = await findIntents(
      fixture().database,
      fixture().scope,
      (await fixture().reload(session)).paymentIntentIds,
    );
    if (intent === undefined) throw new Error('nothing is held');
    return intent;
  };
  const decide = async (session: Session, verdict: 'approved' | 'denied') =>
    fixture().letters.decide(await fixture().letters.onlyLetter(session), verdict);
  const followUntil = async (place: ChargeFailpoint) => {
    turnFailpointsOn();
    armFailpoint(place, { action: 'error' });
    await fixture().followOnce();
    turnFailpointsOff();
  };
  /** 30.00 on the health card whose capture the shop requests: after the approval it is still held. */
  const capturedByShop = () => fixture().letters.held([letterLine(3_000)], { captureMethod: 'manual' });

  describe('a renewal does not begin', () => {
    it('once the letter is approved, although the hold waits for the shop [D14.240]', async () => {
      const session = await capturedByShop();
      await decide(session, 'approved');
      await renewHold(fixture().context, fixture().scope, await holdOf(session));
      expect(await purposes(session)).toEqual(['session']);
    });

    it('while one is unsettled, and while the hold before is not voided [D14.240]', async () => {
      const unsettled = await fixture().due(await fixture().heldOnHealthCard());
      await followUntil('renewal.begun');
      await renewHold(fixture().context, fixture().scope, await holdOf(unsettled));
      expect(await purposes(unsettled)).toEqual(['session', 'renewal']);
      const renewed = await fixture().due(await fixture().heldOnHealthCard());
      await fixture().followOnce();
      await renewHold(fixture().context, fixture().scope, await holdOf(renewed));
      expect(await purposes(renewed)).toEqual(['renewed', 'session']);
      await fixture().sweepAll();
    });
  });

  describe('a renewal that began before the letter was decided', () => {
    it.each(['charge.intent_created', 'charge.fence_passed'] as const)(
      'and died at %s is canceled, and its card is not asked [D14.30, D14.240]',
      async (place) => {
        const session = await fixture().due(await fixture().heldOnHealthCard());
        await followUntil(place);
        await decide(session, 'denied');
        const asked: string[] = [];
        const context = fixture().contextWith((port) => ({
          confirmIntent(id, ...call) {
            asked.push(id);
            return port.confirmIntent(id, ...call);
          },
        }));
        for (let round = 0; round < 3; round++) {
          await fixture().lapseLeases();
          await sweepCharges(context);
        }
        expect(asked).toEqual([]);
        expect((await attemptsOf(session))[1]).toMatchObject({ purpose: 'renewal', status: 'abandoned' });
        await fixture().isVoided(session);
      },
    );

    it('whose bank answers after it is voided: the session keeps the hold that the shop captures [D14.240]', async () => {
      const session = await fixture().due(await capturedByShop());
      const before = await holdOf(session);
      const context = fixture().contextWith((port) => ({
        async confirmIntent(...call) {
          const answer = await port.confirmIntent(...call);
          await decide(session, 'approved');
          return answer;
        },
      }));
      await fixture().followOnce(context);
      expect(await purposes(session)).toEqual(['session', 'renewal']);
      await fixture().sweepAll();
      expect((await fixture().kinds(session)).health).toEqual(['requires_capture', 'canceled']);
      expect((await holdOf(session)).id).toBe(before.id);
      await fixture().capture(session);
      expect(await fixture().reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 3_000 });
    });
  });

  describe('the database refuses, whatever a statement says', () => {
    const capture = (attemptId: string) =>
      fixture().test.admin(
        `insert into checkout.intent_operations (account_id, test_mode, id, payment_intent_id, attempt_id, processor_intent_id, kind,
           amount_cents, status, acting_at, lease_until, received_before_cents)
         select account_id, test_mode, $2, payment_intent_id, id, processor_intent_id, 'capture', amount_cents, 'failed', now(), now(), 0
         from checkout.charge_attempts where id = $1`,
        [attemptId, newId('intent_operation')],
      );
    it('the capture of a second hold of a leg, whichever of the two is the session’s [D14.240]', async () => {
      const session = await fixture().due(await fixture().heldOnHealthCard());
      await fixture().follow();
      const [before, now] = await attemptsOf(session);
      expect([before?.purpose, now?.purpose]).toEqual(['renewed', 'session']);
      await expect(capture(before?.id ?? '')).rejects.toMatchObject({ constraint: 'one_hold_of_a_leg_is_captured' });

      const decided = await fixture().due(await fixture().heldOnHealthCard());
      await followUntil('charge.before_settle');
      await fixture().isCapturedOnce(decided, [3_000]);
      const [, unused] = await attemptsOf(decided);
      expect(unused?.purpose).toBe('renewal');
      await expect(capture(unused?.id ?? '')).rejects.toMatchObject({ constraint: 'one_hold_of_a_leg_is_captured' });
    });

    it('a hold to take the place of one that is captured, or is about to be [D14.240]', async () => {
      const captured = await fixture().heldOnHealthCard();
      await fixture().isCapturedOnce(captured, [3_000]);
      const retire = fixture().test.admin(
        "update checkout.charge_attempts set purpose = 'renewed' where subject_id = $1",
        [captured.id],
      );
      await expect(retire).rejects.toMatchObject({ constraint: 'one_hold_of_a_leg_is_captured' });

      const capturing = await fixture().heldOnHealthCard();
      const { id: intentId } = await holdOf(capturing);
      turnFailpointsOn();
      armFailpoint('letter.decided', { action: 'error' });
      await decide(capturing, 'approved').catch(() => undefined);
      turnFailpointsOff();
      const endCapture = `update checkout.captures set status = 'failed' where session_id = '${capturing.id}'`;
      const endOperation = `update checkout.intent_operations set status = 'failed' where payment_intent_id = '${intentId}'`;
      // In a transaction that ends with an error, so that nothing of it stays.
      const retireAfter = (...ended: readonly string[]) =>
        fixture().test.admin(`do $do$ begin
          set local session_replication_role = replica;
          ${ended.join('; ')};
          set local session_replication_role = origin;
          update checkout.charge_attempts set purpose = 'renewed' where subject_id = '${capturing.id}';
          raise exception 'it was replaced';
        end $do$`);
      const refused = { constraint: 'one_hold_of_a_leg_is_captured' };
      await expect(retireAfter(endCapture)).rejects.toMatchObject(refused);
      await expect(retireAfter(endOperation)).rejects.toMatchObject(refused);
      await expect(retireAfter(endCapture, endOperation)).rejects.toThrow('it was replaced');
      await fixture().sweepAll();
    });

    it('a hold to be replaced while its capture is written: the renewal waits [D14.240]', async () => {
      const session = await capturedByShop();
      await decide(session, 'approved');
      const [attempt] = await attemptsOf(session);
      const { database, scope, test } = fixture();
      const undone = new Error('undone');
      const written = Promise.withResolvers<void>();
      const waits = Promise.withResolvers<void>();
      const capturing = withTx(database, scope, async (tx) => {
        await tx.execute(writeCapture, scope, [attempt?.id, newId('intent_operation')]);
        written.resolve();
        await waits.promise;
        throw undone;
      });
      await Promise.race([written.promise, capturing]);
      const replacing = withTx(database, scope, async (tx) => {
        expect(await tx.execute(replace, scope, [attempt?.id])).toBe(1);
        throw undone;
      });
      const both = Promise.allSettled([capturing, replacing]);
      await waitUntil(
        async () =>
          (
            await test.admin(
              'select pid from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0',
            )
          ).length === 1,
        { what: 'the renewal that waits' },
      );
      waits.resolve();
      expect(await both).toMatchObject([{ reason: undone }, { reason: undone }]);
    });
  });
}

const ofAttempt = 'where account_id = $1 and test_mode = $2 and id = $3';
const writeCapture = scoped(
  'test.write_capture',
  `insert into checkout.intent_operations (account_id, test_mode, id, payment_intent_id, attempt_id, processor_intent_id, kind, amount_cents,
     status, acting_at, lease_until, received_before_cents)
   select account_id, test_mode, $4, payment_intent_id, id, processor_intent_id, 'capture', amount_cents, 'pending', now(), now(), 0
   from checkout.charge_attempts ${ofAttempt}`,
);
const replace = scoped('test.replace', `update checkout.charge_attempts set purpose = 'renewed' ${ofAttempt}`);
