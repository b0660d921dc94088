/** The states of a record and the moves between them. */
export interface StateTable<State extends string> {
  readonly states: readonly State[];
  canMove(from: State, to: State): boolean;
  /** Throws `IllegalMove`, which is a bug and not a refusal: the caller decides beforehand what to refuse. */
  assertMove(from: State, to: State): void;
  isState(text: string): text is State;
  /** The states from which no move leads on. */
  readonly terminal: readonly State[];
}

/** A move that the record's table does not hold. */
export class IllegalMove extends Error {
  readonly from: string;
  readonly to: string;

  constructor(from: string, to: string) {
    super(`No transition from ${from} to ${to}`);
    this.name = 'IllegalMove';
    this.from = from;
    this.to = to;
  }
}

/** Declares a record's states, each with those that it may move to: `stateTable({ open: ['paid'], paid: [] })`. */
export function stateTable<State extends string>(
  moves: {
    readonly [From in State]: readonly NoInfer<State>[];
  },
): StateTable<State> {
  const states = Object.keys(moves) as State[];
  const canMove = (from: State, to: State): boolean => moves[from]?.includes(to) ?? false;
  return {
    states,
    terminal: states.filter((state) => moves[state].length === 0),
    canMove,
    assertMove(from, to) {
      if (!canMove(from, to)) throw new IllegalMove(from, to);
    },
    isState: (text): text is State => Object.hasOwn(moves, text),
  };
}
