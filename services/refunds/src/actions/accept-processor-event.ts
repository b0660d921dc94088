import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { type ReceivedEvent, storeEvents } from '../store/processor-events.ts';

/** Stores an event of the processor, once however often it is delivered. A job fetches the state of its object. */
export async function acceptProcessorEvent(context: Context, scope: Scope, event: ReceivedEvent): Promise<void> {
  await withTx(context.database, scope, (tx) => storeEvents(tx, scope, [event]));
}
