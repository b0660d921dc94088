/** One row: what one operation costs in the large account by what it costs in the small one. */
export interface GrowthRow {
  readonly name: string;
  readonly part: 'Postgres' | 'Eligo' | 'Postgres rows';
  readonly small: number;
  readonly large: number;
  readonly ratio: number;
  /** How far the true ratio may be from it either way; of rows nothing is uncertain. */
  readonly within?: number;
  readonly goal: number;
  /** Blocks that Postgres reads for one operation, and rows that its statements answer or change; of jobs, rows and entries of indexes that they read. */
  readonly reads?: { readonly blocks: readonly [number, number]; readonly rows: readonly [number, number] };
  /** Of a row past its goal: the statements or tables of which most more is read. */
  readonly grown?: readonly string[];
}

/** Large ÷ small, at most. */
export const growthGoal = 1.15;

/** A row that cannot be measured is one that has to be looked at: it is reported with what went wrong, and the others go on. */
export interface GrowthReport {
  readonly rows: readonly GrowthRow[];
  readonly failures: readonly string[];
  readonly notMeasured: Readonly<Record<string, string>>;
}

/** Whether a row is past its goal. */
export function grows({ ratio, goal }: Pick<GrowthRow, 'ratio' | 'goal'>): boolean {
  return !(ratio <= goal);
}
