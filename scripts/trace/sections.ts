import type { Section } from './rule.ts';
import { catalogDecisions } from './rules/catalog-decisions.ts';
import { edgeSections } from './rules/edge.ts';
import { edgeDecisions } from './rules/edge-decisions.ts';
import { endpointSections } from './rules/endpoints.ts';
import { generalSections } from './rules/general.ts';
import { moreDecisions } from './rules/more-decisions.ts';
import { recordSections } from './rules/records.ts';

/** The traced sections of docs/spec. */
export const sections: readonly Section[] = [
  ...generalSections,
  ...recordSections,
  ...endpointSections,
  ...edgeSections,
  ...catalogDecisions,
  ...edgeDecisions,
  ...moreDecisions,
];

/** The sections of interface.md that are about other resources, each with what shows that they hold. */
export const untraced: readonly (readonly [heading: string, why: string])[] = [
  ['Checkout session', 'the record of checkout: `services/checkout/test`, `e2e/test/main-path.ts`'],
  ['Checkout sessions', 'the endpoints of checkout: `services/checkout/test`, `e2e/test/confirm-table.ts`'],
  ['Discount', 'a part of sessions and subscriptions: `packages/contract/test/rendering.test.ts`'],
  ['Subscription', 'the record of billing: `services/billing/test`'],
  ['Subscriptions', 'the endpoints of billing: `services/billing/test`, `e2e/test/test-clocks.test.ts`'],
  ['Invoice', 'the record of billing: `services/billing/test`'],
  ['Invoices', 'the endpoints of billing: `services/billing/test`'],
  ['Refund', 'the record of refunds: `services/refunds/test`'],
  [
    'Refunds (deprecated, see Versioning)',
    'the endpoint of refunds: `services/refunds/test`; its deprecation is Versioning 2',
  ],
  ['Files †', 'not served yet'],
  ['Events', 'webhooks: `services/webhooks/test`'],
];
