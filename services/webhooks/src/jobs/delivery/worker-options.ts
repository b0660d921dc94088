import type { KeyObject } from 'node:crypto';
import type { Database, Scope } from '@eligo/postgres';
import type { Clock } from '@eligo/values';
import type { DeliveryShare } from '../../context.ts';
import type { AttemptResult } from '../../domain/delivery.ts';
import type { LaneLimits } from './lanes.ts';
import type { Poster } from './post.ts';

/** What the worker needs. */
export interface DeliveryWorkerOptions {
  readonly database: Database;
  readonly poster: Poster;
  /** The signing key behind a sealed secret. */
  readonly openKey: (scope: Scope, sealed: string) => KeyObject;
  readonly clock: Clock;
  readonly share: DeliveryShare;
  /** Told of what failed inside; what a receiver did wrong is recorded with the delivery instead. */
  readonly onError: (error: unknown, where: string) => void;
  /** Told of every attempt, for metrics. */
  readonly onAttempt?: (result: AttemptResult) => void;
  /** Runs an attempt in a span that continues its event's trace; absent, it just runs. */
  readonly traced?: <Result>(name: string, traceparent: string, work: () => Promise<Result>) => Promise<Result>;
  /** A point at which tests stop the process. */
  readonly failpoint?: (name: string) => Promise<void> | void;
  /** Told in how many milliseconds a delivery is to be tried again: a sweep is wanted by then. */
  readonly onDue?: (inMs: number) => void;
  readonly limits?: Partial<LaneLimits>;
  readonly leaseMs?: number;
  readonly random?: () => number;
}
