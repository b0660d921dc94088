import type { Parameters } from '../http/parameters.ts';
import { invalidRequest } from '../refusal.ts';
import { shape } from '../shapes/shape.ts';
import type { PaymentIntentRecord } from '../store/record-types.ts';
import type { Call, Route } from './route.ts';

export const searchRoutes: Route[] = [
  { method: 'GET', path: '/v1/payment_intents/search', call: 'payment_intents.search', prepare: searchIntents },
];

/** The newest intents that a search without a metadata clause looks at. */
const scanLimit = 1000;
const clausePattern =
  /^\s*(?:metadata\[\s*(["'])(?<key>[^"']{1,40})\1\s*\]|(?<field>status|customer|currency))\s*:\s*(["'])(?<value>[^"']{0,500})\4\s*$/i;

interface Clause {
  key: string | undefined;
  field: string | undefined;
  value: string;
}

/**
 * Stripe's search language, as far as a look-up needs it: `metadata['key']:'value'`, `status:`, `customer:`, `currency:`,
 * joined by AND. Here what was written is found at once; Stripe's own index lags by up to a minute.
 */
function searchIntents(parameters: Parameters) {
  const clauses = readClauses(parameters.requiredText('query'));
  const limit = parameters.integer('limit', { min: 1, max: 100 }) ?? 10;
  parameters.text('page');
  parameters.finish();
  return (call: Call) => {
    const found = candidates(call, clauses).filter((intent) => clauses.every((clause) => matches(intent, clause)));
    return {
      object: 'search_result',
      data: found.slice(0, limit).map((intent) => shape('payment_intent', intent)),
      has_more: found.length > limit,
      next_page: null,
      url: '/v1/payment_intents/search',
    };
  };
}

function candidates(call: Call, clauses: Clause[]): PaymentIntentRecord[] {
  const indexed = clauses.find((clause) => clause.key !== undefined);
  if (indexed?.key === undefined)
    return call.records.page('payment_intent', call.account, { limit: scanLimit }).records;
  return call.records
    .idsByMetadata(call.account, indexed.key, indexed.value, scanLimit)
    .map((id) => call.records.need('payment_intent', call.account, id));
}

function matches(intent: PaymentIntentRecord, clause: Clause): boolean {
  if (clause.key !== undefined) return intent.metadata[clause.key] === clause.value;
  if (clause.field === 'status') return intent.status === clause.value;
  if (clause.field === 'customer') return intent.customer === clause.value;
  return intent.currency === clause.value;
}

function readClauses(query: string): Clause[] {
  return query.split(/\s+AND\s+/i).map((text) => {
    const groups = clausePattern.exec(text)?.groups;
    if (groups === undefined) {
      throw invalidRequest('We were unable to parse your search query.', { param: 'query' });
    }
    return { key: groups.key, field: groups.field?.toLowerCase(), value: groups.value ?? '' };
  });
}
