import { describe, expect, it } from 'vitest';
import { disableAfterMs, type EndpointHealth, healthAfter, isGivenUp } from '../src/domain/health.ts';

const start = new Date('2026-03-01T00:00:00.000Z');
const healthy: EndpointHealth = { failuresInRow: 0, failingSince: null, openUntil: null };

describe("an endpoint's health", () => {
  it('opens the breaker at the fifth failure in a row, for 5 s and then ever longer up to 5 min', () => {
    let health = healthy;
    const waits: number[] = [];
    for (let i = 0; i < 14; i++) {
      health = healthAfter(health, 1, start);
      waits.push(health.openUntil === null ? 0 : (health.openUntil.getTime() - start.getTime()) / 1000);
    }
    expect(waits).toEqual([0, 0, 0, 0, 5, 10, 20, 40, 80, 160, 300, 300, 300, 300]);
  });

  it('does not open it for answers that refuse an event: the receiver is up', () => {
    let health = healthy;
    for (let i = 0; i < 20; i++) health = healthAfter(health, 0, start);
    expect(health).toMatchObject({ openUntil: null, failingSince: start });
  });

  it('is given up after five days without one success, counted from the first failure [HOOK-1]', () => {
    const failing = healthAfter(healthy, 1, start);
    const later = (ms: number) => new Date(start.getTime() + ms);
    expect(isGivenUp(healthAfter(failing, 1, later(disableAfterMs - 1)), later(disableAfterMs - 1))).toBe(false);
    expect(isGivenUp(healthAfter(failing, 1, later(disableAfterMs)), later(disableAfterMs))).toBe(true);
  });
});
