/** The service that keeps an event of the processor, by its type; a type that is not here is answered and not kept. */
export const eventOwners = {
  'payment_intent.amount_capturable_updated': 'checkout',
  'payment_intent.canceled': 'checkout',
  'payment_intent.payment_failed': 'checkout',
  'payment_intent.succeeded': 'checkout',
  'payment_method.automatically_updated': 'checkout',
  'setup_intent.canceled': 'checkout',
  'setup_intent.succeeded': 'checkout',
  // Accounts of an older API version send this one in place of refund.updated and refund.failed.
  'charge.refund.updated': 'refunds',
  'charge.dispute.closed': 'refunds',
  'charge.dispute.created': 'refunds',
  'charge.dispute.funds_reinstated': 'refunds',
  'charge.dispute.funds_withdrawn': 'refunds',
  'charge.dispute.updated': 'refunds',
  'refund.created': 'refunds',
  'refund.failed': 'refunds',
  'refund.updated': 'refunds',
} as const satisfies Record<string, 'checkout' | 'refunds'>;

/** The type of an event that a service keeps. */
export type KeptEventType = keyof typeof eventOwners;

/** The types that a service keeps: what it asks the processor's list for. */
export function eventTypesOf(owner: 'checkout' | 'refunds'): KeptEventType[] {
  return (Object.keys(eventOwners) as KeptEventType[]).filter((type) => eventOwners[type] === owner);
}

/** Whether a service keeps events of this type. */
export function isKeptEventType(type: string): type is KeptEventType {
  return Object.hasOwn(eventOwners, type);
}
