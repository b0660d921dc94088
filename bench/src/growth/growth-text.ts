import { rounded, tableText } from '../table.ts';
import type { GrowthReport, GrowthRow } from './run-growth.ts';

/** The rows as a table for people, those that grow marked; then what could not be measured, and what is not. */
export function growthText({ rows, failures, notMeasured }: GrowthReport): string {
  const head = ['Operation', 'Of', 'Large ÷ small', 'Goal', 'Small', 'Large'];
  const line = ({ name, part, ratio, goal, small, large }: GrowthRow) => [
    ...[name, part, `${rounded(ratio)}${grows({ ratio, goal }) ? ' ✗' : ''}`, rounded(goal)],
    ...[small, large].map((cost) => (part === 'Postgres blocks' ? String(Math.round(cost)) : `${cost.toFixed(3)} ms`)),
  ];
  return [
    tableText(head, rows.map(line)),
    ...failures.map((failure) => `FAILED ${failure}`),
    ...Object.entries(notMeasured).map(([name, why]) => `not measured: ${name}: ${why}`),
  ].join('\n');
}

/** Whether a row is past its goal. */
export function grows({ ratio, goal }: Pick<GrowthRow, 'ratio' | 'goal'>): boolean {
  return !(ratio <= goal);
}
