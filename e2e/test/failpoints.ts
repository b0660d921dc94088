import type { Topology } from '@eligo/testkit';
import { afterAll, afterEach } from 'vitest';
import { openStage, type Stage } from '../src/crashes/stage.ts';

/** One stage for many crashes. After a crash that did not converge the next one gets a new stage: what is wrong stays wrong in its books. */
export function sharedStage(topology: Topology): () => Promise<Stage> {
  let stage: Promise<Stage> | undefined;
  const close = async () => {
    const opened = stage;
    stage = undefined;
    await (await opened)?.eligo.stop();
  };
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await close();
  }, 60_000);
  afterAll(close, 60_000);
  return () => {
    stage ??= openStage(topology);
    return stage;
  };
}
