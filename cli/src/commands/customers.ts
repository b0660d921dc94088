import { type Erasure, eraseCustomer, visitIntents } from '@eligo/checkout';
import { isId } from '@eligo/values';
import { type Command, UsageError } from '../command.ts';
import { eraseEverywhere, openDisputesAmong, readErasure, refusalOf, wordsOf } from '../erasing.ts';

/** The persons who buy. */
export const customerCommands: readonly Command[] = [
  {
    name: 'customers erase',
    usage: 'CUSTOMER_ID --account ACCOUNT --mode live|test --by WHO [--with-open-disputes]',
    summary:
      'Deletes a customer and erases what names the person, evidence of disputes with its files included. Amounts, decisions and identifiers stay. Erases nothing while a dispute waits for a response, and lists those, unless --with-open-disputes is given. Safe to stop and repeat; each run is recorded. Uses DATABASE_URL, or the running stack. Mails that are kept as files in ELIGO_MAIL_FOLDER, and without DATABASE_URL in the folders of the running stack, are deleted.',
    options: {
      account: { type: 'string' },
      mode: { type: 'string' },
      by: { type: 'string' },
      'with-open-disputes': { type: 'boolean' },
    },
    words: ['CUSTOMER_ID'],
    async run(given) {
      const [customerId = ''] = given.words;
      if (!isId('customer', customerId))
        throw new UsageError('CUSTOMER_ID must be the identifier of a customer: fcus_…');
      const { scope, requestedBy, withOpenDisputes } = readErasure(given);
      const open = await openDisputesAmong(scope, withOpenDisputes, (checkout, visit) =>
        visitIntents(checkout, scope, customerId, visit),
      );
      if (open.length > 0) return refusalOf('customer_id', customerId, open);
      const erased = await eraseEverywhere<Erasure>(scope, customerId, (work) =>
        eraseCustomer(work, scope, { customerId, requestedBy }),
      );
      const { sessions, letters, paymentMethods, ...elsewhere } = erased;
      const { receipts, disputes, files, mails } = elsewhere;
      return {
        json: {
          ...{ customer_id: customerId, sessions, receipts, letter_answers: letters, payment_methods: paymentMethods },
          ...{ disputes, files, mails },
        },
        lines: [
          `${customerId} erased`,
          `${sessions} sessions, ${receipts} receipts, answers for ${letters} letters, ${paymentMethods} payment methods`,
          wordsOf(elsewhere),
        ],
      };
    },
  },
];
