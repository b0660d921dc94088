import type { Mailer } from '@eligo/mail';
import type { Database } from '@eligo/postgres';
import type { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import type { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import type { Client } from '@eligo/rpc';
import type { Logger, ServiceContext } from '@eligo/service';
import type { Clock } from '@eligo/values';
import type { Arrivals } from './arrivals.ts';
import type { ChargePace } from './charge-pace.ts';
import type { ClockShare } from './clock-share.ts';
import type { PageUrls } from './page-urls.ts';

/** What billing's actions work with. */
export interface Context {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly catalog: Pick<
    Client<typeof CatalogService>,
    | 'evaluateEligibility'
    | 'batchEvaluateEligibility'
    | 'resolveCart'
    | 'reserveRedemption'
    | 'releaseRedemption'
    | 'finalizeRedemption'
    | 'listPromoCodes'
  >;
  readonly mailer: Mailer;
  readonly pages: PageUrls;
  /** How long a process holds a due subscription. */
  readonly leaseMs: number;
  readonly checkout: Client<typeof CheckoutService>;
  readonly callerFor: ServiceContext['callerFor'];
  readonly arrivals: Arrivals;
  readonly pace: ChargePace;
  readonly clockShare: ClockShare;
  readonly failpoint: ServiceContext['failpoint'];
}
