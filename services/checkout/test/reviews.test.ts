import { createLogger } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { addReviewer, listReviewers, revokeReviewer } from '../src/actions/add-reviewer.ts';
import { decideLetter } from '../src/actions/decide-letter.ts';
import { readPage } from '../src/actions/read-page.ts';
import { decideByReviewer, openReview } from '../src/actions/review-letter.ts';
import { answersPlace, submitLetterAnswers } from '../src/actions/submit-letter-answers.ts';
import type { Context } from '../src/context.ts';
import type { Letter } from '../src/domain/letter.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import { letterMessage, letterWithReviewer } from '../src/messages/letter.ts';
import { readReviewQueue } from '../src/store/review-queue.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';
import { type LettersFixture, letterLine, lettersFixture } from './letters-fixture.ts';

let fixture: ChargingFixture;
let letters: LettersFixture;
let credential: string;
let reviewerId: string;
const grace = { name: 'Grace Hopper', license: 'A-1906', state: 'NY' };
beforeAll(async () => {
  fixture = await openChargingFixture();
  letters = lettersFixture(fixture);
  const added = await addReviewer(fixture.database, grace);
  credential = added.credential;
  reviewerId = added.reviewer.id;
});
afterAll(() => fixture.close());

const heldLetter = async () => letters.onlyLetter(await letters.held([letterLine(3_000)]));
const submit = (letter: Letter, answers: string, context: Context = fixture.context) =>
  submitLetterAnswers(context, fixture.scope, letter.sessionId, answers);
const open = (letter: Letter, by = credential) => openReview(fixture.context, letter.id, by, 'freq_test');
const columnsOf = async (letter: Letter) =>
  (
    await fixture.test.admin(
      'select reviewer_id, reviewer_name, reviewer_license, reviewer_state from checkout.letters where id = $1',
      [letter.id],
    )
  )[0];

// The same letter in live mode, with its session.
async function liveCopyOf(letter: Letter): Promise<string> {
  const [session, id] = [newId('checkout_session'), newId('letter')];
  await fixture.test.admin(
    `with copy as (
       insert into checkout.sessions
       select (jsonb_populate_record(s, jsonb_build_object('id', $2::text, 'test_mode', false, 'customer_id', null))).*
       from checkout.sessions s where s.id = $1
     ), lines as (
       insert into checkout.session_lines
       select (jsonb_populate_record(l, jsonb_build_object('session_id', $2::text, 'test_mode', false))).*
       from checkout.session_lines l where l.session_id = $1
     ), record as (
       insert into checkout.eligibility_records
       select (jsonb_populate_record(e, jsonb_build_object('session_id', $2::text, 'test_mode', false))).*
       from checkout.eligibility_records e where e.session_id = $1
     )
     insert into checkout.letters
     select (jsonb_populate_record(l, jsonb_build_object('id', $4::text, 'session_id', $2::text, 'test_mode', false))).*
     from checkout.letters l where l.id = $3`,
    [letter.sessionId, session, letter.id, id],
  );
  return id;
}

