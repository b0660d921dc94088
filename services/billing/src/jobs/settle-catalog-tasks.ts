import type { Job } from '@eligo/service';
import { runCatalogTask } from '../actions/run-catalog-task.ts';
import type { Context } from '../context.ts';
import { catalogTasksJob, dueCatalogTasks, nextCatalogTaskInMs } from '../store/catalog-tasks.ts';

const batch = 50;

/** Makes the pending calls to the catalog: finalize or release the redemptions of discounts. */
export function settleCatalogTasks(context: Context): Job {
  return {
    name: catalogTasksJob,
    // Each task wakes the job; this finds what a process that died had noted.
    everyMs: 60_000,
    async run(signal) {
      const due = await dueCatalogTasks(context.database, batch);
      for (const task of due) {
        if (signal.aborted) return false;
        await runCatalogTask(context, task);
      }
      return due.length === batch || { dueInMs: await nextCatalogTaskInMs(context.database) };
    },
  };
}
