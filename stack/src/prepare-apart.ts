import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { programFile } from '@eligo/processes/programs';
import { repositoryRoot } from './home.ts';
import type { Preparation } from './preparation.ts';
import type { DemoAccount } from './seed.ts';

/** A process that has the components' code, and waits to be told what to prepare. */
export interface Preparer {
  prepare(preparation: Preparation): Promise<DemoAccount>;
  /** Ends it, if it has not ended by itself. */
  stop(): void;
}

/** What the process answers. */
export type Prepared = { readonly demo: DemoAccount } | { readonly trouble: string };

/**
 * Starts the process that prepares the database for a stack of several processes. The one that supervises them has no
 * other use for the components' code: loading it there would cost its memory for as long as the stack runs.
 */
export function startPreparer(): Preparer {
  const child = fork(programFile(repositoryRoot, 'prepare'), [], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // What a parent of this process had it load may let the channel go, and the child would end before it is asked.
    execArgv: [],
  });
  return {
    async prepare(preparation) {
      const answer = answerOf(child);
      child.send(preparation);
      const prepared = await answer;
      // It ends with its channel. Were it to end by itself, its end could be heard of before its answer.
      if (child.connected) child.disconnect();
      if ('demo' in prepared) return prepared.demo;
      throw new Error(prepared.trouble);
    },
    stop: () => child.kill('SIGKILL'),
  };
}

async function answerOf(child: ChildProcess): Promise<Prepared> {
  const gone = once(child, 'exit').then(() => ({ trouble: 'The process that prepares the database exited' }));
  const answered = once(child, 'message').then(([answer]) => answer as Prepared);
  return await Promise.race([answered, gone]);
}
