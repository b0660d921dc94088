import type { GroupedWrites, Scope } from '@eligo/postgres';
import type { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import type { Call, Client } from '@eligo/rpc';
import type { Charging } from './charging.ts';
import type { Session } from './domain/session.ts';
import type { PageUrls } from './page-urls.ts';
import type { NewSessionRows } from './store/new-sessions.ts';

/** What the actions on customers, payment methods and sessions work with. */
export interface Resources extends Pick<Charging, 'database' | 'clock' | 'logger' | 'processors'> {
  readonly catalog: Client<typeof CatalogService>;
  readonly pages: PageUrls;
  /** Writes plain sessions, those that come at the same time together (ADR 20). */
  readonly newSessions: GroupedWrites<NewSessionRows, void>;
  /** Charges an off-session session with its payment method, unless that was begun before; answers with the session as it then is. */
  chargeSession(scope: Scope, session: Session, call: Call): Promise<Session>;
  /** Lets the holds of an ended session go, as far as that is quickly done. */
  voidHolds(scope: Scope, session: Session): Promise<void>;
}
