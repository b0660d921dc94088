import type { DescMethod, Message } from '@bufbuild/protobuf';
import type { Call } from './call.ts';
import type { StreamHandler } from './implement.ts';
import type { TellWorked } from './tell-worked.ts';

/** The turn of one call. */
export interface CallTurn {
  /** The function that ends the turn, or a promise of it where the turn has to be waited for. Undefined: it needs none. A rejection refuses the call. */
  readonly entered: (() => void) | Promise<() => void> | undefined;
  /** Runs a step of the call's handler. */
  readonly run: <Result>(step: () => Result) => Result;
  /** Called before a stream waits for its caller to read. Returns the function to call when the stream continues. */
  readonly awaitsReader?: (() => () => void) | undefined;
  /** For how long the call was worked on, by those that it called, too: milliseconds, undefined where it is not known. */
  readonly workedMs?: (() => number | undefined) | undefined;
}

/**
 * Gives an admitted call its turn: undefined when nothing is to be known of it. May throw, which refuses the call. Of one that `isMeasured` the caller wants to know for how
 * long it is worked on.
 */
export type TakeTurn = (method: DescMethod, call: Call, isMeasured: boolean) => CallTurn | undefined;

/** Answers a unary call in its turn. */
export async function inTurn<Answer>(
  turn: CallTurn | undefined,
  call: Call,
  answer: () => Promise<Answer>,
  tellWorked: TellWorked | undefined,
): Promise<Answer> {
  if (turn === undefined) return answer();
  const leave = await beginning(turn, call);
  try {
    return await turn.run(answer);
  } finally {
    tell(turn, tellWorked);
    leave?.();
  }
}

/** The handler of a stream, which has its turn from the first message to the last. */
export function streamInTurn(
  takeTurn: TakeTurn,
  method: DescMethod,
  handler: StreamHandler,
  tellWorked: TellWorked | undefined,
): StreamHandler {
  return (request, call) => {
    const turn = takeTurn(method, call, tellWorked !== undefined);
    return turn === undefined ? handler(request, call) : answersInTurn(turn, request, call, handler, tellWorked);
  };
}

async function* answersInTurn(
  turn: CallTurn,
  request: Message,
  call: Call,
  handler: StreamHandler,
  tellWorked: TellWorked | undefined,
) {
  const leave = await beginning(turn, call);
  const answers = turn.run(() => handler(request, call)[Symbol.asyncIterator]());
  try {
    for (;;) {
      const step = await turn.run(() => answers.next());
      if (step.done === true) return;
      const resume = turn.awaitsReader?.();
      try {
        yield step.value;
      } finally {
        resume?.();
      }
    }
  } finally {
    tell(turn, tellWorked);
    leave?.();
    await answers.return?.();
  }
}

function tell({ workedMs }: CallTurn, tellWorked: TellWorked | undefined): void {
  const worked = workedMs?.();
  if (worked !== undefined) tellWorked?.(worked);
}

async function beginning({ entered }: CallTurn, call: Call): Promise<(() => void) | undefined> {
  if (!(entered instanceof Promise)) return entered;
  const leave = await entered;
  if (!call.signal.aborted) return leave;
  leave();
  throw call.signal.reason;
}
