import type pg from 'pg';
import type { Place } from './operations/sessions.ts';
import type { Sizes } from './options.ts';
import type { Bare } from './processes/bare.ts';
import type { Floor } from './processes/floor.ts';
import type { LoadGenerator, LoadResult } from './processes/generator.ts';
import type { Receiver } from './processes/receiver.ts';
import type { Replay } from './processes/replay.ts';
import type { Worker } from './processes/worker.ts';
import type { Recordings } from './recording/record-operations.ts';
import type { Pace, Side } from './rounds.ts';
import type { BenchAccount } from './seed/accounts.ts';
import type { Renewals } from './seed/renewals.ts';
import type { BenchShop } from './seed/shop.ts';
import type { StackProcess } from './stack-process.ts';

/** What an operation measures with: a running stack, the load, and what was prepared. */
export interface Bench {
  readonly stack: StackProcess;
  readonly sizes: Sizes;
  /** Connected as the superuser, for looking and for seeding. */
  readonly postgres: pg.Pool;
  readonly load: Worker<LoadGenerator>;
  readonly receiver: Worker<Receiver>;
  /** Starts a baseline; it is stopped when the operation has been measured. */
  startBare(): Promise<Worker<Bare>>;
  startReplay(): Promise<Worker<Replay>>;
  startFloor(): Promise<Worker<Floor>>;
  /** Where the stub processor listens. */
  readonly processorPort: number;
  readonly processorPid: number;
  /** Has the stub processor take so long for each answer. */
  slowProcessor(delayMs: number): Promise<void>;
  /** Accounts with as many prices as the sizes say; made when they are first asked for. */
  priceAccount(size: 0 | 1 | 2): Promise<BenchAccount>;
  shop(): Promise<BenchShop>;
  /** As many subscriptions as the sizes say; made when they are first asked for. */
  renewals(): Promise<Renewals>;
  /** Runs this while the stack's own processes stand still. */
  frozen<Result>(work: () => Promise<Result>): Promise<Result>;
  recordings(): Recordings;
}

/** The pool of each component, which the baselines' pools match. */
export const poolSize = 10;

/** Sends these requests over and over for a round. */
export function loadShared(bench: Bench, port: number, texts: readonly string[]): Promise<LoadResult> {
  const { connections, seconds } = bench.sizes;
  return bench.load.ask('run', { port, connections, requests: { kind: 'shared', texts, seconds } });
}

/** Requests over and over as one side of a comparison. */
export function sharedSide(bench: Bench, port: number, texts: readonly string[]): Side {
  return { round: () => loadShared(bench, port, texts) };
}

/** How often reads are measured. */
export function readPace({ sizes }: Bench): Pace {
  return { rounds: sizes.rounds, warmUp: sizes.warmUp.reads };
}

/** Where the stack's writes are sent to. */
export async function placeOf(bench: Bench): Promise<Place> {
  const { load, stack } = bench;
  return { load, port: stack.port, apiKey: stack.file.test_api_key, shop: await bench.shop() };
}
