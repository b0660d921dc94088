import { scoped, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { letterStates } from '../src/domain/letter.ts';
import type { Session } from '../src/domain/session.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';
import { type LettersFixture, letterLine, lettersFixture } from './letters-fixture.ts';

// The service's own statement, which its role may not run.
const deletion = scoped<never>(
  'test.delete_letter',
  'delete from checkout.letters where account_id = $1 and test_mode = $2 and id = $3',
);

let fixture: ChargingFixture;
let letters: LettersFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
  letters = lettersFixture(fixture);
});
afterAll(() => fixture.close());

const attemptsOf = async (session: Session) =>
  fixture.test.admin<{ id: string; purpose: string }>(
    'select id, purpose from checkout.charge_attempts where subject_id = $1 order by created_at',
    [session.id],
  );

describe('the database refuses, whatever a statement says', () => {
  for (const from of letterStates.states) {
    for (const to of letterStates.states.filter((state) => state !== from)) {
      test(`a letter ${letterStates.canMove(from, to) ? 'may move' : 'does not move'} from ${from} to ${to} [STATE-1]`, async () => {
        const letter = await letters.onlyLetter(await letters.held([letterLine(3_000)]));
        const put = (status: string) =>
          fixture.test.admin(
            `update checkout.letters set status = $2, decided_at = case when $2 <> 'in_review' then created_at end,
               valid_until = case when $2 = 'approved' then created_at + interval '1 year' end where id = $1`,
            [letter.id, status],
          );
        await fixture.test.admin('alter table checkout.letters disable trigger guard_letter');
        await put(from);
        await fixture.test.admin('alter table checkout.letters enable trigger guard_letter');
        if (letterStates.canMove(from, to)) await put(to);
        else await expect(put(to)).rejects.toMatchObject({ constraint: 'letter_state_table' });
      });
    }
  }

  test('what a letter is for and until when does not change', async () => {
    const letter = await letters.onlyLetter(await letters.held([letterLine(3_000)]));
    for (const set of ["product_id = 'x'", "customer_id = 'x'", "review_until = review_until + interval '1 day'"]) {
      const change = fixture.test.admin(`update checkout.letters set ${set} where id = $1`, [letter.id]);
      await expect(change).rejects.toMatchObject({ constraint: 'letter_is_final' });
    }
  });

  test('a move of an attempt from one purpose to another that is not of its table', async () => {
    const session = await letters.held([letterLine(3_000)]);
    const [attempt] = await attemptsOf(session);
    const put = (purpose: string) =>
      fixture.test.admin('update checkout.charge_attempts set purpose = $2 where id = $1', [attempt?.id, purpose]);
    for (const from of ['session', 'invoice', 'renewal', 'renewed']) {
      await fixture.test.admin('alter table checkout.charge_attempts disable trigger guard_charge_attempt');
      await put(from);
      await fixture.test.admin('alter table checkout.charge_attempts enable trigger guard_charge_attempt');
      for (const to of ['session', 'invoice', 'renewal', 'renewed'].filter((purpose) => purpose !== from)) {
        const move = `${from} ${to}`;
        if (move === 'session renewed' || move === 'renewal session') continue;
        await expect(put(to), move).rejects.toMatchObject({ constraint: 'charge_attempt_purpose_table' });
      }
    }
    await fixture.test.admin('alter table checkout.charge_attempts disable trigger guard_charge_attempt');
    await put('session');
    await fixture.test.admin('alter table checkout.charge_attempts enable trigger guard_charge_attempt');
  });

  test('a renewal of no hold, or for another amount or card [D14.240]', async () => {
    const session = await letters.held([letterLine(3_000)]);
    const copy = (changed: string) =>
      fixture.test.admin(
        `insert into checkout.charge_attempts (account_id, test_mode, id, purpose, subject_id, leg, driver, payment_intent_id, payment_method_id,
           processor_payment_method_id, off_session, capture_method, amount_cents, status, lease_until, acting_at, processor, processor_account)
         select account_id, test_mode, 'renewal', 'renewal', subject_id, leg, driver, payment_intent_id, payment_method_id,
           processor_payment_method_id, true, capture_method, amount_cents, 'created', now(), now(), processor, processor_account
         from (select (jsonb_populate_record(a, $2::jsonb)).* from checkout.charge_attempts a where subject_id = $1) copied`,
        [session.id, changed],
      );
    for (const changed of [
      { amount_cents: 2_999 },
      { payment_method_id: 'fpm_x' },
      { leg: 'other' },
      { capture_method: 'automatic' },
    ]) {
      const refused = copy(JSON.stringify(changed));
      await expect(refused, JSON.stringify(changed)).rejects.toMatchObject({ constraint: 'renewal_is_of_a_hold' });
    }
    await copy('{}');
    await fixture.test.admin("delete from checkout.charge_attempts where id = 'renewal'");
  });

  test('a second letter of a session for the same product', async () => {
    const { id } = await letters.onlyLetter(await letters.held([letterLine(3_000)]));
    const copy = fixture.test.admin(
      `insert into checkout.letters (account_id, test_mode, id, session_id, product_id, customer_id, status, review_until, created_at)
       select account_id, test_mode, $2, session_id, product_id, customer_id, status, review_until, created_at
       from checkout.letters where id = $1`,
      [id, newId('letter')],
    );
    await expect(copy).rejects.toMatchObject({ constraint: 'letters_one_per_product' });
  });

  test.each(['health', 'other'])('a capture of the %s card before every letter is approved [D14.76]', async (leg) => {
    const session = await letters.held([letterLine(1_000), letterLine(700), line({ unitAmount: 2_000 })]);
    const [first] = await letters.lettersOf(session);
    if (first === undefined) throw new Error('a letter');
    await letters.decide(first, 'approved');
    const capture = fixture.test.admin(
      `insert into checkout.intent_operations (account_id, test_mode, id, payment_intent_id, attempt_id, processor_intent_id, kind,
         amount_cents, status, acting_at)
       select account_id, test_mode, $3, payment_intent_id, id, processor_intent_id, 'capture', amount_cents, 'pending', now()
       from checkout.charge_attempts where subject_id = $1 and leg = $2`,
      [session.id, leg, newId('intent_operation')],
    );
    await expect(capture).rejects.toMatchObject({ constraint: 'capture_has_its_letters' });
  });

  test('the deletion of a letter', async () => {
    const letter = await letters.onlyLetter(await letters.held([letterLine(3_000)]));
    const as = fixture.test.open('checkout', { max: 1 });
    const remove = withTx(as, fixture.scope, (tx) => tx.execute(deletion, fixture.scope, [letter.id]));
    await expect(remove).rejects.toMatchObject({ code: '42501' });
  });
});
