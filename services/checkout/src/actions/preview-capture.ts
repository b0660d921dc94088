import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { CaptureInstruction } from '../domain/capture-allocation.ts';
import { refusalToCapture } from '../domain/capture-rules.ts';
import { loadSession } from '../store/sessions.ts';
import { planCapture } from './request-capture.ts';
import { requireSeveralCaptures } from './require-several-captures.ts';

/** What a capture would take of one card. */
export interface PreviewedCard {
  readonly paymentIntentId: string;
  readonly paymentMethodId: string;
  readonly last4: string;
  readonly amountCents: number;
}

/** Shows how a capture would be divided over the cards of a session. Throws what the capture would, and asks the processor what it would ask. */
export async function previewCapture(
  context: Context,
  scope: Scope,
  sessionId: string,
  instruction: CaptureInstruction,
): Promise<PreviewedCard[]> {
  const deadlineMs = performance.now() + context.budgets.callMs;
  const { database } = context;
  const session = await loadSession(database, scope, sessionId);
  if (session === undefined) throw new Failure('checkout_session_not_found');
  const refusal = refusalToCapture(session);
  if (refusal !== undefined) throw refusal;
  const { allocation, cards } = await planCapture(database, scope, { session, cause: 'session', instruction });
  const kept = new Set(allocation.cards.filter(({ endsHold }) => !endsHold).map(({ intent }) => intent.id));
  const keptCards = cards.filter(({ intent }) => kept.has(intent.id));
  await requireSeveralCaptures(context, scope, keptCards, deadlineMs);
  return allocation.cards.map(({ intent, amount }) => ({
    paymentIntentId: intent.id,
    paymentMethodId: intent.paymentMethodId ?? '',
    last4: cards.find((card) => card.intent.id === intent.id)?.last4 ?? '',
    amountCents: amount,
  }));
}