describe('a reviewer', () => {
  it('decides by a personal credential; name, license and state are kept with the decision [D14.79]', async () => {
    const letter = await heldLetter();
    const decided = await decideByReviewer(fixture.context, letter.id, credential, 'approved');
    expect(decided).toMatchObject({ scope: fixture.scope, letter: { status: 'approved' } });
    expect(await columnsOf(letter)).toEqual({
      ...{ reviewer_id: reviewerId, reviewer_name: grace.name },
      ...{ reviewer_license: grace.license, reviewer_state: grace.state },
    });
  });

  it('is named to those who read the letter, and by no event [D14.379]', async () => {
    const letter = await heldLetter();
    await decideByReviewer(fixture.context, letter.id, credential, 'approved');
    const { letter: read } = await open(letter);
    expect(letterWithReviewer(fixture.scope, read).reviewer).toMatchObject(grace);
    expect(letterMessage(fixture.scope, read).reviewer).toBeUndefined();
    const events = await fixture.test.admin<{ payload: Buffer }>(
      "select payload from checkout.outbox where account_id = $1 and type = 'consultation.approved'",
      [fixture.scope.accountId],
    );
    expect(events.length).toBeGreaterThan(0);
    for (const { payload } of events) expect(payload.toString('latin1')).not.toContain(grace.name);
  });

  it('reads for whom the letter is: the customer, else the name that the shop gave [D14.379]', async () => {
    const hsa = await fixture.card('hsa');
    const defaults = { firstName: 'Bob', lastName: 'Ray' };
    const named = await fixture.session({ lines: [letterLine(3_000)], customerId: hsa.customerId, defaults });
    await letters.pay(named, [hsa]);
    expect((await open(await letters.onlyLetter(named))).shopperName).toBe('Bob Ray');
    await fixture.test.admin("update checkout.customers set first_name = 'Ann', last_name = 'Lee' where id = $1", [
      hsa.customerId,
    ]);
    expect((await open(await letters.onlyLetter(named))).shopperName).toBe('Ann Lee');
  });

  it('reads the name on the health card that holds, not on the other one or on one of an earlier try [D14.379]', async () => {
    const [earlier, declined, hsa, credit] = [
      await fixture.card('hsa'),
      await fixture.card('declined'),
      await fixture.card('hsa'),
      await fixture.card('credit'),
    ];
    const session = await fixture.session({ lines: [letterLine(3_000), line({ unitAmount: 2_000 })] });
    expect((await letters.pay(session, [earlier, declined])).status).toBe('open');
    await letters.pay(session, [hsa, credit]);
    const letter = await letters.onlyLetter(session);
    const nameAll = async (cards: readonly PaymentMethod[]) => {
      for (const card of cards) {
        await fixture.test.admin(
          `update checkout.payment_methods set billing_details = jsonb_build_object('name', $2::text) where id = $1`,
          [card.id, card === hsa ? 'Ann Lee' : 'Bob Ray'],
        );
      }
    };
    // The rows are stored in each order.
    for (const order of [
      [earlier, credit, hsa],
      [hsa, credit, earlier],
    ]) {
      await nameAll(order);
      expect((await open(letter)).shopperName).toBe('Ann Lee');
    }
    await fixture.test.admin(`update checkout.payment_methods set billing_details = '{}' where id = $1`, [hsa.id]);
    expect((await open(letter)).shopperName).toBe('Bob Ray');
  });

  it('has a credential that is stored as its hash, and is shown once', async () => {
    expect(credential).toMatch(/^freviewer_[\w-]{43}$/);
    const rows = await fixture.test.admin<{ row: string }>('select r::text as row from checkout.reviewers r');
    for (const { row } of rows) expect(row).not.toContain(credential.slice(10));
    expect(JSON.stringify(await listReviewers(fixture.database))).not.toContain(credential.slice(10));
  });

  it('can do nothing with another credential, or once it is revoked [D14.79]', async () => {
    const letter = await heldLetter();
    await submit(letter, '{"condition":"celiac"}');
    const other = await addReviewer(fixture.database, { name: 'Ada', license: 'B-1', state: 'CA' });
    expect(await revokeReviewer(fixture.database, other.reviewer.id)).toBe(true);
    expect(await revokeReviewer(fixture.database, other.reviewer.id)).toBe(false);
    for (const wrong of ['', `${credential}A`, credential.slice(0, -1), other.credential]) {
      await expect(decideByReviewer(fixture.context, letter.id, wrong, 'approved')).rejects.toMatchObject({
        code: 'unauthorized',
      });
      await expect(open(letter, wrong)).rejects.toMatchObject({ code: 'unauthorized' });
    }
    expect(await letters.onlyLetter({ id: letter.sessionId } as never)).toMatchObject({ status: 'in_review' });
  });

  it('has the page ask its questions until the shopper has answered them [D14.113]', async () => {
    const letter = await heldLetter();
    const asks = async () => (await readPage(fixture.context, fixture.scope, letter.sessionId)).asksLetterQuestions;
    expect(await asks()).toBe(true);
    await submit(letter, '{"condition":"celiac"}');
    expect(await asks()).toBe(false);
  });

  it.each([
    { name: '', license: 'A', state: 'NY' },
    { name: 'A', license: ' ', state: 'NY' },
    { name: 'A', license: 'A', state: 'New York' },
    { name: 'A'.repeat(201), license: 'A', state: 'NY' },
  ])('is not admitted as $name, $license, $state', async (fields) => {
    await expect(addReviewer(fixture.database, fields)).rejects.toThrow(RangeError);
  });

  it('finds no letter that does not exist', async () => {
    await expect(decideByReviewer(fixture.context, newId('letter'), credential, 'approved')).rejects.toMatchObject({
      code: 'letter_not_found',
    });
    await expect(open({ id: newId('letter') } as Letter)).rejects.toMatchObject({ code: 'letter_not_found' });
  });
});

describe('a live letter', () => {
  it('is decided by no one but a reviewer: the database refuses [D14.79]', async () => {
    const id = await liveCopyOf(await heldLetter());
    const live = { ...fixture.scope, testMode: false };
    for (const verdict of ['approved', 'denied'] as const) {
      await expect(decideLetter(fixture.context, live, id, verdict)).rejects.toMatchObject({
        constraint: 'live_letter_has_reviewer',
      });
    }
    const decide = (reviewer: string, name: string) =>
      fixture.test.admin(
        `update checkout.letters set status = 'denied', decided_at = now(), reviewer_id = $2, reviewer_name = $3,
           reviewer_license = 'A-1906', reviewer_state = 'NY' where id = $1`,
        [id, reviewer, name],
      );
    await expect(decide(newId('reviewer'), grace.name)).rejects.toMatchObject({
      constraint: 'live_letter_has_reviewer',
    });
    await expect(decide(reviewerId, 'Somebody')).rejects.toMatchObject({ constraint: 'live_letter_has_reviewer' });
    await decide(reviewerId, grace.name);
  });
});

