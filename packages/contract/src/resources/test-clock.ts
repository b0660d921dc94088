import type { TestClock } from '@eligo/proto/billing/v1/billing';
import { z } from 'zod';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

export const testClockSchema = z.strictObject({
  test_clock_id: idOf('test_clock'),
  name: answer.text,
  frozen_time: answer.time,
  status: z.enum(['ready', 'advancing']),
  test_mode: z.literal(true),
  created_at: answer.time,
  deleted: z.literal(true).optional(),
});

export function renderTestClock(clock: TestClock): z.infer<typeof testClockSchema> {
  return {
    test_clock_id: clock.testClockId,
    name: clock.name ?? null,
    frozen_time: isoTime(clock.frozenTimeMs),
    status: clock.status as 'ready' | 'advancing',
    test_mode: true,
    created_at: isoTime(clock.createdAtMs),
    ...(clock.deleted ? { deleted: true as const } : {}),
  };
}
