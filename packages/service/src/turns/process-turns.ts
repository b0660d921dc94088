import { CostBudgets } from './cost-budgets.ts';
import { CostMeter } from './cost-meter.ts';
import { LoopLoad } from './loop-load.ts';
import { Neighbors } from './neighbors.ts';
import { WorkElsewhere } from './work-elsewhere.ts';

/** What the components of one process share to hold its accounts apart. */
export interface ProcessTurns {
  readonly neighbors: Neighbors;
  readonly budgets: CostBudgets;
  readonly meter: CostMeter;
}

/** The turns of this process, whose event loop all of its components share. */
export function processTurns(): ProcessTurns {
  ofThisProcess ??= turnsBy(new LoopLoad());
  return ofThisProcess;
}

function turnsBy(load: LoopLoad): ProcessTurns {
  const elsewhere = new WorkElsewhere();
  const neighbors = new Neighbors({
    isBusy: () => load.isBusy(),
    utilization: () => load.utilization + elsewhere.utilization,
  });
  const budgets = new CostBudgets(neighbors);
  return { neighbors, budgets, meter: new CostMeter(neighbors, budgets, elsewhere) };
}

let ofThisProcess: ProcessTurns | undefined;
