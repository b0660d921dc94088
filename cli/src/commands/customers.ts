import { eraseReceipts } from '@eligo/billing';
import { type Erasure, eraseCustomer } from '@eligo/checkout';
import { isId, systemClock } from '@eligo/values';
import { type Command, type Given, UsageError } from '../command.ts';
import { withEverything } from '../connect.ts';

/** The persons who buy. */
export const customerCommands: readonly Command[] = [
  {
    name: 'customers erase',
    usage: 'CUSTOMER_ID --account ACCOUNT --mode live|test --by WHO',
    summary:
      'Deletes a customer and erases what names the person. Amounts, decisions and identifiers stay. Safe to stop and repeat; each run is recorded. Uses DATABASE_URL, or the running stack.',
    options: { account: { type: 'string' }, mode: { type: 'string' }, by: { type: 'string' } },
    words: ['CUSTOMER_ID'],
    async run(given) {
      const [customerId = ''] = given.words;
      const accountId = given.needed('account');
      if (!isId('customer', customerId))
        throw new UsageError('CUSTOMER_ID must be the identifier of a customer: fcus_…');
      if (!isId('account', accountId)) throw new UsageError('--account must be the identifier of an account: facct_…');
      const scope = { accountId, testMode: modeOf(given) === 'test' };
      const requestedBy = given.needed('by').trim();
      if (requestedBy === '') throw new UsageError('--by must say who asks for it');
      const { receipts, ...erased } = await erase(scope, { customerId, requestedBy });
      const { sessions, letters, paymentMethods } = erased;
      return {
        json: { customer_id: customerId, sessions, receipts, letter_answers: letters, payment_methods: paymentMethods },
        lines: [
          `${customerId} erased`,
          `${sessions} sessions, ${receipts} receipts, answers for ${letters} letters, ${paymentMethods} payment methods`,
        ],
      };
    },
  },
];

// Receipts are erased with the page of sessions that they are of: a run that is stopped in between does both again.
async function erase(
  scope: { readonly accountId: string; readonly testMode: boolean },
  request: { readonly customerId: string; readonly requestedBy: string },
): Promise<Erasure & { receipts: number }> {
  let receipts = 0;
  const erased = await withEverything('billing', (billing) =>
    withEverything('checkout', (database) => {
      const eraseElsewhere = async (sessionIds: readonly string[]) => {
        receipts += await eraseReceipts(billing, scope, sessionIds);
      };
      return eraseCustomer({ database, clock: systemClock, eraseElsewhere }, scope, request);
    }),
  );
  return { ...erased, receipts };
}

function modeOf(given: Given): 'live' | 'test' {
  const mode = given.needed('mode');
  if (mode !== 'live' && mode !== 'test') throw new UsageError('--mode must be live or test');
  return mode;
}
