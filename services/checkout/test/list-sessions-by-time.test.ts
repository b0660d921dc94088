import { type Page, type Scope, withTx } from '@eligo/postgres';
import { idBodies, timeOfId } from '@eligo/values';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { idMarginMs, sessionIdsOf } from '../src/domain/created-range.ts';
import type { Session } from '../src/domain/session.ts';
import { insertSession } from '../src/store/new-sessions.ts';
import { type SessionFilter, streamSessions } from '../src/store/session-list.ts';
import { mostOutOfTime, sessionsOutOfTime } from '../src/store/sessions-out-of-time.ts';
import { type Fixture, line, openFixture } from './fixture.ts';

let fixture: Fixture;
let model: Session;
beforeAll(async () => {
  fixture = await openFixture();
  model = await fixture.session({ lines: [line({ unitAmount: 100 })] });
});
afterAll(() => fixture.close());

/** A session as a list by time sees it. */
interface Made {
  readonly id: string;
  readonly createdAt: Date;
}

const noon = Date.parse('2026-03-01T12:00:00Z');
const minute = 60_000;
let random = 0;
const idAt = (ms: number) => `fcs_${idBodies({ now: () => ms, random40: () => (random += 1) })()}`;
const made = (idMs: number, createdMs: number): Made => ({ id: idAt(idMs), createdAt: new Date(createdMs) });

async function insert(scope: Scope, all: readonly Made[]): Promise<void> {
  const none = { fees: [], discounts: [], splitCartId: null, mode: 'setup' as const, details: {}, customerId: null };
  const zero = 0 as Session['amountTotalCents'];
  const amounts = { amountSubtotalCents: zero, amountTotalCents: zero, amountEligibleCents: zero };
  await withTx(fixture.database, scope, async (tx) => {
    for (const { id, createdAt } of all) {
      const session: Session = { ...model, ...none, ...amounts, id, createdAt };
      await insertSession(tx, scope, { session, lines: [], eligibility: undefined, existingLetters: [] });
    }
  });
}

async function read(scope: Scope, page: Page, filter: SessionFilter): Promise<[string[], boolean]> {
  const rows = streamSessions(fixture.database, scope, page, filter);
  const ids: string[] = [];
  for (let next = await rows.next(); ; next = await rows.next()) {
    if (next.done === true) return [ids, next.value];
    ids.push(next.value.id);
  }
}

// The interface in plain words: newest first by id, a page next to its cursor, of the sessions that the filter is true of.
function expected(all: readonly Made[], page: Page, filter: SessionFilter): [string[], boolean] {
  const { createdAfter, createdAtOrAfter, createdBefore, createdAtOrBefore } = filter;
  const { limit, offset = 0, startingAfter, endingBefore } = page;
  const ids = all
    .filter(({ createdAt }) => createdAfter === undefined || createdAt > createdAfter)
    .filter(({ createdAt }) => createdAtOrAfter === undefined || createdAt >= createdAtOrAfter)
    .filter(({ createdAt }) => createdBefore === undefined || createdAt < createdBefore)
    .filter(({ createdAt }) => createdAtOrBefore === undefined || createdAt <= createdAtOrBefore)
    .map(({ id }) => id)
    .filter(
      (id) => (startingAfter === undefined || id < startingAfter) && (endingBefore === undefined || id > endingBefore),
    )
    .sort();
  if (endingBefore === undefined) ids.reverse();
  const found = ids.slice(offset, offset + limit);
  return [endingBefore === undefined ? found : found.reverse(), ids.length > offset + limit];
}

// One each minute, with up to 13 s between the two times; and, of every tenth, an id of another hour.
const times = Array.from({ length: 440 }, (_, n) => noon + n * minute);
const ordinary = () =>
  times.map((ms, n) => made(ms + (n % 10 === 3 ? ((n % 7) - 3) * 60 * minute : ((n % 27) - 13) * 1_000), ms));

const pages = (all: readonly Made[]) => {
  const cursor = fc.constantFrom(...all.map(({ id }) => id));
  const limit = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 150, max: 450 }), fc.constant(2 ** 52));
  const offset = fc.option(fc.integer({ min: 0, max: 250 }), { nil: undefined });
  const sides = fc.oneof(
    fc.constant({}),
    cursor.map((startingAfter) => ({ startingAfter })),
    cursor.map((endingBefore) => ({ endingBefore })),
  );
  return fc.tuple(limit, offset, sides).map(([most, from, side]): Page => ({ limit: most, offset: from, ...side }));
};

