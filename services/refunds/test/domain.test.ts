import { describe, expect, it } from 'vitest';
import { isKeyForgotten, judgeRefusal } from '../src/domain/judge-outcome.ts';
import { ledgerSides } from '../src/domain/ledger.ts';
import { pauseWhileAcceptedMs, pauseWhileUnknownMs } from '../src/domain/pauses.ts';
import { refundStatusOf } from '../src/domain/refund-states.ts';

describe('what to do about an attempt that was not accepted', () => {
  const unknown = { kind: 'unknown', mayHaveHappened: true, replayed: false } as const;

  it('sends the same key again while the outcome is unknown', () => {
    expect(judgeRefusal(unknown, 1)).toEqual({ step: 'send_again' });
    expect(judgeRefusal({ ...unknown, mayHaveHappened: false }, 7)).toEqual({ step: 'send_again' });
  });

  it('looks up what there is when the key only gives its stored 500', () => {
    expect(judgeRefusal({ ...unknown, replayed: true }, 2)).toEqual({ step: 'look_up' });
  });

  it('takes the first refusal for what it is, and looks up after a later one', () => {
    const rejected = { kind: 'rejected', code: 'charge_already_refunded', status: 400 } as const;
    expect(judgeRefusal(rejected, 1)).toEqual({ step: 'fail', code: 'charge_already_refunded' });
    expect(judgeRefusal(rejected, 2)).toEqual({ step: 'look_up' });
  });

  it.each([
    ['api_key_expired', 401],
    ['account_invalid', 403],
    ['idempotency_error', 400],
    ['resource_missing', 404],
  ])('takes %s for our own trouble and not for a failed refund [D14.74]', (code, status) => {
    expect(judgeRefusal({ kind: 'rejected', code, status }, 1)).toEqual({ step: 'alert', code });
  });

  it('counts on a key for 23 hours', () => {
    const sent = new Date('2026-03-01T00:00:00Z');
    expect(isKeyForgotten(null, sent)).toBe(false);
    expect(isKeyForgotten(sent, new Date('2026-03-01T22:59:59Z'))).toBe(false);
    expect(isKeyForgotten(sent, new Date('2026-03-01T23:00:00Z'))).toBe(true);
  });
});

describe('pauses', () => {
  it('while unknown are ten seconds for three minutes, a minute for a quarter of an hour, then five minutes [D14.52]', () => {
    expect([0, 1, 2, 3, 4, 20, 21, 35, 36, 500].map(pauseWhileUnknownMs)).toEqual([
      1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 60_000, 60_000, 300_000, 300_000,
    ]);
  });

  it('end for what is settled after some weeks, and never for what is pending', () => {
    expect(pauseWhileAcceptedMs(10, true)).toBeUndefined();
    expect(pauseWhileAcceptedMs(500, false)).toBe(24 * 3_600_000);
    const watched = Array.from({ length: 9 }, (_, checks) => pauseWhileAcceptedMs(checks, true) ?? 0);
    expect(watched.reduce((sum, pause) => sum + pause, 0)).toBeGreaterThan(50 * 24 * 3_600_000);
  });

  it('begin with five seconds for what is pending, and with a minute for what went through', () => {
    expect([0, 1].map((checks) => pauseWhileAcceptedMs(checks, false))).toEqual([5_000, 60_000]);
    expect([0, 1].map((checks) => pauseWhileAcceptedMs(checks, true))).toEqual([60_000, 600_000]);
  });
});

describe("a refund's status by its parts", () => {
  it.each([
    ['pending', ['succeeded'], 'succeeded'],
    ['pending', ['pending', 'succeeded'], 'pending'],
    ['pending', ['succeeded', 'requires_action'], 'requires_action'],
    ['requires_action', ['pending', 'succeeded'], 'pending'],
    ['pending', ['releasing', 'succeeded'], 'pending'],
    ['pending', ['failed', 'succeeded'], 'succeeded'],
    ['pending', ['failed', 'canceled'], 'failed'],
    ['pending', ['canceled'], 'canceled'],
    ['succeeded', ['releasing'], 'succeeded'],
    ['succeeded', ['failed'], 'failed'],
    ['succeeded', ['canceled'], 'failed'],
    ['succeeded', ['failed', 'succeeded'], 'succeeded'],
  ] as const)('from %s with %j is %s', (current, parts, expected) => {
    expect(refundStatusOf(current, parts)).toBe(expected);
  });
});

describe('the ledger', () => {
  it('moves money on from where it is, and back', () => {
    const sum = (...kinds: (keyof typeof ledgerSides)[]) => {
      const balances: Record<string, number> = {};
      for (const kind of kinds) {
        const { debit, credit } = ledgerSides[kind];
        expect(debit).not.toBe(credit);
        balances[debit] = (balances[debit] ?? 0) + 1;
        balances[credit] = (balances[credit] ?? 0) - 1;
      }
      return balances;
    };
    expect(sum('refund_pending', 'refund_succeeded')).toEqual({
      refunds: 1,
      refunds_payable: 0,
      processor_balance: -1,
    });
    expect(sum('refund_pending', 'refund_failed')).toEqual({ refunds: 0, refunds_payable: 0 });
    expect(sum('refund_pending', 'refund_succeeded', 'refund_returned')).toEqual({
      refunds: 0,
      refunds_payable: 0,
      processor_balance: 0,
    });
  });
});
