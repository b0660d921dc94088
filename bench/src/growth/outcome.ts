import { isExcepted } from './exceptions.ts';
import type { GrowthRow } from './row.ts';

/** Which side of its goal a row is on, with a confidence of 95 %; `excepted` is over it for a stated reason. */
export type GrowthOutcome = 'within' | 'over' | 'undecided' | 'excepted';

/** What a row says. A ratio whose uncertainty reaches across the goal is undecided: it has not passed. */
export function outcomeOf(row: GrowthRow): GrowthOutcome {
  const outcome = sideOfGoal(row);
  return outcome !== 'within' && isExcepted(row) ? 'excepted' : outcome;
}

/** The side of the goal that a ratio is certainly on. */
export function sideOfGoal({
  ratio,
  within = 0,
  goal,
}: Pick<GrowthRow, 'ratio' | 'within' | 'goal'>): 'within' | 'over' | 'undecided' {
  if (ratio + within <= goal) return 'within';
  return ratio - within > goal ? 'over' : 'undecided';
}
