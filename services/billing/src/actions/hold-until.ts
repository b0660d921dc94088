import type { Context } from '../context.ts';

/** Until when a process holds a subscription that it takes now, by the wall clock. After a crash another process takes it then. */
export function holdUntil({ clock, leaseMs }: Pick<Context, 'clock' | 'leaseMs'>): Date {
  return new Date(clock.now().getTime() + leaseMs);
}
