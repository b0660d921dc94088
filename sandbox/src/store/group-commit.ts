import type { DatabaseSync } from 'node:sqlite';
import { Refusal } from '../refusal.ts';

/** Runs `job` in a transaction that others may share; the promise settles when that transaction is on disk. */
export type Write = <Result>(job: () => Result) => Promise<Result>;

/** Bounds how long the event loop is held by one flush; about 20 ms of work. */
const maxJobsPerCommit = 256;

/**
 * Group commit: the writes that arrive in one turn of the event loop share one transaction and one fsync. Each has a
 * savepoint of its own, so that one that fails takes nothing else with it. A `Refusal` keeps what its job wrote (a decline
 * is a fact); any other error undoes it. If the commit itself fails, every job of the group fails.
 */
export function groupCommit(db: DatabaseSync): Write {
  const queue: (() => () => void)[] = [];
  const failures: ((error: unknown) => void)[] = [];
  let scheduled = false;

  function flush(): void {
    scheduled = false;
    const jobs = queue.splice(0, maxJobsPerCommit);
    const rejects = failures.splice(0, maxJobsPerCommit);
    if (queue.length > 0) schedule();
    let settle: (() => void)[];
    try {
      db.exec('begin immediate');
      settle = jobs.map((run) => run());
      db.exec('commit');
    } catch (error) {
      if (db.isTransaction) db.exec('rollback');
      for (const reject of rejects) reject(error);
      return;
    }
    for (const answer of settle) answer();
  }

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(flush);
  }

  return (job) =>
    new Promise((resolve, reject) => {
      queue.push(() => {
        db.exec('savepoint job');
        try {
          const result = job();
          db.exec('release job');
          return () => resolve(result);
        } catch (error) {
          db.exec(error instanceof Refusal ? 'release job' : 'rollback to job; release job');
          return () => reject(error);
        }
      });
      failures.push(reject);
      schedule();
    });
}
