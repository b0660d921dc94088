import { type Db, type Scope, unscoped } from '@eligo/postgres';

/** An endpoint of any account. */
export interface EndpointPlace {
  readonly scope: Scope;
  readonly webhookId: string;
}

/** What a page of endpoints has for a process. */
export interface EndpointsToSend {
  readonly endpoints: readonly EndpointPlace[];
  /** How long it takes until another of them is due, as far as is known; undefined when none is. */
  readonly nextInMs: number | undefined;
}

/**
 * Of the next endpoints for which deliveries wait, `pageSize` of all accounts after a place: those to which this process may send at `at`. `last` is where the
 * page ends, undefined when there are no more.
 */
export async function endpointsToSend(
  db: Db,
  at: Date,
  owner: string,
  pageSize: number,
  after: EndpointPlace | undefined,
): Promise<EndpointsToSend & { last: EndpointPlace | undefined }> {
  const rows = await db.rows(toSend, null, [at, owner, pageSize, ...placeValues(after)]);
  return { ...foundOf(rows), last: rows.filter(({ kind }) => kind === 'place').map(placeOf)[0] };
}

/** Endpoints, at most `most`, whose lane's owner died with deliveries in its hands, and how long it takes until a lease lapses. */
export async function endpointsToRecover(db: Db, owner: string, most: number): Promise<EndpointsToSend> {
  return foundOf(await db.rows(toRecover, null, [owner, most]));
}

/** Of the next `pageSize` endpoints for which deliveries wait: the disabled and the deleted ones, whose deliveries are to be given up. */
export async function endpointsToExhaust(
  db: Db,
  pageSize: number,
  after: EndpointPlace | undefined,
): Promise<{ endpoints: EndpointPlace[]; last: EndpointPlace | undefined }> {
  const rows = await db.rows(toExhaust, null, [pageSize, ...placeValues(after)]);
  return {
    endpoints: rows.filter(({ kind }) => kind === 'due').map(placeOf),
    last: rows.filter(({ kind }) => kind === 'place').map(placeOf)[0],
  };
}

interface FoundRow {
  kind: 'due' | 'next' | 'place';
  account_id: string | null;
  test_mode: boolean | null;
  endpoint_id: string | null;
}

const toSend = unscoped<FoundRow & { due_in_ms: number | null }>(
  'endpoints.to_send',
  'select kind, account_id, test_mode, endpoint_id, due_in_ms from webhooks.endpoints_to_send_after($1, $2, $3, $4, $5, $6)',
);
const toRecover = unscoped<FoundRow & { due_in_ms: number | null }>(
  'endpoints.to_recover',
  'select kind, account_id, test_mode, endpoint_id, due_in_ms from webhooks.lapsed_lanes($1, $2)',
);
const toExhaust = unscoped<FoundRow>(
  'endpoints.to_exhaust',
  'select kind, account_id, test_mode, endpoint_id from webhooks.endpoints_to_exhaust_after($1, $2, $3, $4)',
);

function placeValues(after: EndpointPlace | undefined): unknown[] {
  return after === undefined ? ['', false, ''] : [after.scope.accountId, after.scope.testMode, after.webhookId];
}

function foundOf(rows: readonly (FoundRow & { due_in_ms: number | null })[]): EndpointsToSend {
  return {
    endpoints: rows.filter(({ kind }) => kind === 'due').map(placeOf),
    nextInMs: rows.find(({ kind }) => kind === 'next')?.due_in_ms ?? undefined,
  };
}

function placeOf({ account_id, test_mode, endpoint_id }: FoundRow): EndpointPlace {
  return { scope: { accountId: account_id ?? '', testMode: test_mode === true }, webhookId: endpoint_id ?? '' };
}
