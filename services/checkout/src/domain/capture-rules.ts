import { Failure } from '@eligo/failures';
import { awaitsLetters } from './letter.ts';
import type { Session } from './session.ts';

/** Why a partner may not capture a session now, or undefined when it is authorized and not fully captured. */
export function refusalToCapture(session: Session): Failure | undefined {
  switch (session.status) {
    case 'complete':
      return new Failure('checkout_session_already_processed');
    case 'canceled':
      return new Failure('checkout_session_canceled');
    case 'expired':
      return new Failure('checkout_session_expired');
    case 'open':
      return new Failure('checkout_session_not_capturable', {
        detail: 'The cards of this checkout session are not authorized yet.',
      });
    case 'paid':
      return awaitsLetters(session)
        ? new Failure('checkout_session_not_capturable', {
            detail: 'A letter of medical necessity of this checkout session is not approved yet.',
          })
        : undefined;
  }
}

/** The failure code of a capture that the processor refused while the hold stays as it is. */
export const refusedByProcessor = 'refused_by_processor';

/** The answer for a capture of which nothing was captured. */
export function refusalOfFailed(failureCode: string | null): Failure {
  return new Failure('checkout_session_not_capturable', {
    detail:
      failureCode === refusedByProcessor
        ? 'The processor refused the capture, so nothing was captured. The cards are still held.'
        : 'The hold of a card has expired or was canceled, so nothing was captured.',
  });
}
