import { createHash } from 'node:crypto';
import type { Subscription } from './subscription.ts';

/**
 * When the invoice of a period that begins is charged: at a time of its own within the account's minutes, so that subscriptions which were sold for the same hour
 * do not reach their banks at once. The same subscription has the same minute each time. A test clock waits for nothing, and one that is late is charged at once.
 */
export function chargeAt(
  { id, testClockId }: Pick<Subscription, 'id' | 'testClockId'>,
  periodStart: Date,
  spreadMinutes: number,
  at: Date,
): Date {
  if (spreadMinutes === 0 || testClockId !== null) return at;
  const share = createHash('sha256').update(id).digest().readUInt32BE(0) / 2 ** 32;
  const time = new Date(periodStart.getTime() + Math.floor(share * spreadMinutes * 60_000));
  return time > at ? time : at;
}
