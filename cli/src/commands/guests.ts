import { eraseGuest, findGuestSessions, type Guest, visitIntentsOfSessions } from '@eligo/checkout';
import { isId } from '@eligo/values';
import { type Command, type Outcome, UsageError } from '../command.ts';
import { withEverything } from '../connect.ts';
import { eraseEverywhere, openDisputesAmong, readErasure, refusalOf, wordsOf } from '../erasing.ts';

/** The persons who buy without a customer record. */
export const guestCommands: readonly Command[] = [
  {
    name: 'guests erase',
    usage: 'SESSION_ID|EMAIL --account ACCOUNT --mode live|test --by WHO [--with-open-disputes]',
    summary:
      'Erases what names the person in a session without a customer, or in all of those with an e-mail address, as it is written there. Amounts, decisions and identifiers stay. Open sessions expire. Erases nothing while a dispute waits for a response, and lists those, unless --with-open-disputes is given. Names the customers who have the same address: erase them with customers erase. Safe to stop and repeat: a run also finishes those of the account that were stopped. Each run is recorded. Uses DATABASE_URL, or the running stack, and deletes kept mails as customers erase does.',
    options: {
      account: { type: 'string' },
      mode: { type: 'string' },
      by: { type: 'string' },
      'with-open-disputes': { type: 'boolean' },
    },
    words: ['SESSION_ID|EMAIL'],
    async run(given) {
      const [subject = ''] = given.words;
      const guest = guestOf(subject);
      const { scope, requestedBy, withOpenDisputes } = readErasure(given);
      const found = await withEverything('checkout', (checkout) => findGuestSessions(checkout, scope, guest));
      const { customerIds } = found;
      const sessionIds = [...found.sessionIds, ...found.unfinishedIds];
      if (sessionIds.length === 0) return nothingErased(subject, customerIds);
      const open = await openDisputesAmong(scope, withOpenDisputes, (checkout, visit) =>
        visitIntentsOfSessions(checkout, scope, sessionIds, visit),
      );
      if (open.length > 0) return refusalOf('guest', subject, open);
      const erased = await eraseEverywhere(scope, null, (work) => eraseGuest(work, scope, { sessionIds, requestedBy }));
      const { sessions, letters, ...elsewhere } = erased;
      return {
        json: {
          ...{ session_ids: sessionIds, customer_ids: customerIds, sessions, letter_answers: letters, ...elsewhere },
        },
        lines: [
          `${sessions} sessions erased, ${elsewhere.receipts} receipts, answers for ${letters} letters`,
          wordsOf(elsewhere),
          ...remedies(customerIds),
        ],
      };
    },
  },
];

function guestOf(subject: string): Guest {
  if (isId('checkout_session', subject)) return { sessionId: subject };
  if (subject.includes('@')) return { email: subject };
  throw new UsageError('SESSION_ID|EMAIL must be the identifier of a session, fcs_…, or an e-mail address');
}

function nothingErased(subject: string, customerIds: readonly string[]): Outcome {
  const why =
    customerIds.length > 0 ? 'belongs to a customer; nothing was erased' : 'has no sessions without a customer';
  return {
    json: { guest: subject, customer_ids: customerIds, sessions: 0 },
    lines: [`${subject} ${why}`, ...remedies(customerIds)],
    failed: true,
  };
}

function remedies(customerIds: readonly string[]): string[] {
  return customerIds.map((id) => `Erase the customer, too: eligo customers erase ${id}`);
}
