import { buildService } from './build-service.ts';
import type { ServiceComposition } from './composition.ts';
import { createLogger, logLevels } from './logger.ts';
import { runProcess } from './run-process.ts';

/** Runs a service as the only thing of this process: all that its `main.ts` does. */
export async function runService<Settings>(composition: ServiceComposition<Settings>): Promise<void> {
  // A level that does not exist is reported with everything else that is wrong with the environment.
  const level = logLevels.find((one) => one === process.env.LOG_LEVEL);
  const logger = createLogger({ service: composition.name, level });
  await runProcess(logger, async (onFatal) => {
    const service = await buildService(composition, { environment: process.env, logger, onFatal });
    await service.start();
    return service;
  });
}
