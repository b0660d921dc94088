import { once } from 'node:events';
import { within } from '@eligo/values';
import { beginsWhenTold } from './begins-when-told.ts';
import { collectStartGarbage } from './collect-start-garbage.ts';
import { EnvironmentProblems } from './environment.ts';
import type { Logger } from './logger.ts';

/** What runs in a process until a signal ends it. */
export interface Runnable {
  stop(): Promise<void>;
}

/**
 * The steps of stopping have bounds of their own: where each is used up, the longest drain delay of 30 s and 65 s more (the gateway's). This is past all of
 * them. The compose file waits as long before it kills.
 */
export const stopWaitMs = 100_000;

/**
 * Runs something as the only thing of this process: SIGTERM and SIGINT stop it in order and exit 0, a second one exits at once, and an error
 * that nobody caught is logged and exits 1 - a process in an unknown state is worth less than one that is started again.
 */
export async function runProcess(
  logger: Logger,
  start: (fatal: (error: unknown) => void) => Promise<Runnable>,
): Promise<void> {
  const fatal = (error: unknown) => {
    logger.fatal({ err: error }, 'Terminated by an uncaught error');
    process.exit(1);
  };
  process.on('uncaughtException', fatal);
  // Warnings and a fatal error's line may meet a full disk.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.on('unhandledRejection', fatal);

  let running: Runnable | undefined;
  let stopping = false;
  const stop = async (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1);
    stopping = true;
    logger.info({ signal }, 'Received a termination signal');
    try {
      if (running !== undefined) await within(stopWaitMs, running.stop);
      process.exit(0);
    } catch (error) {
      fatal(error);
    }
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  try {
    await toldToBegin();
    const started = await start(fatal);
    running = { stop: () => started.stop() };
    collectStartGarbage();
  } catch (error) {
    if (!(error instanceof EnvironmentProblems)) return fatal(error);
    // For the operator who starts it, not for a log: names of variables and their problems, never values.
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

// The parent prepares the database while this process loads its code.
async function toldToBegin(): Promise<void> {
  if (!process.argv.includes(beginsWhenTold)) return;
  // Nothing else keeps the process until then. Without its parent it stops.
  process.channel?.ref();
  await once(process, 'message');
  process.channel?.unref();
}
