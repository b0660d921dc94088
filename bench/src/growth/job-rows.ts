import { serviceNames } from '@eligo/stack';
import { grownTables, type TableRead, type TableReads } from './background.ts';
import { outcomeOf } from './outcome.ts';
import { type GrowthRow, growthGoal } from './row.ts';

const watchedServices = ['gateway', ...serviceNames];
const nameOfJobs = (service: string) => `jobs and relay of ${service}`;
/** The row of the processor time of idle stacks. */
export const idleness = 'jobs and relay in a second without requests';
/** The names of the rows of what runs by itself. */
export const jobNames = [...watchedServices.map(nameOfJobs), idleness];

/** A row for each service: what it reads by itself after a start, beside either account. */
export function jobRows(small: TableReads, large: TableReads, tables: number): GrowthRow[] {
  return watchedServices.map((service) => {
    const ofService = (all: TableReads) => new Map([...all].filter(([table]) => table.startsWith(`${service}.`)));
    const sides = [ofService(small), ofService(large)] as const;
    const [few, many] = [sumOf(sides[0]), sumOf(sides[1])];
    const row = {
      name: nameOfJobs(service),
      part: 'Postgres rows',
      small: few.rows,
      large: many.rows,
      ratio: many.rows / few.rows,
      goal: growthGoal,
      reads: { blocks: [few.blocks, many.blocks], rows: [few.rows, many.rows] },
    } as const;
    return { ...row, grown: outcomeOf(row) === 'within' ? [] : grownTables(...sides, tables) };
  });
}

function sumOf(reads: TableReads): TableRead {
  const sum = (of: (read: TableRead) => number) => [...reads.values()].reduce((total, read) => total + of(read), 0);
  return { rows: sum(({ rows }) => rows), blocks: sum(({ blocks }) => blocks) };
}
