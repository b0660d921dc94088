import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createSession } from '../src/actions/create-session.ts';
import { readPage } from '../src/actions/read-page.ts';
import { readSubstantiation } from '../src/actions/read-substantiation.ts';
import { visitPage } from '../src/actions/visit-page.ts';
import type { Letter } from '../src/domain/letter.ts';
import type { Session } from '../src/domain/session.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { loadSessionLines } from '../src/store/session-lines.ts';
import { readSessionTimeline } from '../src/store/session-timeline.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { callIn, line, sessionMessage, start } from './fixture.ts';
import { type LettersFixture, letterLine, lettersFixture } from './letters-fixture.ts';

let fixture: ChargingFixture;
let letters: LettersFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
  letters = lettersFixture(fixture);
});
afterAll(() => fixture.close());
afterEach(async () => {
  turnFailpointsOff();
  fixture.clock.set(start);
  await fixture.clearFaults();
});

// As the page's script does.
const arrive = (session: Session) => visitPage(fixture.context, fixture.scope, session.id, {});
const vision = () => line({ unitAmount: 1_000, class: 'vision' });
const mixed = () => [letterLine(3_000), vision(), line({ unitAmount: 2_000 })];
const twoCards = () => Promise.all([fixture.card('hsa'), fixture.card('credit')]);
const linesOf = (session: Session) => loadSessionLines(fixture.database, fixture.scope, session.id);
const versionsOf = ({ id }: Session) =>
  fixture.test.admin<{ version: number; id: string; cause: string; eligible: string }>(
    `select version, id, cause, eligible_cents::text as eligible from checkout.session_split_versions where session_id = $1 order by version`,
    [id],
  );
/** What was captured on each card in the end, as the sandbox witnessed it. */
const taken = async (session: Session) =>
  (await fixture.charges(session))
    .map((charge) => charge.amount_captured)
    .filter((amount) => amount > 0)
    .sort();

async function denied(session: Session): Promise<Session> {
  await letters.decide(await letters.onlyLetter(session), 'denied');
  return reload(session);
}

async function reload(session: Session): Promise<Session> {
  const found = await letters.reload(session);
  if (found === undefined) throw new Error('a session');
  return found;
}

