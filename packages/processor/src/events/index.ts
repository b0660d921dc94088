export { readStripeAccounts } from '../stripe-accounts.ts';
export { eventOwners, eventTypesOf, isKeptEventType, type KeptEventType } from './event-types.ts';
export { type ProcessorEvent, readEvent } from './read-event.ts';
export { isSigned } from './verify-signature.ts';
