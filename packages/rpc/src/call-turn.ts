import type { DescMethod, Message } from '@bufbuild/protobuf';
import type { Call } from './call.ts';
import type { StreamHandler } from './implement.ts';

/** The turn of one call. */
export interface CallTurn {
  /** The function that ends the turn, or a promise of it where the turn has to be waited for. Undefined: it needs none. A rejection refuses the call. */
  readonly entered: (() => void) | Promise<() => void> | undefined;
  /** Runs a step of the call's handler. */
  readonly run: <Result>(step: () => Result) => Result;
}

/** Gives an admitted call its turn: undefined when nothing is to be known of it. May throw, which refuses the call. */
export type TakeTurn = (method: DescMethod, call: Call) => CallTurn | undefined;

/** Answers a unary call in its turn. */
export async function inTurn<Answer>(
  turn: CallTurn | undefined,
  call: Call,
  answer: () => Promise<Answer>,
): Promise<Answer> {
  if (turn === undefined) return answer();
  const leave = await beginning(turn, call);
  try {
    return await turn.run(answer);
  } finally {
    leave?.();
  }
}

/** The handler of a stream, which has its turn from the first message to the last. */
export function streamInTurn(takeTurn: TakeTurn, method: DescMethod, handler: StreamHandler): StreamHandler {
  return (request, call) => {
    const turn = takeTurn(method, call);
    return turn === undefined ? handler(request, call) : answersInTurn(turn, request, call, handler);
  };
}

async function* answersInTurn(turn: CallTurn, request: Message, call: Call, handler: StreamHandler) {
  const leave = await beginning(turn, call);
  const answers = turn.run(() => handler(request, call)[Symbol.asyncIterator]());
  try {
    for (;;) {
      const step = await turn.run(() => answers.next());
      if (step.done === true) return;
      yield step.value;
    }
  } finally {
    leave?.();
    await answers.return?.();
  }
}

async function beginning({ entered }: CallTurn, call: Call): Promise<(() => void) | undefined> {
  if (!(entered instanceof Promise)) return entered;
  const leave = await entered;
  if (!call.signal.aborted) return leave;
  leave();
  throw call.signal.reason;
}