describe('a denied letter whose shopper is on the page', () => {
  it('appends a version of the split, voids the holds and opens the session for other cards [D14.76, D14.172]', async () => {
    const session = await letters.held(mixed());
    const before = await linesOf(session);
    await arrive(session);
    const open = await denied(session);
    expect(open).toMatchObject({
      ...{ status: 'open', amountTotalCents: 6_000, amountEligibleCents: 1_000, amountVisionCents: 1_000 },
      ...{ letterRequired: false, amountReceivedCents: 0, nextAction: { type: 'provide_alternative_payment_method' } },
    });
    expect(await versionsOf(session)).toEqual([
      { version: 1, id: session.splitCartId, cause: 'created', eligible: '4000' },
      { version: 2, id: open.splitCartId, cause: 'letter_denied', eligible: '1000' },
    ]);
    const after = await linesOf(session);
    const { id: letterId } = await letters.onlyLetter(session);
    const [deniedLine] = before;
    expect(after).toEqual([
      {
        ...deniedLine,
        ...{ amountEligibleCents: 0, eligibilityClass: 'not_eligible', eligibilityRule: 'letter_denied' },
        eligibilityRuleVersion: letterId,
        rationale: expect.stringContaining('denied'),
      },
      ...before.slice(1),
    ]);
    expect((await letters.captured(session)).map(([, captured]) => captured)).toEqual([0, 0]);
    expect(await fixture.told(session)).not.toHaveProperty('checkout.session.expired');
    expect(await readPage(fixture.context, fixture.scope, session.id)).toMatchObject({
      ...{ paymentInFlight: false, dueNowCents: 6_000, healthCardCents: 1_000, asksLetterQuestions: false },
    });
  });

  it('opens the session no longer than a letter that it relies on, and cancels it where that one is about to end [D14.172, D14.322]', async () => {
    const product = newId('product');
    // By the processor's time, a hold lapses a week from now.
    const end = new Date(start.getTime() + 100 * 60_000);
    fixture.clock.set(new Date('2025-03-01T13:40:00.000Z'));
    const first = await letters.held([letterLine(3_000, product)]);
    const { validUntil } = await letters.decide(await letters.onlyLetter(first), 'approved');
    expect(validUntil).toEqual(end);
    const before = (minutes: number) => new Date(end.getTime() - minutes * 60_000);
    fixture.clock.set(before(100));
    const { customerId } = first;
    const lines = [letterLine(3_000, product), letterLine(1_000), line({ unitAmount: 2_000 })];
    const sessions = [await letters.held(lines, { customerId }), await letters.held(lines, { customerId })];
    const statuses = [];
    for (const [index, session] of sessions.entries()) {
      fixture.clock.set(before(index === 0 ? 61 : 59));
      await arrive(session);
      const { status, expiresAt } = await denied(session);
      statuses.push(status);
      expect(expiresAt).toEqual(end);
    }
    expect(statuses).toEqual(['open', 'canceled']);
  });

  it('cancels the session where only its document was read, as by a chat that previews the link [D14.172]', async () => {
    const session = await letters.held(mixed());
    await visitPage(fixture.context, fixture.scope, session.id, { forDocument: true });
    expect(await denied(session)).toMatchObject({ status: 'canceled' });
    expect(await versionsOf(session)).toEqual([]);
  });

  it('is then paid by two cards, each for its part of that version, without another letter [D14.172]', async () => {
    const session = await letters.held(mixed());
    await arrive(session);
    const open = await denied(session);
    expect(await letters.pay(open, await twoCards())).toMatchObject({ status: 'complete', amountReceivedCents: 6_000 });
    expect(await taken(session)).toEqual([1_000, 5_000]);
    expect(await letters.lettersOf(session)).toHaveLength(1);
    const proof = await readSubstantiation(fixture.database, fixture.scope, session.id);
    expect(proof.record?.id).toBe(open.splitCartId);
    expect(proof.lines.map(({ line: one }) => one.eligibilityRule)[0]).toBe('letter_denied');
    const told = await readSessionTimeline(fixture.database, fixture.scope, session.id);
    expect(told?.entries.filter(({ type }) => type === 'session.reopened')).toMatchObject([
      { recordId: open.splitCartId, amountCents: 1_000, code: 'letter_denied' },
    ]);
    expect(await fixture.told(session)).toMatchObject({ 'checkout.session.completed': 1 });
  });

  it('is paid by an ordinary card alone where nothing is eligible any more, and takes no health card [D14.172]', async () => {
    const session = await letters.held([letterLine(3_000)]);
    await arrive(session);
    const open = await denied(session);
    const [hsa, credit] = await twoCards();
    expect(await letters.pay(open, [hsa])).toMatchObject({ status: 'open', amountReceivedCents: 0 });
    expect(await letters.pay(open, [credit])).toMatchObject({ status: 'complete', amountReceivedCents: 3_000 });
    expect(await taken(session)).toEqual([3_000]);
  });

  it('makes a free line of the denied product not eligible, too [D14.172]', async () => {
    const product = newId('product');
    const session = await letters.held([letterLine(3_000, product), letterLine(0, product), vision()]);
    await arrive(session);
    expect(await denied(session)).toMatchObject({ status: 'open', amountEligibleCents: 1_000 });
    const classes = (await linesOf(session)).map(({ eligibilityClass, eligibilityRule }) => [
      ...[eligibilityClass, eligibilityRule],
    ]);
    expect(classes).toEqual([
      ['not_eligible', 'letter_denied'],
      ['not_eligible', 'letter_denied'],
      ['vision', 'product'],
    ]);
  });

  it('ends by itself an hour later at the earliest, as expired, if no card comes [D14.172]', async () => {
    const session = await letters.held(mixed());
    const later = new Date(start.getTime() + 3 * 86_400_000);
    fixture.clock.set(later);
    await arrive(session);
    expect((await denied(session)).expiresAt).toEqual(new Date(later.getTime() + 3_600_000));
  });

  it('waits for the other letters, and keeps eligible what they approve [D14.172]', async () => {
    const session = await letters.held([letterLine(3_000), letterLine(700), line({ unitAmount: 2_000 })]);
    const [first, second] = (await letters.lettersOf(session)) as [Letter, Letter];
    const lines = await linesOf(session);
    await arrive(session);
    await letters.decide(first, 'denied');
    expect(await reload(session)).toMatchObject({ status: 'paid', amountEligibleCents: 3_700 });
    expect(await versionsOf(session)).toEqual([]);
    await letters.decide(second, 'approved');
    const kept = lines.find(({ productId }) => productId === second.productId)?.amountTotalCents ?? 0;
    const open = await reload(session);
    expect(open).toMatchObject({ status: 'open', amountEligibleCents: kept });
    expect(await letters.pay(open, await twoCards())).toMatchObject({ status: 'complete' });
    expect(await taken(session)).toEqual([kept, 5_700 - kept].sort());
  });

  it.each([
    'letter.before_decision_commit',
    'letter.decided',
    'hold.processor_answered',
    'hold.before_record_commit',
  ] as const)('with a crash at %s is open once and paid once, or still in review [D14.172]', async (failpoint) => {
    const session = await letters.held(mixed());
    await arrive(session);
    turnFailpointsOn();
    armFailpoint(failpoint, { action: 'error' });
    await letters.decide(await letters.onlyLetter(session), 'denied').catch(() => undefined);
    turnFailpointsOff();
    if (failpoint === 'letter.before_decision_commit') {
      expect(await reload(session)).toMatchObject({ status: 'paid' });
      expect(await versionsOf(session)).toEqual([]);
      await letters.decide(await letters.onlyLetter(session), 'denied');
    } else if (failpoint !== 'letter.decided') {
      // Until its hold is gone, no card is charged.
      await expect(letters.pay(session, await twoCards())).rejects.toMatchObject({ code: 'lock_timeout' });
    }
    await letters.sweepAll();
    expect(await versionsOf(session)).toHaveLength(2);
    await letters.pay(session, await twoCards());
    await letters.sweepAll();
    expect(await reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 6_000 });
    expect(await taken(session)).toEqual([1_000, 5_000]);
  });
});

