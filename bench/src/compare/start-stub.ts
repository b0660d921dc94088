import { randomBytes } from 'node:crypto';
import type { StubProcessor } from '../processes/stub-processor.ts';
import { startProgram, type Worker, type WorkerMethods } from '../processes/worker.ts';

/** Starts a processor for one side alone: its process, and the variables that lead a stack to it. */
export async function startStub(workers: Worker<WorkerMethods>[]) {
  const stub = await startProgram<StubProcessor>(workers, 'stub-processor');
  const port = await stub.ask('open', null);
  const variables = {
    ELIGO_SANDBOX_URL: `http://127.0.0.1:${port}`,
    ELIGO_SANDBOX_KEY: `sk_test_${randomBytes(16).toString('hex')}`,
  };
  return { pid: stub.pid, port, variables, slow: (delayMs: number) => stub.ask('slow', delayMs) };
}
