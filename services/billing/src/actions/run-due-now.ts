import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { type AskedNow, runDueStep } from './run-due-step.ts';

/** Does what is due for a subscription that this process holds, so that the response shows it. What cannot be done now is left to the job. */
export async function runDueNow(context: Context, scope: Scope, id: string, asked?: AskedNow): Promise<void> {
  await runDueStep(context, scope, id, { asked });
}