describe('a denied letter whose shopper is gone', () => {
  const isCanceled = async (session: Session) => {
    expect(await reload(session)).toMatchObject({ status: 'canceled', amountReceivedCents: 0 });
    expect(await versionsOf(session)).toEqual([]);
  };

  it('cancels the session, also a minute after the page was last seen [D14.76, D14.172]', async () => {
    const session = await letters.held(mixed());
    await arrive(session);
    fixture.clock.set(new Date(start.getTime() + 60_001));
    await denied(session);
    await isCanceled(session);
  });

  it('cancels a session that a confirm has held: the shop collects the remainder by itself [D14.172]', async () => {
    const session = await letters.confirmed();
    await arrive(session);
    await denied(session);
    await isCanceled(session);
  });

  it('cancels with the last decision where the shopper leaves between two [D14.172]', async () => {
    const session = await letters.held([letterLine(3_000), letterLine(700)]);
    const [first, second] = (await letters.lettersOf(session)) as [Letter, Letter];
    await arrive(session);
    await letters.decide(first, 'denied');
    fixture.clock.set(new Date(start.getTime() + 120_000));
    await letters.decide(second, 'approved');
    await isCanceled(session);
  });
});

describe('the letter fee of a session that goes on', () => {
  const withFee = (lines: ReturnType<typeof line>[]) =>
    createSession(
      fixture.context,
      callIn(fixture.scope, { letterFeeCents: 1_500 }),
      sessionRequestOf(sessionMessage({ lines })),
    );
  const refunds = async ({ id }: Session) =>
    fixture.test.admin("select from checkout.outbox where aggregate_id = $1 and type = 'command.refund'", [id]);

  it('stays a part of the total, and is refunded once to the card that paid it [D14.172, D14.179]', async () => {
    const session = await withFee(mixed());
    await letters.pay(session, await twoCards());
    await arrive(session);
    const open = await denied(session);
    expect(open).toMatchObject({ amountTotalCents: 7_500, letterFeeStatus: 'pending' });
    expect(await letters.pay(open, await twoCards())).toMatchObject({ letterFeeStatus: 'refunded' });
    expect(await taken(session)).toEqual([1_000, 6_500]);
    expect(await refunds(session)).toHaveLength(1);
  });

  it('is paid where one of two letters was approved [D14.172, D14.179]', async () => {
    const session = await withFee([letterLine(3_000), letterLine(700), line({ unitAmount: 2_000 })]);
    await letters.pay(session, await twoCards());
    const [first, second] = (await letters.lettersOf(session)) as [Letter, Letter];
    await arrive(session);
    await letters.decide(first, 'denied');
    await letters.decide(second, 'approved');
    expect(await letters.pay(session, await twoCards())).toMatchObject({ status: 'complete', letterFeeStatus: 'paid' });
    expect(await refunds(session)).toHaveLength(0);
  });
});

