import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { CaptureInstruction } from '../domain/capture-allocation.ts';
import { refusalToCapture } from '../domain/capture-rules.ts';
import { loadSession } from '../store/sessions.ts';
import { planCapture } from './request-capture.ts';

/** What a capture would take of one card. */
export interface PreviewedCard {
  readonly paymentIntentId: string;
  readonly paymentMethodId: string;
  readonly last4: string;
  readonly amountCents: number;
}

/** Shows how a capture would be divided over the cards of a session. Throws what the capture would, as far as our own records tell. */
export async function previewCapture(
  { database }: Pick<Context, 'database'>,
  scope: Scope,
  sessionId: string,
  instruction: CaptureInstruction,
): Promise<PreviewedCard[]> {
  const session = await loadSession(database, scope, sessionId);
  if (session === undefined) throw new Failure('checkout_session_not_found');
  const refusal = refusalToCapture(session);
  if (refusal !== undefined) throw refusal;
  const { allocation, cards } = await planCapture(database, scope, { session, cause: 'session', instruction });
  return allocation.cards.map(({ intent, amount }) => ({
    paymentIntentId: intent.id,
    paymentMethodId: intent.paymentMethodId ?? '',
    last4: cards.find((card) => card.intent.id === intent.id)?.last4 ?? '',
    amountCents: amount,
  }));
}
