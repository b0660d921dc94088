import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '@eligo/failures';

/** Another payment holds the customer or the payment method. Thrown out of the transaction, so that nothing of it is left behind. */
export class NotItsTurn extends Failure {
  constructor() {
    super('lock_timeout', { retryAfterSeconds: 1 });
  }
}

const firstPauseMs = 20;
const longestPauseMs = 200;

/**
 * Runs a transaction that takes payment locks; while another payment holds them, again after pauses with jitter, for at most `waitMs`. In between
 * neither a connection nor a row is held. Rejects with the last `NotItsTurn`, and at once with anything else.
 */
export async function awaitTurn<Result>(waitMs: number, claim: () => Promise<Result>): Promise<Result> {
  const giveUpMs = performance.now() + waitMs;
  for (let longestMs = firstPauseMs; ; longestMs = Math.min(longestMs * 2, longestPauseMs)) {
    try {
      return await claim();
    } catch (error) {
      const pauseMs = longestMs * (0.5 + Math.random() / 2);
      if (!(error instanceof NotItsTurn) || performance.now() + pauseMs > giveUpMs) throw error;
      await pause(pauseMs);
    }
  }
}
