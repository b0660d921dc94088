import { type ComponentName, serviceNames } from '../components.ts';

/**
 * Which consumers each component runs on whose stream, since a NATS user may use just these. A test holds the table
 * against what the components themselves declare.
 */
export const busConsumers: Readonly<Partial<Record<ComponentName, Readonly<Record<string, readonly string[]>>>>> = {
  billing: {
    checkout: [
      'subscription-start',
      'issue-receipts',
      'issue-refund-receipts',
      'card-updates',
      'charge-authentications',
      'card-set-ups',
    ],
  },
  checkout: { billing: ['renewals'], refunds: ['refund-receipts'] },
  refunds: { billing: ['refund-commands'], checkout: ['refund-commands', 'ledger'] },
  webhooks: Object.fromEntries(serviceNames.map((from) => [from, ['public-events']])),
};

/**
 * The event types that each of them takes, by component and consumer: what an operator's comparison of outboxes and inboxes asks for. `public`
 * stands for all that partners are told of.
 */
export const busConsumerTypes: Readonly<Record<string, readonly string[] | 'public'>> = {
  'billing subscription-start': ['command.subscription.start'],
  'billing issue-receipts': ['command.receipt.issue'],
  'billing issue-refund-receipts': ['command.receipt.refund'],
  'billing card-updates': ['command.card.updated'],
  'billing charge-authentications': ['command.charge.authenticated'],
  'billing card-set-ups': ['command.card.set_up'],
  'checkout renewals': ['customer.subscription.updated', 'customer.subscription.deleted'],
  'checkout refund-receipts': ['refund.updated'],
  'refunds refund-commands': ['command.refund'],
  'refunds ledger': ['command.journal'],
  'webhooks public-events': 'public',
};
