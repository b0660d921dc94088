import { type Bench, poolSize } from '../bench.ts';
import type { Floor } from '../processes/floor.ts';
import type { Worker } from '../processes/worker.ts';

/** Starts the floor; with `calls` it also calls the processor as the write does. */
export async function openFloor(bench: Bench, form: 'bare' | 'calls'): Promise<Worker<Floor>> {
  const floor = await bench.startFloor();
  await floor.ask('open', {
    databaseUrl: bench.stack.file.postgres,
    poolSize,
    connections: bench.sizes.connections,
    processorPort: form === 'calls' ? bench.processorPort : undefined,
  });
  return floor;
}

/** A round of the floor is as long as one of ours when it does so many times as much. */
export const floorIsFaster = 4;
