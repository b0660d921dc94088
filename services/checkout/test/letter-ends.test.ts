import { withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { deleteCustomer } from '../src/actions/delete-customer.ts';
import { announcementOf, type Letter } from '../src/domain/letter.ts';
import { expireLetters } from '../src/jobs/expire-letters.ts';
import { mirrorTestClock, settledClocks } from '../src/store/test-clocks.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { start } from './fixture.ts';
import { letterLine, lettersFixture } from './letters-fixture.ts';

let fixture: ChargingFixture;
let letters: ReturnType<typeof lettersFixture>;
beforeAll(async () => {
  fixture = await openChargingFixture();
  letters = lettersFixture(fixture);
});
afterAll(() => fixture.close());
beforeEach(() => fixture.clock.set(start));

const job = () => expireLetters(fixture.context).run(new AbortController().signal);
const product = newId('product');

async function approved(customerId?: string): Promise<Letter> {
  const card = await fixture.card('hsa', customerId === undefined ? {} : { customerId });
  const session = await fixture.session({ lines: [letterLine(3_000, product)], customerId: card.customerId });
  await letters.pay(session, [card]);
  await letters.decide(await letters.onlyLetter(session), 'approved');
  return letters.onlyLetter(session);
}
const dueAt = (letter: Letter) => announcementOf(letter.validUntil ?? start);

describe('the end of an approved letter', () => {
  it('is announced once, 30 days before, and the job sleeps until then [D14.144]', async () => {
    const letter = await approved();
    expect(dueAt(letter)).toEqual(new Date('2027-01-30T12:00:00Z'));
    fixture.clock.set(new Date(dueAt(letter).getTime() - 1));
    expect(await job()).toEqual({ dueInMs: 1 });
    expect(await letters.told(letter)).toEqual(['consultation.approved']);
    fixture.clock.set(dueAt(letter));
    await job();
    await job();
    expect((await letters.told(letter)).sort()).toEqual(['consultation.approved', 'consultation.will_expire']);
  });

  it('is not announced while another letter serves the product for longer, nor for a deleted customer [D14.144]', async () => {
    const [renewed, gone] = [await approved(), await approved()];
    fixture.clock.set(new Date('2027-01-15T12:00:00Z'));
    // As a second letter of the customer, approved before the first one ends.
    await fixture.test.admin(
      `insert into checkout.letters (account_id, test_mode, id, session_id, product_id, customer_id, status, review_until, valid_until, created_at,
         decided_at)
       select account_id, test_mode, $2, $3, product_id, customer_id, 'approved', review_until, valid_until + interval '11 months', created_at, decided_at
         from checkout.letters where id = $1`,
      [renewed.id, newId('letter'), (await fixture.session({ lines: [letterLine(3_000, product)] })).id],
    );
    await deleteCustomer(fixture.context, fixture.scope, gone.customerId ?? '');
    fixture.clock.set(new Date('2027-02-15T12:00:00Z'));
    await job();
    for (const letter of [renewed, gone]) expect(await letters.told(letter)).toEqual(['consultation.approved']);
    // Nothing is left to look at each time.
    const [row] = await fixture.test.admin<{ left: number }>(
      `select count(*)::int as left from checkout.letters where end_announced_at is null and id = any($1)`,
      [[renewed.id, gone.id]],
    );
    expect(row).toEqual({ left: 0 });
  });

  it('is announced on a test clock that jumps over it, before the clock is ready [D14.144]', async () => {
    const { customerId } = await fixture.card('hsa');
    const clockId = newId('test_clock');
    await withTx(fixture.database, fixture.scope, (tx) => mirrorTestClock(tx, fixture.scope, clockId, start, null));
    await fixture.test.admin('update checkout.customers set test_clock_id = $2 where id = $1', [customerId, clockId]);
    const letter = await approved(customerId);
    const settled = async () => (await settledClocks(fixture.database, 100)).map(({ id }) => id);
    expect(await settled()).toContain(clockId);
    const later = new Date('2028-01-01T00:00:00Z');
    await withTx(fixture.database, fixture.scope, (tx) => mirrorTestClock(tx, fixture.scope, clockId, later, null));
    expect(await settled()).not.toContain(clockId);
    await job();
    expect(await settled()).toContain(clockId);
    const [event] = await fixture.test.admin<{ type: string }>(
      "select type from checkout.outbox where aggregate_id = $1 and type = 'consultation.will_expire'",
      [letter.id],
    );
    expect(event).toBeDefined();
  });
});
