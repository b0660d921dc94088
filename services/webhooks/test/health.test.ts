import { describe, expect, it } from 'vitest';
import { disableAfterMs, type EndpointHealth, healthAfter, healthy, isGivenUp } from '../src/domain/health.ts';

const start = new Date('2026-03-01T00:00:00.000Z');
const down = { succeeded: 0, unreachable: 1, failed: 1 };

describe("an endpoint's health", () => {
  it('opens the breaker at the fifth failure in a row, for 5 s and then ever longer up to 5 min', () => {
    let health: EndpointHealth = healthy;
    const waits: number[] = [];
    for (let i = 0; i < 14; i++) {
      health = healthAfter(health, down, start);
      waits.push(health.openUntil === null ? 0 : (health.openUntil.getTime() - start.getTime()) / 1000);
    }
    expect(waits).toEqual([0, 0, 0, 0, 5, 10, 20, 40, 80, 160, 300, 300, 300, 300]);
  });

  it('does not open it for answers that refuse an event: the receiver is up', () => {
    let health: EndpointHealth = healthy;
    for (let i = 0; i < 20; i++) health = healthAfter(health, { succeeded: 0, unreachable: 0, failed: 1 }, start);
    expect(health).toMatchObject({ openUntil: null, failingSince: start });
  });

  it('is good again after one success', () => {
    const failing = healthAfter(healthy, { succeeded: 0, unreachable: 9, failed: 9 }, start);
    expect(healthAfter(failing, { succeeded: 1, unreachable: 2, failed: 2 }, start)).toEqual(healthy);
  });

  it('is given up after five days without one success, counted from the first failure', () => {
    const failing = healthAfter(healthy, down, start);
    const later = (ms: number) => new Date(start.getTime() + ms);
    expect(isGivenUp(healthAfter(failing, down, later(disableAfterMs - 1)), later(disableAfterMs - 1))).toBe(false);
    expect(isGivenUp(healthAfter(failing, down, later(disableAfterMs)), later(disableAfterMs))).toBe(true);
  });
});
