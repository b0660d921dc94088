import { accountRoutes } from '../api/accounts.ts';
import { balanceRoutes } from '../api/balance.ts';
import { chargeRoutes } from '../api/charges.ts';
import { confirmationTokenRoutes } from '../api/confirmation-tokens.ts';
import { customerRoutes } from '../api/customers.ts';
import { disputeRoutes } from '../api/disputes.ts';
import { eventRoutes } from '../api/events.ts';
import { fileRoutes } from '../api/files.ts';
import { searchRoutes } from '../api/intent-search.ts';
import { settlementRoutes } from '../api/intent-settlement.ts';
import { paymentIntentRoutes } from '../api/payment-intents.ts';
import { paymentMethodRoutes } from '../api/payment-methods.ts';
import { payoutRoutes } from '../api/payouts.ts';
import { refundRoutes } from '../api/refunds.ts';
import type { Route } from '../api/route.ts';
import { setupIntentRoutes } from '../api/setup-intents.ts';
import { webhookEndpointRoutes } from '../api/webhook-endpoints.ts';

export interface Match {
  route: Route;
  id: string;
}

/** Every call of Stripe's that this processor speaks. */
export const routes: readonly Route[] = [
  ...searchRoutes,
  ...accountRoutes,
  ...balanceRoutes,
  ...chargeRoutes,
  ...confirmationTokenRoutes,
  ...customerRoutes,
  ...disputeRoutes,
  ...eventRoutes,
  ...fileRoutes,
  ...paymentIntentRoutes,
  ...settlementRoutes,
  ...paymentMethodRoutes,
  ...payoutRoutes,
  ...refundRoutes,
  ...setupIntentRoutes,
  ...webhookEndpointRoutes,
];

const table = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]));

/** One look-up, or two: the paths have at most one id, always in third place. */
export function matchRoute(method: string, path: string): Match | undefined {
  const exact = table.get(`${method} ${path}`);
  if (exact !== undefined) return { route: exact, id: '' };
  const segments = path.split('/');
  const id = segments[3];
  if (id === undefined || id === '' || id.includes('%')) return undefined;
  segments[3] = ':id';
  const route = table.get(`${method} ${segments.join('/')}`);
  return route && { route, id };
}
