import { withTx } from '@eligo/postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Session } from '../src/domain/session.ts';
import { insertSession } from '../src/store/new-sessions.ts';
import { type SessionFilter, streamSessions } from '../src/store/session-list.ts';
import { callIn, type Fixture, line, openFixture, start } from './fixture.ts';

let fixture: Fixture;
let sessions: Session[];
beforeAll(async () => {
  fixture = await openFixture();
  sessions = [];
  for (let i = 0; i < 5; i++) {
    fixture.clock.set(new Date(start.getTime() + i * 1_000));
    sessions.unshift(
      await fixture.session({
        clientReferenceId: i % 2 === 0 ? 'even' : 'odd',
        customerEmail: `shopper${i}@example.com`,
        sellingPlans: i === 3 ? [{ id: 'plan_3' }] : [],
        lines: [line({ unitAmount: 100, recurring: true })],
        mode: i === 4 ? 'subscription' : 'payment',
        fees: i === 2 ? [{ amountCents: 1n }] : [],
      }),
    );
  }
});
afterAll(() => fixture.close());

describe('a page', () => {
  test('is newest first, and says whether there are more [SESS-4]', async () => {
    expect(await read({ limit: 3 })).toEqual([idsAt(0, 1, 2), true]);
    expect(await read({ limit: 5 })).toEqual([idsAt(0, 1, 2, 3, 4), false]);
    expect(await read({ limit: 10 })).toEqual([idsAt(0, 1, 2, 3, 4), false]);
  });

  test('after and before a session, with and without an offset', async () => {
    expect(await read({ limit: 2, startingAfter: sessions[1]?.id })).toEqual([idsAt(2, 3), true]);
    expect(await read({ limit: 2, endingBefore: sessions[3]?.id })).toEqual([idsAt(1, 2), true]);
    expect(await read({ limit: 2, offset: 3 })).toEqual([idsAt(3, 4), false]);
  });

  test('of any length holds all there are [SESS-4]', async () => {
    expect(await read({ limit: 2 ** 52 })).toEqual([idsAt(0, 1, 2, 3, 4), false]);
    expect(await read({ limit: 2 ** 52, startingAfter: sessions[1]?.id })).toEqual([idsAt(2, 3, 4), false]);
    expect(await read({ limit: 2 ** 52, endingBefore: sessions[3]?.id })).toEqual([idsAt(0, 1, 2), false]);
  });

  test('a cursor of another account is a 422', async () => {
    const other = streamSessions(
      fixture.database,
      callIn({ accountId: 'facct_x', testMode: true }).scope,
      { limit: 1, startingAfter: sessions[0]?.id },
      {},
    );
    await expect(other.next()).rejects.toMatchObject({ violations: [{ loc: ['query', 'starting_after'] }] });
  });
});

describe('a filter [SESS-4, D1.6, D3.5]', () => {
  const cases: [string, SessionFilter, number[]][] = [
    ['client_reference_id', { clientReferenceId: 'odd' }, [1, 3]],
    ['customer_email', { customerEmail: 'shopper2@example.com' }, [2]],
    ['mode', { mode: 'subscription' }, [0]],
    ['status', { status: 'open' }, [0, 1, 2, 3, 4]],
    ['status of none', { status: 'paid' }, []],
    ['selling_plan', { sellingPlan: 'plan_3' }, [1]],
    ['disputed', { disputed: true }, []],
    ['not disputed', { disputed: false }, [0, 1, 2, 3, 4]],
    ['payment_intent of none', { paymentIntentId: 'fpi_none' }, []],
    ['subscription of none', { subscriptionId: 'fsub_none' }, []],
    ['created_gt is exclusive', { createdAfter: new Date(start.getTime() + 2_000) }, [0, 1]],
    ['created_gte is inclusive', { createdAtOrAfter: new Date(start.getTime() + 2_000) }, [0, 1, 2]],
    ['created_lt is exclusive', { createdBefore: new Date(start.getTime() + 2_000) }, [3, 4]],
    ['created_lte is inclusive', { createdAtOrBefore: new Date(start.getTime() + 2_000) }, [2, 3, 4]],
  ];
  for (const [name, filter, expected] of cases) {
    test(name, async () => {
      expect(await read({ limit: 10 }, filter)).toEqual([idsAt(...expected), false]);
    });
  }
});

test('the sessions of a list are whole, with their fees', async () => {
  const found: Session[] = [];
  for await (const session of streamSessions(fixture.database, fixture.scope, { limit: 10 }, {})) found.push(session);
  expect(found).toEqual(sessions);
});

test('a page of thousands is streamed in chunks: the first come before the last are read', async () => {
  const scope = { accountId: 'facct_many', testMode: true };
  const [model] = sessions;
  if (model === undefined) throw new Error('no session to copy');
  const count = 1_000;
  for (let from = 0; from < count; from += 100) {
    await withTx(fixture.database, scope, async (tx) => {
      for (let i = from; i < from + 100; i++) {
        const id = `fcs_${String(i).padStart(26, '0')}`;
        const none = { ...emptyAmounts, fees: [], discounts: [], splitCartId: null, letterRequired: false };
        const session: Session = { ...model, ...none, id, mode: 'setup', details: {}, customerId: null };
        await insertSession(tx, scope, { session, lines: [], eligibility: undefined, existingLetters: [] });
      }
    });
  }
  const rows = streamSessions(fixture.database, scope, { limit: 999 }, {});
  const seen: string[] = [];
  for (let next = await rows.next(); ; next = await rows.next()) {
    if (next.done === true) {
      expect(next.value).toBe(true);
      break;
    }
    seen.push(next.value.id);
  }
  expect(seen).toHaveLength(999);
  expect(seen[0]).toBe(`fcs_${String(count - 1).padStart(26, '0')}`);
  expect([...seen].sort().reverse()).toEqual(seen);
});

const zero = 0 as Session['amountTotalCents'];
const emptyAmounts = {
  ...{ amountSubtotalCents: zero, amountDiscountCents: zero, amountTaxCents: zero, amountShippingCents: zero },
  ...{ amountFeeCents: zero, amountTotalCents: zero, amountEligibleCents: zero, amountIiasCents: zero },
  ...{ amountPrescriptionCents: zero, amountVisionCents: zero, amountServiceCents: zero },
};

function idsAt(...positions: number[]): (string | undefined)[] {
  return positions.map((position) => sessions[position]?.id);
}

async function read(
  page: Parameters<typeof streamSessions>[2],
  filter: SessionFilter = {},
): Promise<[string[], boolean]> {
  const rows = streamSessions(fixture.database, fixture.scope, page, filter);
  const ids: string[] = [];
  for (let next = await rows.next(); ; next = await rows.next()) {
    if (next.done === true) return [ids, next.value];
    ids.push(next.value.id);
  }
}