describe('the review queue', () => {
  it('holds the letters in review of all accounts of one mode, those whose review ends first [D14.79]', async () => {
    const [first, second] = [await heldLetter(), await heldLetter()];
    const page = await readReviewQueue(fixture.database, true, 100);
    const ids = page.map(({ letterId }) => letterId);
    expect(ids.indexOf(first.id)).toBeLessThan(ids.indexOf(second.id));
    const after = page.find(({ letterId }) => letterId === first.id);
    const rest = (await readReviewQueue(fixture.database, true, 100, after)).map(({ letterId }) => letterId);
    expect(rest).toContain(second.id);
    expect(rest).not.toContain(first.id);
    expect((await readReviewQueue(fixture.database, false, 100)).map(({ letterId }) => letterId)).not.toContain(
      first.id,
    );
    await letters.decide(first, 'denied');
    expect((await readReviewQueue(fixture.database, true, 100)).map(({ letterId }) => letterId)).not.toContain(
      first.id,
    );
  });
});

describe('the shopper’s answers', () => {
  const canary = 'canary-of-celiac-disease';

  it('are read by a reviewer, and each read is recorded [D14.79]', async () => {
    const letter = await heldLetter();
    expect((await open(letter)).answers).toBeUndefined();
    await submit(letter, '{"condition":"celiac"}');
    const review = await open(letter);
    expect(review.answers?.text).toBe('{"condition":"celiac"}');
    expect(review.lines.map(({ productId }) => productId)).toEqual([letter.productId]);
    const reads = await fixture.test.admin(
      'select reviewer_id, request_id from checkout.letter_reads where letter_id = $1',
      [letter.id],
    );
    expect(reads).toEqual([1, 2].map(() => ({ reviewer_id: reviewerId, request_id: 'freq_test' })));
  });

  it('are given once, and only while a letter is in review', async () => {
    const letter = await heldLetter();
    await submit(letter, '{}');
    await expect(submit(letter, '{"more":1}')).rejects.toMatchObject({ code: 'conflict' });
    await letters.decide(letter, 'denied');
    await expect(submit(letter, '{}')).rejects.toMatchObject({ code: 'letter_not_in_review' });
    await expect(
      submitLetterAnswers(fixture.context, fixture.scope, newId('checkout_session'), '{}'),
    ).rejects.toMatchObject({ code: 'checkout_session_not_found' });
  });

  it('are sealed for their letter alone: moved to another letter they do not open [D14.79]', async () => {
    const [one, other] = [await heldLetter(), await heldLetter()];
    await submit(one, '{}');
    await submit(other, '{}');
    await fixture.test.admin(
      'update checkout.letter_answers set sealed = (select sealed from checkout.letter_answers where letter_id = $1) where letter_id = $2',
      [one.id, other.id],
    );
    await expect(open(other)).rejects.toThrow('belongs to another account, mode or purpose');
    expect(answersPlace(fixture.scope, one.id)).not.toBe(answersPlace({ ...fixture.scope, testMode: false }, one.id));
  });

  it('are in no table, event, log or error text [D14.79]', async () => {
    const lines: string[] = [];
    const logger = createLogger({
      service: 'checkout',
      level: 'trace',
      destination: { write: (text: string) => void lines.push(text) },
    });
    const context = { ...fixture.context, logger };
    const letter = await heldLetter();
    await submit(letter, JSON.stringify({ condition: canary }), context);
    const again = await submit(letter, JSON.stringify({ condition: canary }), context).catch(String);
    expect(again).not.toContain(canary);
    await openReview(context, letter.id, credential, 'freq_test');
    await decideByReviewer(context, letter.id, credential, 'approved');
    expect(lines.join('')).not.toContain(canary);
    const tables = await fixture.test.admin<{ name: string }>(
      "select relname as name from pg_class where relnamespace = 'checkout'::regnamespace and relkind = 'r'",
    );
    expect(tables.map(({ name }) => name)).toContain('outbox');
    for (const { name } of tables) {
      const found = await fixture.test.admin(
        `select 1 from checkout.${name} t where t::text like '%' || $1 || '%' or t::text like '%' || encode($1::bytea, 'hex') || '%'`,
        [canary],
      );
      expect([name, found]).toEqual([name, []]);
    }
  });

  test.each(['letter_answers', 'letter_reads'])(
    'the service’s role can neither change nor delete rows of %s',
    async (table) => {
      const [rights] = await fixture.test.admin<{ update: boolean; delete: boolean; insert: boolean }>(
        `select has_table_privilege(r, t, 'update') as update, has_table_privilege(r, t, 'delete') as delete,
         has_table_privilege(r, t, 'insert') as insert
       from (select pg_get_userbyid(grantee) as r from (
         select (aclexplode(relacl)).grantee from pg_class where oid = $1::regclass) g
         where pg_get_userbyid(grantee) like '%checkout%') roles, (select $1::text as t) named`,
        [`checkout.${table}`],
      );
      expect(rights).toEqual({ update: false, delete: false, insert: true });
    },
  );
});
