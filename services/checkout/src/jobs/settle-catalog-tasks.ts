import type { Job, ServiceContext } from '@eligo/service';
import { runCatalogTask } from '../actions/run-catalog-task.ts';
import type { Resources } from '../resources.ts';
import { catalogTasksJob, dueCatalogTasks, nextCatalogTaskInMs } from '../store/catalog-tasks.ts';

const BATCH = 50;

/** Makes the pending calls to the catalog: finalize or release redemptions, activate inline records. */
export function settleCatalogTasks(
  resources: Pick<Resources, 'database' | 'catalog' | 'logger'>,
  callerFor: ServiceContext['callerFor'],
): Job {
  return {
    name: catalogTasksJob,
    // Each task wakes the job; this finds what a process that died had noted.
    everyMs: 15_000,
    async run(signal) {
      const due = await dueCatalogTasks(resources.database, BATCH);
      for (const task of due) {
        if (signal.aborted) return false;
        await runCatalogTask(resources, task, { caller: callerFor(task.scope), signal });
      }
      return due.length === BATCH || { dueInMs: await nextCatalogTaskInMs(resources.database) };
    },
  };
}
