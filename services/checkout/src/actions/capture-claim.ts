import type { KeyUse } from '@eligo/postgres';
import type { ProcessorAccount } from '@eligo/values';
import type { CaptureInstruction } from '../domain/capture-allocation.ts';
import type { Session } from '../domain/session.ts';
import type { NewCapture } from '../store/captures.ts';
import type { HeldCharge } from '../store/captures-together.ts';
import type { IntentOperation } from '../store/intent-operations.ts';

/** A partner's request for a capture of a session. */
export interface CaptureToClaim {
  readonly sessionId: string;
  readonly instruction: CaptureInstruction;
  readonly metadata: Readonly<Record<string, string>>;
  readonly use: KeyUse;
  readonly isDown: (account: ProcessorAccount | null) => boolean;
}

/** A capture that takes all that its session holds, as its claim has read and written it. */
export interface ClaimedCapture {
  readonly session: Session;
  readonly capture: NewCapture;
  readonly held: HeldCharge;
  readonly operation: IntentOperation;
}
