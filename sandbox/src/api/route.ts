import type { Parameters } from '../http/parameters.ts';
import type { Balances } from '../store/balances.ts';
import type { Holds } from '../store/holds.ts';
import type { RecordKind, RecordOf } from '../store/record-types.ts';
import type { Page, PageQuery, Records } from '../store/records.ts';

/** One request, once it is known to be allowed, well formed and not a repetition. */
export interface Call {
  /** The account that it acts on: the connected one of `Stripe-Account`, or the platform's own. */
  account: string;
  /** The `:id` of the path, '' where there is none. */
  id: string;
  nowMs: number;
  /** `nowMs` in whole seconds. */
  at: number;
  /** The clock that tests can advance, by which keys and holds lapse and payouts are made. */
  clockMs: number;
  requestId: string;
  idempotencyKey: string | null;
  records: Records;
  holds: Holds;
  balances: Balances;
  newId(prefix: string): string;
  /** Records that something happened, with the record as it is now; endpoints that subscribed hear of it. */
  emit<Kind extends RecordKind>(type: string, kind: Kind, record: RecordOf<Kind>): void;
  endpointsChanged(): void;
}

export interface Route {
  method: 'GET' | 'POST' | 'DELETE';
  /** `/v1/payment_intents/:id/confirm` */
  path: string;
  /** The name by which faults find it: `payment_intents.confirm`. */
  call: string;
  /**
   * Reads and checks the parameters alone, and gives what is to be done. A refusal thrown here leaves nothing under the
   * idempotency key; from the returned function on, whatever is answered is kept.
   */
  prepare(parameters: Parameters): (call: Call) => object;
}

/** Lists take the same parameters everywhere. */
export function pageQuery(parameters: Parameters): PageQuery {
  const created = readCreated(parameters);
  return {
    limit: parameters.integer('limit', { min: 1, max: 100 }) ?? 10,
    startingAfter: parameters.text('starting_after'),
    endingBefore: parameters.text('ending_before'),
    ...created,
  };
}

export function listShape<Kind extends RecordKind>(
  url: string,
  page: Page<Kind>,
  render: (record: RecordOf<Kind>) => object,
): object {
  return { object: 'list', data: page.records.map(render), has_more: page.hasMore, url };
}

function readCreated(parameters: Parameters): Pick<PageQuery, 'createdFrom' | 'createdBefore'> {
  if (!parameters.has('created')) return {};
  if (typeof parameters.raw('created') === 'string') {
    const at = parameters.integer('created') ?? 0;
    return { createdFrom: at, createdBefore: at + 1 };
  }
  const range = parameters.object('created');
  if (range === undefined) return {};
  const gt = range.integer('gt');
  const lte = range.integer('lte');
  const query = {
    createdFrom: range.integer('gte') ?? (gt === undefined ? undefined : gt + 1),
    createdBefore: range.integer('lt') ?? (lte === undefined ? undefined : lte + 1),
  };
  range.finish();
  return query;
}
