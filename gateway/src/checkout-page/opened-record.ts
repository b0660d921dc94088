import type { PageSubject, PageTokens } from '@eligo/service';
import type { Exchange } from '../api.ts';

/** The record that a page's token opens, which the log's line of the request then names with its account; undefined for an invalid token. */
export function openedRecord(tokens: PageTokens, token: string, exchange: Exchange): PageSubject | undefined {
  const subject = tokens.subjectOf(token);
  if (subject !== undefined) {
    exchange.of = { accountId: subject.accountId, testMode: subject.testMode };
    exchange.recordId = subject.id;
  }
  return subject;
}