describe('the database refuses, whatever a statement says', () => {
  it.each([
    [
      'a paid session to be open again',
      'update checkout.sessions set status = $2 where id = $1',
      ['open'],
      'session_state_table',
    ],
    [
      'another eligible amount',
      'update checkout.sessions set amount_eligible_cents = $2 where id = $1',
      [0],
      'session_split_is_final',
    ],
    [
      'a session that needs no letter any more',
      'update checkout.sessions set letter_required = $2 where id = $1',
      [false],
      'session_split_is_final',
    ],
    [
      'another split',
      'update checkout.sessions set split_cart_id = $2 where id = $1',
      ['fsplit_x'],
      'session_split_is_final',
    ],
    [
      'a line that is not eligible any more',
      `update checkout.session_lines set amount_eligible_cents = $2, eligibility_class = 'not_eligible' where session_id = $1`,
      [0],
      'session_split_is_final',
    ],
  ])('%s without a new version [D14.172]', async (_, statement, values, constraint) => {
    const { id } = await letters.held(mixed());
    await expect(fixture.test.admin(statement, [id, ...values])).rejects.toMatchObject({ constraint });
  });

  it('a change of a version, and one that the session and its lines do not follow [D14.172]', async () => {
    const session = await letters.held(mixed());
    await arrive(session);
    await denied(session);
    for (const table of ['session_split_versions', 'session_split_lines']) {
      for (const change of [`update checkout.${table} set version = version`, `delete from checkout.${table}`]) {
        const refused = fixture.test.admin(`${change} where session_id = $1`, [session.id]);
        await expect(refused).rejects.toMatchObject({ constraint: 'session_split_is_final' });
      }
    }
    const append = (eligible: number, from: number) =>
      fixture.test.admin(
        `with version as (insert into checkout.session_split_versions
           select account_id, test_mode, session_id, 3, $2, 'letter_denied', $3, created_at
           from checkout.session_split_versions where session_id = $1 and version = 2)
         insert into checkout.session_split_lines
         select account_id, test_mode, session_id, 3, line_id, amount_eligible_cents, eligibility_class, eligibility_rule,
           eligibility_rule_version, rationale from checkout.session_split_lines where session_id = $1 and version = $4`,
        [session.id, newId('split_cart'), eligible, from],
      );
    await expect(append(500, 2)).rejects.toMatchObject({ constraint: 'split_lines_sum_to_version' });
    await expect(append(4_000, 1)).rejects.toMatchObject({ constraint: 'split_version_makes_nothing_eligible' });
    await expect(append(1_000, 2)).rejects.toMatchObject({ constraint: 'session_equals_its_latest_split' });
  });

  it('a version that keeps a line without its letter [D14.172]', async () => {
    const session = await letters.held(mixed());
    const copy = (version: number, cause: string, id: string) =>
      `insert into checkout.session_split_versions select account_id, test_mode, id, ${version}, '${id}', '${cause}', amount_eligible_cents, created_at
         from checkout.sessions where id = '${session.id}';
       insert into checkout.session_split_lines select account_id, test_mode, session_id, ${version}, id, amount_eligible_cents, eligibility_class,
         eligibility_rule, eligibility_rule_version, rationale from checkout.session_lines where session_id = '${session.id}';`;
    const refused = fixture.test.admin(
      `do $$ begin ${copy(1, 'created', session.splitCartId ?? '')} ${copy(2, 'letter_denied', 'fsplit_y')}
         update checkout.sessions set status = 'open', split_cart_id = 'fsplit_y', letter_required = false where id = '${session.id}'; end $$`,
    );
    await expect(refused).rejects.toMatchObject({ constraint: 'session_has_its_letters' });
  });
});
