import { closeSync, fdatasync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { Refusal } from '../refusal.ts';

export interface GroupCommit {
  /** Runs `job` in a transaction that others may share; the promise settles when that transaction is on disk. */
  write<Result>(job: () => Result): Promise<Result>;
  /** Settles when everything that can be read now is on disk. */
  durable(): Promise<void>;
  /** Takes no more writes, and settles when those that were taken are on disk: a request whose sender is gone may still be writing. */
  close(): Promise<void>;
}

export type Write = GroupCommit['write'];

/** Bounds how long the event loop is held by one flush; about 20 ms of work. */
const maxJobsPerCommit = 256;

/**
 * Group commit: the writes that arrive while the log is synced share the next transaction, and so the next sync. Each write has a savepoint of its own, so that one that fails takes nothing else with
 * it. A `Refusal` keeps what its job wrote (a decline is a fact); any other error undoes it. If the commit itself fails, every
 * job of the group fails.
 *
 * SQLite runs with synchronous=NORMAL, under which a commit is written to the log but not synced, and the log is synced here,
 * off the event loop, before anybody is answered: as durable as synchronous=FULL, which would hold the loop for each sync
 * (measured: 1.7 times as many payments a second). A log that cannot be synced is the end: nothing is acknowledged after it.
 */
export function groupCommit(db: DatabaseSync, logFile: string): GroupCommit {
  const log = openSync(logFile, 'r+');
  const begin = db.prepare('begin immediate');
  const commit = db.prepare('commit');
  const savepoint = db.prepare('savepoint job');
  const release = db.prepare('release job');
  const queue: Job[] = [];
  let unsynced: Settlement[] = [];
  let syncing: Settlement[] | undefined;
  let broken: Error | undefined;
  let scheduled = false;
  let closed: Promise<void> | undefined;

  function schedule(): void {
    // What comes while the log is synced would wait for the next sync anyway: it is done in one transaction then.
    if (scheduled || syncing !== undefined) return;
    scheduled = true;
    setImmediate(flush);
  }

  function flush(): void {
    scheduled = false;
    const jobs = queue.splice(0, maxJobsPerCommit);
    try {
      if (broken !== undefined) throw broken;
      begin.run();
      const settlements = jobs.map((job) => job.run());
      commit.run();
      unsynced.push(...settlements);
    } catch (error) {
      if (db.isTransaction) db.exec('rollback');
      for (const job of jobs) job.fail(error);
      if (queue.length > 0) schedule();
      return;
    }
    sync();
  }

  function sync(): void {
    if (syncing !== undefined || unsynced.length === 0) return;
    syncing = unsynced;
    unsynced = [];
    fdatasync(log, (error) => {
      const settled = syncing ?? [];
      syncing = undefined;
      if (error !== null) broken = error;
      for (const settlement of settled) {
        if (error === null) settlement.settle();
        else settlement.fail(error);
      }
      sync();
      if (queue.length > 0) schedule();
    });
  }

  function runJob<Result>(
    job: () => Result,
    resolve: (result: Result) => void,
    fail: (error: unknown) => void,
  ): Settlement {
    savepoint.run();
    try {
      const result = job();
      release.run();
      return { settle: () => resolve(result), fail };
    } catch (error) {
      if (!(error instanceof Refusal)) db.exec('rollback to job');
      release.run();
      return { settle: () => fail(error), fail };
    }
  }

  function enqueue<Result>(job: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      queue.push({ run: () => runJob(job, resolve, reject), fail: reject });
      schedule();
    });
  }

  return {
    write: (job) => (closed === undefined ? enqueue(job) : Promise.reject(new Error('The store is closed'))),
    durable: () =>
      new Promise((resolve, reject) => {
        if (broken !== undefined) reject(broken);
        else if (unsynced.length > 0) unsynced.push({ settle: resolve, fail: reject });
        else if (syncing !== undefined) syncing.push({ settle: resolve, fail: reject });
        else resolve();
      }),
    close: () => {
      // Writes are done in their order, so the last one's end is the end of all.
      closed ??= enqueue(() => undefined).finally(() => closeSync(log));
      return closed;
    },
  };
}

interface Settlement {
  settle(): void;
  fail(error: unknown): void;
}

interface Job {
  run(): Settlement;
  fail(error: unknown): void;
}
