import { type Bench, loadEach } from '../bench.ts';
import { requestText } from '../requests.ts';
import type { Compared } from '../rounds.ts';
import { againstLimit } from './against-limit.ts';
import { paidSessions } from './sessions.ts';

/** Refunds paid sessions whole. */
export async function refund(bench: Bench): Promise<Compared> {
  const compared = await againstLimit(bench, {
    operation: 'refund',
    prepare: (perConnection) => paidSessions(bench, perConnection),
    async ours(sessions) {
      const key = bench.stack.file.test_api_key;
      const body = { checkout_session: {} };
      const texts = sessions.map((ids) =>
        ids.map((id) => requestText('POST', `/v1/checkout/sessions/${id}/refund`, key, { body })),
      );
      return loadEach(bench, texts);
    },
    counted: 'select count(*) from refunds.refunds',
  });
  await bench.postgres.query(endWatch);
  return compared;
}

// Thousands of refunds that a bank might return would be looked at again during the rows that follow, and by a stack that is to be idle.
const endWatch = `update refunds.refund_attempts set status = 'ended' where status = 'accepted'`;
