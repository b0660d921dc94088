import type { WriteCosts } from './costs/write-costs.ts';

/** How a stack is laid out: everything in one process, or each component in its own over gRPC. */
export type Topology = 'all-in-one' | 'split';

export const topologies = ['all-in-one', 'split'] as const;

/** A figure to reach: its operation, what it is held against, and the least (or for times and memory the most) that is good. */
export interface Figure {
  readonly operation: string;
  readonly against: string;
  readonly goals: Readonly<Partial<Record<Topology, number>>>;
  readonly unit: string;
  /** Whether the measure must reach the goal or stay below it. */
  readonly wanted: 'at least' | 'at most';
}

const ratio = { unit: 'per second', wanted: 'at least' } as const;

/** The figures, in the order in which they are printed. */
export const figures = {
  'read-price': { ...ratio, against: 'bare', goals: { 'all-in-one': 0.6, split: 0.35 } },
  'read-price-10k': { ...ratio, against: 'bare', goals: { 'all-in-one': 0.6, split: 0.35 } },
  'read-price-1m': { ...ratio, against: 'bare', goals: { 'all-in-one': 0.6, split: 0.35 } },
  'list-prices': { ...ratio, against: 'bare', goals: { 'all-in-one': 0.6, split: 0.35 } },
  'list-prices-10k': { ...ratio, against: 'bare', goals: { 'all-in-one': 0.6, split: 0.35 } },
  'list-prices-1m': { ...ratio, against: 'bare', goals: { 'all-in-one': 0.6, split: 0.35 } },
  'list-prices-large': { ...ratio, against: 'the same page of 10,000', goals: { 'all-in-one': 0.85, split: 0.85 } },
  'list-prices-deep': { ...ratio, against: 'the first page of 10,000', goals: { 'all-in-one': 0.85, split: 0.85 } },
  'create-session': { ...ratio, against: 'limit', goals: { 'all-in-one': 0.5, split: 0.3 } },
  confirm: { ...ratio, against: 'limit', goals: { 'all-in-one': 0.5, split: 0.35 } },
  refund: { ...ratio, against: 'limit', goals: { 'all-in-one': 0.5, split: 0.35 } },
  capture: { ...ratio, against: 'confirm', goals: { 'all-in-one': 0.7, split: 0.7 } },
  'page-load': { ...ratio, against: 'confirm', goals: { 'all-in-one': 1, split: 1 } },
  'page-pay': { ...ratio, against: 'confirm', goals: { 'all-in-one': 0.7, split: 0.7 } },
  'page-pay-two': { ...ratio, against: 'confirm', goals: { 'all-in-one': 0.7, split: 0.7 } },
  'create-session-floor': { ...ratio, against: 'floor', goals: { 'all-in-one': 0.4, split: 0.25 } },
  'confirm-floor': { ...ratio, against: 'floor', goals: { 'all-in-one': 0.25, split: 0.18 } },
  'confirm-floor-calls': { ...ratio, against: 'floor with calls', goals: { 'all-in-one': 0.25, split: 0.18 } },
  'refund-floor': { ...ratio, against: 'floor', goals: { 'all-in-one': 0.25, split: 0.18 } },
  'refund-floor-calls': { ...ratio, against: 'floor with calls', goals: { 'all-in-one': 0.25, split: 0.18 } },
  'renewal-floor': { ...ratio, against: 'floor', goals: { 'all-in-one': 0.25, split: 0.18 } },
  'renewal-floor-calls': { ...ratio, against: 'floor with calls', goals: { 'all-in-one': 0.25, split: 0.18 } },
  'renewal-flat': { ...ratio, against: '1,000 due', goals: { 'all-in-one': 0.85, split: 0.85 } },
  'renewal-memory': { unit: 'MB', wanted: 'at most', against: '1,000 due', goals: { 'all-in-one': 1.15, split: 1.15 } },
  'renewal-two': { ...ratio, against: 'one billing', goals: { split: 1.7 } },
  'renewal-read-price': { ...ratio, against: 'nothing due', goals: { 'all-in-one': 0.7, split: 0.7 } },
  'renewal-list-prices': { ...ratio, against: 'nothing due', goals: { 'all-in-one': 0.7, split: 0.7 } },
  'renewal-list-subscriptions': { ...ratio, against: 'nothing due', goals: { 'all-in-one': 0.7, split: 0.7 } },
  'renewal-list-invoices': { ...ratio, against: 'nothing due', goals: { 'all-in-one': 0.7, split: 0.7 } },
  webhook: { unit: 'ms (p99)', wanted: 'at most', against: 'goal', goals: { 'all-in-one': 250, split: 300 } },
  'keep-up': { unit: 'ms (p99)', wanted: 'at most', against: 'goal', goals: { 'all-in-one': 1_000, split: 1_000 } },
  'processor-events': { ...ratio, against: 'goal', goals: { 'all-in-one': 500, split: 500 } },
  'processor-events-p99': {
    ...{ unit: 'ms (p99)', wanted: 'at most', against: 'goal' },
    goals: { 'all-in-one': 250, split: 300 },
  },
  latency: { unit: 'ms', wanted: 'at most', against: 'p50', goals: { 'all-in-one': 5, split: 5 } },
  start: { unit: 's', wanted: 'at most', against: 'goal', goals: { 'all-in-one': 4, split: 8 } },
  'idle-statements': { unit: 'per second', wanted: 'at most', against: 'goal', goals: { 'all-in-one': 2, split: 2 } },
  memory: { unit: 'MB', wanted: 'at most', against: 'goal', goals: { 'all-in-one': 200, split: 650 } },
} as const satisfies Record<string, Omit<Figure, 'operation'>>;

export type Operation = keyof typeof figures;

export const operations = Object.keys(figures) as Operation[];

/** Operations that are asked for by one name. */
export const groups: Readonly<Record<string, readonly Operation[]>> = {
  catalog: operations.filter((operation) => /^(read|list)-price/.test(operation)),
  floor: operations.filter((operation) => /-floor/.test(operation)),
  renewal: operations.filter((operation) => operation.startsWith('renewal')),
};

/** What was measured. `ratio` is what is held against `goal`: ours by theirs, or the measure itself where there is nothing to divide by. */
export interface Row {
  readonly operation: Operation;
  readonly topology: Topology;
  readonly against: string;
  readonly ratio: number;
  readonly goal: number;
  readonly ours: number;
  readonly theirs: number;
  readonly unit: string;
  /** Of a write: what one of it costs. */
  readonly costs?: WriteCosts;
}

/** The row of a measure. */
export function rowOf(
  operation: Operation,
  topology: Topology,
  measured: { readonly ratio: number; readonly ours: number; readonly theirs: number },
): Row {
  const { against, goals, unit }: Omit<Figure, 'operation'> = figures[operation];
  const goal = goals[topology];
  if (goal === undefined) throw new Error(`${operation} has no figure for ${topology}`);
  return { operation, topology, against, ...measured, goal, unit };
}

/** Whether a row reaches its goal. */
export function isReached({ operation, ratio, goal }: Row): boolean {
  return figures[operation].wanted === 'at least' ? ratio >= goal : ratio <= goal;
}

/** The topologies for which an operation has a figure. */
export function topologiesOf(operation: Operation): Topology[] {
  return topologies.filter((topology) => topology in figures[operation].goals);
}
