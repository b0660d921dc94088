import type { ProcessorTime } from '../costs/processor-time.ts';
import { ownTime, serverGroups } from '../costs/stack-groups.ts';
import type { CountedStatement } from '../costs/statements.ts';
import { rounded, tableText } from '../table.ts';
import type { ComparisonRow, SideCosts } from './run-comparison.ts';

/** A whole comparison. `run` says of which commit the present code is, for a document that outlives the run. */
export function comparisonReport(run: string, rows: readonly ComparisonRow[], statements: number): string {
  const texts = [`present: ${run}`, comparisonText(rows), processesText(rows)];
  if (statements > 0) texts.push(statementsText(rows, statements));
  return texts.filter(Boolean).join('\n\n');
}

/** A comparison as tables for people: a line for each side of each operation, and what the ratio of the two is. */
export function comparisonText(rows: readonly ComparisonRow[]): string {
  const head = [
    ...['Operation', 'Topology', 'Code', 'Per second', 'Sustained', 'CPU ms', 'Eligo', 'Postgres', 'NATS', 'Processor'],
    ...['Writing txs', 'Statements', 'Nested', 'WAL kB'],
  ];
  const lines = rows.flatMap((row) => [
    sideLine(row, row.ours),
    sideLine(row, row.theirs),
    [
      row.operation,
      row.topology,
      'ratio',
      rounded(row.ratio),
      rounded(row.sustainedRatio),
      ...head.slice(5).map(() => ''),
    ],
  ]);
  return tableText(head, lines);
}

function sideLine({ operation, topology }: ComparisonRow, side: SideCosts): string[] {
  const { processorMs } = side;
  const of = (name: string) => processorMs[name] ?? 0;
  const figures = [
    ...[side.perSecond, side.sustainedPerSecond, total(processorMs), eligo(processorMs), ...serverGroups.map(of)],
    ...[side.transactions, side.statements.sent, side.statements.nested, side.walBytes / 1_000],
  ];
  return [operation, topology, side.name, ...figures.map(rounded)];
}

/** Each process of Eligo's own, where there are several. */
function processesText(rows: readonly ComparisonRow[]): string {
  const lines = rows.flatMap((row) =>
    [row.ours, row.theirs].flatMap(({ name, processorMs }) => {
      const own = ownTime(processorMs);
      if (own.length < 2) return [];
      const parts = own.map(([group, ms]) => `${group} ${rounded(ms)}`).join(', ');
      return [`${row.operation}, ${name}, CPU ms: ${parts}`];
    }),
  );
  return lines.join('\n');
}

/** The statements that take longest on either side. */
function statementsText(rows: readonly ComparisonRow[], count: number): string {
  return rows
    .flatMap((row) =>
      [row.ours, row.theirs].map(({ name, statements }) =>
        [
          `${row.operation}, ${row.topology}, ${name}: calls and milliseconds of one operation`,
          ...statements.list.slice(0, count).map(statementLine),
        ].join('\n'),
      ),
    )
    .join('\n\n');
}

function statementLine({ role, text, calls, totalMs, isSent }: CountedStatement): string {
  const [times, ms] = [calls.toFixed(2).padStart(7), totalMs.toFixed(3).padStart(8)];
  return `${times} ${ms} ${isSent ? ' ' : '↳'} ${role}: ${text.replace(/\s+/g, ' ').trim().slice(0, 160)}`;
}

function total(processorMs: ProcessorTime): number {
  return Object.values(processorMs).reduce((sum, ms) => sum + ms, 0);
}

function eligo(processorMs: ProcessorTime): number {
  return ownTime(processorMs).reduce((sum, [, ms]) => sum + ms, 0);
}
