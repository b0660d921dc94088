import type { Stack } from '@eligo/stack';
import { waitUntil } from './wait-until.ts';

/** Stops a part of a stack that is a process of its own as an orchestrator does, and waits until its supervisor has started it again. */
export async function restartPart(stack: Pick<Stack, 'processes' | 'kill'>, name: string): Promise<void> {
  const pid = () => stack.processes().find((part) => part.name === name)?.pid;
  const before = pid();
  stack.kill(name, 'SIGTERM');
  // The list names the new process only once it is ready.
  await waitUntil(() => pid() !== before, { withinMs: 60_000, what: `that ${name} runs again` });
}
