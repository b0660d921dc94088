import {
  type Api,
  type Constellation,
  type ConstellationOptions,
  startConstellation,
  type Topology,
} from '@eligo/testkit';
import { text } from '../records.ts';
import { newCard, newCustomer, newSession, openShop, type Shop } from '../shop.ts';

/** A running Eligo on which one crash after the other is tried. */
export interface RunningShop {
  readonly eligo: Constellation;
  readonly api: Api;
  readonly shop: Shop;
  /** Whose shop it is. */
  readonly account: string;
}

/** A session of a new customer, with a card of theirs. */
export interface Cart {
  readonly sessionId: string;
  readonly customer: string;
  readonly card: string;
  /** What the health card pays, and the whole. */
  readonly eligibleCents: number;
  readonly totalCents: number;
}

/**
 * Claims lapse and calls end within seconds, so that what a dead process has left is taken over at once; the proportions are those of
 * production, and the services refuse a lease that does not outlast its call.
 */
export const shortBudgets = {
  ELIGO_CHARGE_CALL_MS: '1000',
  ELIGO_CHARGE_MARGIN_MS: '500',
  ELIGO_CHARGE_LEASE_MS: '2000',
  ELIGO_REFUND_CALL_MS: '1000',
  ELIGO_REFUND_MARGIN_MS: '500',
  ELIGO_REFUND_LEASE_MS: '2000',
  ELIGO_RENEWAL_LEASE_MS: '10000',
};

/** Starts Eligo, with so many processes of its components, and opens a shop in it. */
export async function openRunningShop(
  topology: Topology,
  environment: Readonly<Record<string, string>> = shortBudgets,
  replicas: NonNullable<ConstellationOptions['replicas']> = {},
): Promise<RunningShop> {
  const eligo = await startConstellation({ topology, environment, replicas });
  try {
    const api = eligo.api();
    return { eligo, api, shop: await openShop(api), account: eligo.account };
  } catch (error) {
    await eligo.stop();
    throw error;
  }
}

/** Fills a cart for a new customer with a card by its name. */
export async function newCart({ api, shop }: RunningShop, card = 'hsa'): Promise<Cart> {
  const customer = await newCustomer(api);
  const [cardId, session] = await Promise.all([newCard(api, customer, card), newSession(api, shop, { customer })]);
  const details = session.total_details as { amount_iias: number };
  return {
    sessionId: text(session, 'checkout_session_id'),
    customer,
    card: cardId,
    eligibleCents: details.amount_iias,
    totalCents: session.amount_total as number,
  };
}
