import { create } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import { type CheckoutService, ReviewSchema } from '@eligo/proto/checkout/v1/checkout';
import type { Implementation } from '@eligo/rpc';
import { decideByReviewer, openReview } from '../actions/review-letter.ts';
import { submitLetterAnswers } from '../actions/submit-letter-answers.ts';
import type { Context } from '../context.ts';
import type { Letter } from '../domain/letter.ts';
import { letterWithReviewer } from '../messages/letter.ts';
import { lineItemMessage } from '../messages/line-item.ts';
import { findLetter } from '../store/letters.ts';
import { readReviewQueue, scopeOfLetter } from '../store/review-queue.ts';

const maxPage = 100;

/** Live reviews: what shoppers answer, the queue, and a reviewer's decision. */
export function reviewHandlers(context: Context): Implementation<typeof CheckoutService> {
  const { database } = context;

  async function letterOf(scope: Scope, id: string): Promise<Letter> {
    const letter = await findLetter(database, scope, id);
    if (letter === undefined) throw new Failure('letter_not_found');
    return letter;
  }

  return {
    async submitLetterAnswers({ checkoutSessionId, answers }, { scope }) {
      await submitLetterAnswers(context, scope, checkoutSessionId, answers);
      return {};
    },

    async listReviews({ testMode, limit, startingAfter }) {
      const most = Math.min(Math.max(limit, 1), maxPage);
      const queued = await readReviewQueue(database, testMode, most + 1, await placeOf(startingAfter));
      const reviews = await Promise.all(
        queued.slice(0, most).map(async ({ scope, letterId }) => reviewMessage(scope, await letterOf(scope, letterId))),
      );
      return { reviews, hasMore: queued.length > most };
    },

    async openReview({ letterId, credential }, { requestId }) {
      const { scope, letter, lines, answers, shopperName } = await openReview(context, letterId, credential, requestId);
      const message = reviewMessage(scope, letter);
      message.lines = lines.map(lineItemMessage);
      if (shopperName !== undefined) message.shopperName = shopperName;
      if (answers !== undefined) {
        message.answers = answers.text;
        message.answeredAtMs = BigInt(answers.submittedAt.getTime());
      }
      return message;
    },

    async decideLetter({ letterId, credential, approve }) {
      const verdict = approve ? 'approved' : 'denied';
      const { scope, letter } = await decideByReviewer(context, letterId, credential, verdict);
      return reviewMessage(scope, letter);
    },
  };

  async function placeOf(letterId: string | undefined) {
    if (letterId === undefined) return undefined;
    const scope = await scopeOfLetter(database, letterId);
    if (scope === undefined) throw new Failure('letter_not_found');
    const { reviewUntil } = await letterOf(scope, letterId);
    return { letterId, reviewUntil };
  }
}

function reviewMessage(scope: Scope, letter: Letter) {
  return create(ReviewSchema, { accountId: scope.accountId, letter: letterWithReviewer(scope, letter) });
}
