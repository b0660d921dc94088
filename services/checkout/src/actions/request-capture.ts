import { Failure } from '@eligo/failures';
import type { Db, Scope, Tx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { CaptureCause } from '../domain/capture.ts';
import {
  allHeld,
  allocateCapture,
  type CaptureAllocation,
  type CaptureInstruction,
  maxCaptures,
} from '../domain/capture-allocation.ts';
import type { Session } from '../domain/session.ts';
import {
  type CaptureStanding,
  type HeldCard,
  insertCapture,
  loadCaptureStanding,
  loadHeldCards,
} from '../store/captures.ts';
import type { IntentOperation } from '../store/intent-operations.ts';
import { loadLineTenders } from '../store/line-tenders.ts';
import { loadSessionLines } from '../store/session-lines.ts';

/** What is to be captured of a session, and by whose word. */
export interface CaptureRequest {
  readonly session: Session;
  readonly cause: CaptureCause;
  readonly instruction: CaptureInstruction;
  /** Only the hold of this intent, and all of it: what is not captured is released. */
  readonly intentId?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly at: Date;
}

/** A capture as it would be made now. */
export interface PlannedCapture {
  readonly allocation: CaptureAllocation;
  readonly cards: readonly HeldCard[];
  readonly standing: CaptureStanding;
}

/**
 * Requests the capture of everything that a session holds, for an approved letter. It is carried out at the processor after the commit, by the
 * sweeper: the session becomes complete, or, if a hold is lost by then, canceled and refunded (decisions 14.29). Throws
 * `checkout_session_not_capturable` when nothing is held. The caller holds the session's row, and may change and save the session before.
 */
export async function requestCaptureOfHolds(tx: Tx, scope: Scope, session: Session, at: Date): Promise<void> {
  const request: CaptureRequest = { session, cause: 'letter', instruction: allHeld, at };
  const { allocation } = await planCapture(tx, scope, request);
  await writeCapture(tx, scope, request, allocation, { id: newId('capture'), leaseMs: 0 });
}

/**
 * Allocates a capture over the lines and cards of a session, of which the caller holds the row. Throws what `allocateCapture` throws; to a partner
 * `lock_timeout` while another capture or a payment is unsettled, because only then is it known what remains.
 */
export async function planCapture(
  db: Db,
  scope: Scope,
  { session, cause, instruction, intentId }: Pick<CaptureRequest, 'session' | 'cause' | 'instruction' | 'intentId'>,
): Promise<PlannedCapture> {
  const [cards, standing, lines, tenders] = await Promise.all([
    loadHeldCards(db, scope, session.id),
    loadCaptureStanding(db, scope, session.id),
    loadSessionLines(db, scope, session.id),
    loadLineTenders(db, scope, session.id),
  ]);
  if ((cause === 'session' || cause === 'payment_intent') && (standing.isCapturing || standing.isPaying)) {
    throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
  }
  const intents = cards.map(({ intent }) => intent);
  const allocation = allocateCapture(
    { session, lines, intents, tenders, captured: standing.captured },
    instruction,
    intentId,
  );
  if (!allocation.isFinal && standing.captures >= maxCaptures - 1) {
    throw new Failure('multiple_captures_not_supported', {
      detail: `A session has at most ${maxCaptures} captures, and the last one must be final.`,
    });
  }
  return { allocation, cards, standing };
}

/** Writes a capture down. Returns its first operation at the processor, under a lease, or with `leaseMs` 0 for the sweeper. */
export async function writeCapture(
  tx: Tx,
  scope: Scope,
  { session, cause, metadata = {}, at }: CaptureRequest,
  allocation: CaptureAllocation,
  { id, leaseMs }: { readonly id: string; readonly leaseMs: number },
): Promise<IntentOperation | undefined> {
  return insertCapture(tx, scope, { id, sessionId: session.id, cause, allocation, metadata, at }, leaseMs);
}
