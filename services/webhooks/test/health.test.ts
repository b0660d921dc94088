import { describe, expect, it } from 'vitest';
import { disableAfterMs, type EndpointHealth, healthAfter, isGivenUp } from '../src/domain/health.ts';

const start = new Date('2026-03-01T00:00:00.000Z');
const later = (ms: number) => new Date(start.getTime() + ms);
const healthy: EndpointHealth = {
  ...{ failuresInRow: 0, failingSince: null, unreachableSince: null, openUntil: null, retryAskedAt: null },
};
const after = (health: EndpointHealth, unreachable: number, now: Date, lastStartedAt = now) =>
  healthAfter(health, { unreachable, lastStartedAt }, now);

describe("an endpoint's health", () => {
  it('opens the breaker at the fifth failure in a row and probes after a second, then ever later up to 5 min [D14.133]', () => {
    let health = healthy;
    for (let i = 0; i < 4; i++) {
      health = after(health, 1, start);
      expect(health.openUntil).toBeNull();
    }
    const waits: number[] = [];
    let now = start;
    for (let i = 0; i < 12; i++) {
      health = after(health, 1, now);
      const until = health.openUntil ?? now;
      waits.push((until.getTime() - now.getTime()) / 1000);
      now = until;
    }
    expect(waits).toEqual([1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  });

  it('takes failures that end together for one moment, however many [D14.133]', () => {
    const once = after(healthy, 16, start);
    const again = after(once, 16, later(320));
    expect([once.openUntil, again.openUntil]).toEqual([later(1_000), later(1_320)]);
  });

  it('does not open it for answers that refuse an event: the receiver is up', () => {
    let health = healthy;
    for (let i = 0; i < 20; i++) health = after(health, 0, start);
    expect(health).toMatchObject({ openUntil: null, failingSince: start });
  });

  it('counts the time anew after a success, also where only the count of failures was cleared', () => {
    const cleared = { ...after(healthy, 5, start), failuresInRow: 0, failingSince: null, openUntil: null };
    expect(after(cleared, 5, later(3_600_000)).openUntil).toEqual(later(3_601_000));
  });

  it('does not open it over a retry that was asked for while the failed attempts were on their way [D14.133]', () => {
    const asked = { ...after(healthy, 5, start), retryAskedAt: later(500) };
    expect(after(asked, 1, later(1_000), later(400)).openUntil).toBeNull();
    expect(after(asked, 1, later(1_000), later(600)).openUntil).not.toBeNull();
  });

  it('is given up after five days without one success, counted from the first failure [HOOK-1]', () => {
    const failing = after(healthy, 1, start);
    expect(isGivenUp(after(failing, 1, later(disableAfterMs - 1)), later(disableAfterMs - 1))).toBe(false);
    expect(isGivenUp(after(failing, 1, later(disableAfterMs)), later(disableAfterMs))).toBe(true);
  });
});
