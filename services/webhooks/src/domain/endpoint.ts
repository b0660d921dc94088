import { Failure } from '@eligo/failures';
import { parseTarget, TargetRefused, type TargetRules } from './target.ts';

/** Where an account's events are sent. */
export interface Endpoint {
  readonly webhookId: string;
  readonly url: string;
  /** Event types, or `*` for all. */
  readonly events: readonly string[];
  readonly status: 'enabled' | 'disabled';
  readonly testMode: boolean;
  readonly createdAt: Date;
}

/** Endpoints of an account in a mode. A retry plans an event for all that want it in one transaction, so this stays below `mostPlanned`; requests that create endpoints at once can pass it by a few. */
export const mostEndpoints = 1_000;

/** The URL of a request, checked and as it is stored; a refusal is a 422 at the field. */
export function endpointUrl(text: string, rules: TargetRules): string {
  try {
    return parseTarget(text, rules).href;
  } catch (error) {
    if (!(error instanceof TargetRefused)) throw error;
    throw Failure.invalid(['body', 'webhook', 'url'], 'webhook_url_not_allowed', error.message);
  }
}

/**
 * The event types of a request as they are stored: each once, `*` for all types, and all when none is named. Which may be named is the
 * contract's to say (decisions 14.22); here any well-formed one is kept, so that a service older than its gateway refuses nothing.
 */
export function endpointEvents(types: readonly string[]): string[] {
  if (types.length > 200) {
    throw Failure.invalid(['body', 'webhook', 'events'], 'too_long', 'Must have at most 200 event types');
  }
  types.forEach((type, index) => {
    if (type !== '*' && !(type.length <= 100 && typeForm.test(type))) {
      throw Failure.invalid(['body', 'webhook', 'events', String(index)], 'event_type_invalid', 'Not an event type');
    }
  });
  if (types.length === 0 || types.includes('*')) return ['*'];
  return [...new Set(types)];
}

const typeForm = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/;
