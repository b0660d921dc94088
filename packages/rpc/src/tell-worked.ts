import { createContextKey } from '@connectrpc/connect';

/** Is told for how long the callee of a call worked, together with those that it called in turn: milliseconds of their event loops. */
export type TellWorked = (workedMs: number) => void;

/** Carries who is to be told. A transport whose callee cannot say it tells nothing. */
export const toldOfWork = createContextKey<TellWorked | undefined>(undefined, {
  description: 'who is told for how long the callee worked',
});

/** As it travels: whole microseconds. */
export function usOf(workedMs: number): number {
  return Math.round(workedMs * usOfMs);
}

/** Tells what a callee said. */
export function tellUs(tellWorked: TellWorked | undefined, workedUs: number | undefined): void {
  if (tellWorked !== undefined && workedUs !== undefined && workedUs >= 0) tellWorked(workedUs / usOfMs);
}

const usOfMs = 1_000;
