import type { Context } from '../context.ts';
import { countCharging } from '../store/charging-instances.ts';

// One that starts to charge is known to the others after so long: until then they charge at the pace of fewer.
const everyMs = 2_000;
// Longer than everyMs and a slow statement. An instance that charges nothing for so long leaves its share to the others.
const liveMs = 10_000;

/** Divides the pace of charges by the instances that charge now. Asks for their number at most every two seconds, and never while nothing is charged. */
export function sharePace({ database, clock, pace }: Pick<Context, 'database' | 'clock' | 'pace'>): Promise<void> {
  return pace.share(clock.now(), everyMs, () => countCharging(database, pace.instanceId, liveMs));
}
