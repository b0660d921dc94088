import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '@eligo/ports';
import { programFile } from '@eligo/processes/programs';
import { type Child, lastLogLines, nodeChildArguments, repositoryRoot, startChild } from '@eligo/stack';
import type { StackProcess } from './stack-process.ts';

const readyWithinMs = 30_000;

/** Starts another instance of billing beside that of a split stack, with the same variables and ports of its own. Only Linux tells the variables of a process. */
export async function startBilling({ file, home }: StackProcess): Promise<Child> {
  const first = file.processes.find(({ name }) => name === 'billing');
  if (first === undefined) throw new Error('billing has no process of its own');
  const [ADMIN_PORT, GRPC_PORT] = [String(await freePort()), String(await freePort())];
  const logPath = join(home.logs, 'billing-2.log');
  const child = await startChild({
    name: 'bench-billing',
    command: process.execPath,
    args: nodeChildArguments(programFile(repositoryRoot, 'billing')),
    environment: { ...variablesOf(first.pid), ADMIN_PORT, GRPC_PORT },
    logPath,
    runFolder: join(home.root, 'bench'),
    channel: true,
  });
  const deadline = performance.now() + readyWithinMs;
  while (!child.hasEnded() && performance.now() < deadline) {
    const answer = await fetch(`http://127.0.0.1:${ADMIN_PORT}/readyz`).catch(() => undefined);
    if (answer?.ok === true) return child;
    await pause(50);
  }
  await child.stop(1_000);
  throw new Error(`the second billing did not become ready. Its log ends:\n${lastLogLines(logPath, 500)}`);
}

function variablesOf(pid: number): Record<string, string> {
  const pairs = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}
