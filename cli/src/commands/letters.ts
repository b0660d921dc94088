import { addReviewer, listReviewers, revokeReviewer } from '@eligo/checkout';
import { linesOf } from '@eligo/values';
import { callCheckout } from '../admin-port.ts';
import { type Command, type Given, UsageError } from '../command.ts';
import { withComponent } from '../connect.ts';
import type { Json } from '../public-api.ts';
import { reviewerCredential } from '../reviewer-credential.ts';
import { letterDocumentCommand } from './letter-document.ts';

/** The review of letters of medical necessity, and who may decide them. */
export const letterCommands: readonly Command[] = [
  {
    name: 'reviewers add',
    usage: '--name NAME --license LICENSE --state STATE',
    summary:
      'Admits a reviewer of letters of medical necessity. Prints the personal credential once; only its hash is stored.',
    options: { name: { type: 'string' }, license: { type: 'string' }, state: { type: 'string' } },
    async run(given) {
      const fields = { name: given.needed('name'), license: given.needed('license'), state: given.needed('state') };
      const { reviewer, credential } = await withComponent('checkout', (database) => addReviewer(database, fields));
      return {
        json: { reviewer_id: reviewer.id, credential },
        lines: [`${reviewer.id}  ${reviewer.name}`, `credential  ${credential}`, 'The credential is not shown again.'],
      };
    },
  },
  {
    name: 'reviewers list',
    usage: '',
    summary: 'Lists the reviewers, newest first.',
    readsOnly: true,
    options: {},
    async run() {
      const reviewers = await withComponent('checkout', listReviewers);
      return {
        json: {
          reviewers: reviewers.map(({ id, created_at, revoked_at, ...rest }) => ({
            ...{ reviewer_id: id, ...rest },
            ...{ created_at: created_at.toISOString(), revoked_at: revoked_at?.toISOString() ?? null },
          })),
        },
        lines: reviewers.map(
          ({ id, name, license, state, revoked_at }) =>
            `${id}  ${name}  ${state} ${license}${revoked_at ? '  revoked' : ''}`,
        ),
      };
    },
  },
  {
    name: 'reviewers revoke',
    usage: 'REVIEWER_ID',
    summary: 'Ends a reviewer’s credential at once. Decisions made with it stay.',
    options: {},
    words: ['REVIEWER_ID'],
    async run({ words: [id = ''] }) {
      const isRevoked = await withComponent('checkout', (database) => revokeReviewer(database, id));
      if (!isRevoked) throw new UsageError('There is no such reviewer with a credential');
      return { json: { reviewer_id: id, revoked: true }, lines: [`${id} revoked`] };
    },
  },
  {
    name: 'letters list',
    usage: '[--mode live|test] [--limit 20] [--after LETTER_ID]',
    summary: 'Lists the letters in review of all accounts, those whose review ends first.',
    options: {
      mode: { type: 'string', default: 'live' },
      limit: { type: 'string', default: '20' },
      after: { type: 'string' },
    },
    async run(given) {
      const after = given.text('after');
      const answer = await callCheckout('ListReviews', {
        testMode: modeOf(given) === 'test',
        limit: countOf(given.needed('limit')),
        ...(after === undefined ? {} : { startingAfter: after }),
      });
      const reviews = ((answer.reviews ?? []) as Json[]).map(reviewOf);
      return {
        json: { letters: reviews, has_more: answer.hasMore === true },
        lines: [...reviews.map(lineOf), ...(answer.hasMore === true ? ['There are more: use --after'] : [])],
      };
    },
  },
  {
    name: 'letters show',
    usage: 'LETTER_ID',
    summary:
      'Shows a letter with the shopper’s name and answers and, once it is decided, its reviewer. Needs ELIGO_REVIEWER_CREDENTIAL. Each call is recorded.',
    options: {},
    words: ['LETTER_ID'],
    async run({ words: [letterId = ''] }) {
      const answer = await callCheckout('OpenReview', { letterId, credential: reviewerCredential() });
      const review = reviewOf(answer);
      const answers = typeof answer.answers === 'string' ? (JSON.parse(answer.answers) as Json) : null;
      const shopper = typeof answer.shopperName === 'string' ? answer.shopperName : null;
      const products = ((answer.lines ?? []) as Json[]).map((line) => String(line.description ?? line.productId));
      return {
        json: { ...review, shopper, products, answers, answered_at: timeOf(answer.answeredAtMs) },
        lines: [
          lineOf(review),
          ...reviewerLines(review),
          ...(shopper === null ? [] : [`shopper  ${shopper}`]),
          ...products.map((product) => `product  ${product}`),
          ...(answers === null
            ? ['The shopper has not answered yet.']
            : Object.entries(answers).flatMap(([name, value]) => answerLines(name, String(value)))),
        ],
      };
    },
  },
  letterDocumentCommand,
  decision(
    'approve',
    'Approves a letter. The last approval of a session captures its cards, unless the shop captures them itself.',
  ),
  decision(
    'deny',
    'Denies a letter, and voids the holds of its session. The session is canceled, or opens again for another card if the shopper waits on its page.',
  ),
];

// What follows a line break of the shopper's is marked as a part of the same answer.
function answerLines(name: string, value: string): string[] {
  const [first = '', ...others] = linesOf(value);
  return [`${name}  ${first}`, ...others.map((line) => `    | ${line}`)];
}

function decision(verb: 'approve' | 'deny', summary: string): Command {
  return {
    name: `letters ${verb}`,
    usage: 'LETTER_ID',
    summary: `${summary} Needs ELIGO_REVIEWER_CREDENTIAL; the reviewer’s name, license and state are kept with the decision.`,
    options: {},
    words: ['LETTER_ID'],
    async run({ words: [letterId = ''] }) {
      const body = { letterId, credential: reviewerCredential(), approve: verb === 'approve' };
      const review = reviewOf(await callCheckout('DecideLetter', body));
      return { json: review, lines: [lineOf(review)] };
    },
  };
}

function modeOf(given: Given): 'live' | 'test' {
  const mode = given.needed('mode');
  if (mode !== 'live' && mode !== 'test') throw new UsageError('--mode must be live or test');
  return mode;
}

function countOf(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 100) throw new UsageError('--limit must be 1 to 100');
  return count;
}

function reviewOf({ accountId, letter }: Json) {
  const fields = letter as Json;
  return {
    letter_id: fields.letterId,
    account: accountId,
    mode: fields.testMode === true ? 'test' : 'live',
    status: fields.status,
    product: fields.productId,
    checkout_session: fields.checkoutSessionId,
    expires_at: timeOf(fields.expiresAtMs),
    decided_at: timeOf(fields.decidedAtMs),
    reviewer: (fields.reviewer as { name: string; license: string; state: string } | undefined) ?? null,
  };
}

function lineOf(review: ReturnType<typeof reviewOf>): string {
  const { letter_id, account, status, product, checkout_session, expires_at } = review;
  return [letter_id, status, account, product, checkout_session, `until ${expires_at}`].join('  ');
}

function reviewerLines({ status, decided_at, reviewer }: ReturnType<typeof reviewOf>): string[] {
  if (reviewer === null) return [];
  const { name, license, state } = reviewer;
  return [`${status} ${decided_at}  ${name}  ${state} ${license}`];
}

function timeOf(ms: unknown): string | null {
  return ms === undefined ? null : new Date(Number(ms)).toISOString();
}
