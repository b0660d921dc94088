import { withTx } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import type { Context } from '../context.ts';
import { exhaustDeliveries as exhaust } from '../store/deliveries.ts';
import { holdDisabled } from '../store/endpoints.ts';
import { type EndpointPlace, endpointsToExhaust } from '../store/waiting-endpoints.ts';

/**
 * Gives up what was still to be sent to endpoints that are disabled or deleted: a page of the waiting endpoints in each run, and a part of each one's
 * deliveries. A failure stops only its endpoint: the run fails at its end, and the next one continues behind the page.
 */
export function exhaustDeliveries({ database }: Pick<Context, 'database'>): Job {
  let after: EndpointPlace | undefined;
  let isLeft = false;
  return {
    name: 'exhaust-deliveries',
    everyMs: 60_000,
    async run(signal) {
      const { endpoints, last } = await endpointsToExhaust(database, endpointsOfPage, after);
      const errors: unknown[] = [];
      for (const { scope, webhookId } of endpoints) {
        if (signal.aborted) return false;
        try {
          const isMore = await withTx(database, scope, async (tx) => {
            // An update may have enabled it in the meantime: then what is left of it is sent.
            return (
              (await holdDisabled(tx, scope, webhookId)) && exhaust(tx, scope, webhookId, 'the endpoint was disabled')
            );
          });
          isLeft ||= isMore;
        } catch (error) {
          errors.push(error);
        }
      }
      after = last;
      // The round begins anew at once while deliveries are left of it.
      const goesOn = last !== undefined || isLeft;
      if (last === undefined) isLeft = false;
      if (errors.length > 0) throw new AggregateError(errors, 'The deliveries of some endpoints could not be given up');
      return goesOn;
    },
  };
}

const endpointsOfPage = 1_000;
