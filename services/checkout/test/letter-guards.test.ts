import { scoped, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { letterStates } from '../src/domain/letter.ts';
import { type ChargingWorld, openChargingWorld } from './charging-world.ts';
import { type LettersWorld, letterLine, lettersWorld } from './letters-world.ts';
import { line } from './world.ts';

// The service's own statement, which its role may not run.
const deletion = scoped<never>(
  'test.delete_letter',
  'delete from checkout.letters where account_id = $1 and test_mode = $2 and id = $3',
);

let world: ChargingWorld;
let letters: LettersWorld;
beforeAll(async () => {
  world = await openChargingWorld();
  letters = lettersWorld(world);
});
afterAll(() => world.close());

describe('the database refuses, whatever a statement says', () => {
  for (const from of letterStates.states) {
    for (const to of letterStates.states.filter((state) => state !== from)) {
      test(`a letter ${letterStates.canMove(from, to) ? 'may move' : 'does not move'} from ${from} to ${to} [STATE-1]`, async () => {
        const letter = await letters.onlyLetter(await letters.held([letterLine(3_000)]));
        const put = (status: string) =>
          world.test.admin(
            `update checkout.letters set status = $2, decided_at = case when $2 <> 'in_review' then created_at end,
               valid_until = case when $2 = 'approved' then created_at + interval '1 year' end where id = $1`,
            [letter.id, status],
          );
        await world.test.admin('alter table checkout.letters disable trigger guard_letter');
        await put(from);
        await world.test.admin('alter table checkout.letters enable trigger guard_letter');
        if (letterStates.canMove(from, to)) await put(to);
        else await expect(put(to)).rejects.toMatchObject({ constraint: 'letter_state_table' });
      });
    }
  }

  test('what a letter is for and until when does not change', async () => {
    const letter = await letters.onlyLetter(await letters.held([letterLine(3_000)]));
    for (const set of ["product_id = 'x'", "customer_id = 'x'", "review_until = review_until + interval '1 day'"]) {
      const change = world.test.admin(`update checkout.letters set ${set} where id = $1`, [letter.id]);
      await expect(change).rejects.toMatchObject({ constraint: 'letter_is_final' });
    }
  });

  test('a second letter of a session for the same product', async () => {
    const { id } = await letters.onlyLetter(await letters.held([letterLine(3_000)]));
    const copy = world.test.admin(
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
    const capture = world.test.admin(
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
    const as = world.test.open('checkout', { max: 1 });
    const remove = withTx(as, world.scope, (tx) => tx.execute(deletion, world.scope, [letter.id]));
    await expect(remove).rejects.toMatchObject({ code: '42501' });
  });
});
