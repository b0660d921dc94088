import { buildService } from './build-service.ts';
import type { ServiceComposition } from './composition.ts';
import { createLogger } from './logger.ts';
import { runProcess } from './run-process.ts';

/** Runs a service as the only thing of this process: all that its `main.ts` does. */
export async function runService<Settings>(composition: ServiceComposition<Settings>): Promise<void> {
  const logger = createLogger({ service: composition.name, level: process.env.LOG_LEVEL });
  await runProcess(logger, async (onFatal) => {
    const service = await buildService(composition, { environment: process.env, logger, onFatal });
    await service.start();
    return service;
  });
}
