import type { Neighbors } from './neighbors.ts';
import type { TurnCaller } from './turn-caller.ts';
import type { Leave } from './waiting-lines.ts';

/** A line of requests or calls in which one waits for its turn. */
export interface TurnLine {
  enter(caller: TurnCaller): Leave | Promise<Leave>;
}

/** Enters the line as one that is present from now on: `neighbors.left` is for the caller to say once it is over. One that is refused has left. */
export function enterPresent(neighbors: Neighbors, caller: TurnCaller, line: TurnLine): Leave | Promise<Leave> {
  neighbors.arrived(caller);
  const refused = (error: unknown): never => {
    neighbors.left(caller);
    throw error;
  };
  try {
    const entered = line.enter(caller);
    return entered instanceof Promise ? entered.catch(refused) : entered;
  } catch (error) {
    return refused(error);
  }
}
