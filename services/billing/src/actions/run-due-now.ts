import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { holdMs, runDueStep } from './run-due-step.ts';

/** Until when a change holds a subscription whose next step its own process does at once. */
export function holdUntil({ clock }: Pick<Context, 'clock'>): Date {
  return new Date(clock.now().getTime() + holdMs);
}

/** Does what is due for a subscription that this process holds, so that the response shows it. What cannot be done now is left to the job. */
export async function runDueNow(context: Context, scope: Scope, id: string): Promise<void> {
  await runDueStep(context, scope, id);
}
