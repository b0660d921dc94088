import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { ReceivedEvent } from '../store/processor-events.ts';

/** Stores an event of the processor, once however often it is delivered. A job fetches the state of its object. */
export async function acceptProcessorEvent(
  { groups }: Pick<Context, 'groups'>,
  scope: Scope,
  event: ReceivedEvent,
): Promise<void> {
  await groups.events.submit(scope, event);
}