const filters = () => {
  const time = fc.option(
    fc.tuple(fc.constantFrom(...times), fc.integer({ min: -1, max: 1 })).map(([ms, off]) => new Date(ms + off)),
    { nil: undefined },
  );
  return fc.record({ createdAfter: time, createdAtOrAfter: time, createdBefore: time, createdAtOrBefore: time });
};

async function holds(scope: Scope, all: readonly Made[], runs: number): Promise<void> {
  await insert(scope, all);
  await fc.assert(
    fc.asyncProperty(pages(all), filters(), async (page, filter) => {
      expect(await read(scope, page, filter)).toEqual(expected(all, page, filter));
    }),
    { numRuns: runs },
  );
}

test('a list by time holds every session of the time, whatever time its id tells, newest first by id [SESS-4, D3.5]', async () => {
  await holds({ accountId: 'facct_times', testMode: true }, ordinary(), 150);
});

test('every page of a small account is next to its cursor, and says whether there are more [SESS-4, D3.5]', async () => {
  const scope = { accountId: 'facct_small', testMode: true };
  const elsewhere = [-3, 2, 90].map((days) => made(noon + days * 24 * 60 * minute, noon));
  const all = [...elsewhere, ...[0, 1, 2].map((n) => made(noon + n, noon + n))];
  await insert(scope, all);
  const filter = { createdAtOrAfter: new Date(noon), createdBefore: new Date(noon + minute) };
  const sides = all.flatMap(({ id }) => [{ startingAfter: id }, { endingBefore: id }]);
  for (const side of [{}, ...sides]) {
    for (const limit of [1, 2, 3, 4, 7]) {
      for (const offset of [0, 1, 3]) {
        const page = { limit, offset, ...side };
        expect([page, ...(await read(scope, page, filter))]).toEqual([page, ...expected(all, page, filter)]);
      }
    }
  }
});

test('a list by time holds them also where more than are merged tell another time [SESS-4, D3.5]', async () => {
  const all = times.map((ms) => made(noon + 90 * 24 * 60 * minute - ms + noon, ms));
  const scope = { accountId: 'facct_clocks', testMode: true };
  await holds(scope, all, 40);
  expect(await sessionsOutOfTime(fixture.database, scope, { fromMs: noon, untilMs: Number.POSITIVE_INFINITY })).toBe(
    undefined,
  );
  const some = await sessionsOutOfTime(fixture.database, scope, {
    fromMs: noon,
    untilMs: noon + mostOutOfTime * minute,
  });
  expect(some).toHaveLength(mostOutOfTime);
});

test('the database takes the ids for those of the time by the margin of the code, to the millisecond [D3.5]', async () => {
  const scope = { accountId: 'facct_margin', testMode: true };
  const offsets = [-idMarginMs - 1, -idMarginMs, 0, idMarginMs, idMarginMs + 1];
  const all = offsets.map((offset) => made(noon + offset, noon));
  const [early, first, , last, late] = all.map(({ id }) => id);
  await insert(scope, all);
  // A text that is no id of a session is found all the same.
  const others = ['fcs_', 'fcs_01u', 'fcs_zzzzzzzzzzzzzzzzzzzzzzzzzz', 'z'].map((id) => ({
    id,
    createdAt: new Date(noon),
  }));
  await insert(scope, others);
  const range = { fromMs: noon, untilMs: noon + 1 };
  const found = await sessionsOutOfTime(fixture.database, scope, range);
  expect(found?.sort()).toEqual([early, late, ...others.map(({ id }) => id)].sort());
  const { first: from, end } = sessionIdsOf(range);
  for (const [id, isWithin] of [
    [early, false],
    [first, true],
    [last, true],
    [late, false],
  ] as const) {
    expect((id ?? '') >= (from ?? '') && (id ?? '') < (end ?? '')).toBe(isWithin);
  }
  expect([from, end].map((id) => timeOfId('checkout_session', id ?? '')?.getTime())).toEqual([
    noon - idMarginMs,
    noon + 1 + idMarginMs,
  ]);
});
