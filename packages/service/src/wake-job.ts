import { afterCommit, type Database, type Tx } from '@eligo/postgres';
import type { RunningJobs } from './jobs.ts';

/**
 * Has a job of the service that this transaction belongs to run once the transaction has committed, in `inMs` at the latest: whoever writes a row
 * that a job looks for calls it with the time until the row is due. The wake is lost with the process; the job's `everyMs` then finds the row.
 */
export function wakeJobAfterCommit(tx: Tx, job: string, inMs = 0): void {
  afterCommit(tx, () => jobsByDatabase.get(tx.database)?.wake(job, inMs));
}

/** Makes these the jobs that commits of this database wake. */
export function wakeJobsOf(database: Database, jobs: RunningJobs): void {
  jobsByDatabase.set(database, jobs);
}

// A test of an action has a database but no jobs to wake.
const jobsByDatabase = new WeakMap<Database, RunningJobs>();
