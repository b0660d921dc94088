import { flushCompileCache } from 'node:module';
import { parseArgs } from 'node:util';
import { gatewayHost } from '@eligo/gateway/address';
import { isFree } from '@eligo/ports';
import { watchParents } from '@eligo/processes/parents';
import { collectStartGarbage } from '@eligo/service/collect-start-garbage';
import { defaultAdminPort } from './admin-ports.ts';
import { defaultHomePath } from './home.ts';
import { Processes } from './processes.ts';
import { readyText } from './ready-text.ts';
import { type Replicas, readReplicas } from './replicas.ts';
import { type Stack, startStack } from './stack.ts';

/** A terminal's Ctrl-C reaches this process by itself and through those above it: what comes within this is one. */
const sameKeystrokeMs = 400;

/** Runs a stack as this process's only work, until a signal, or the end of what started it, stops it. */
export async function runStack(args: string[]): Promise<void> {
  const values = readArguments(args);
  const port = readPort('PORT', 8_080);
  // 0: free ones.
  const adminPort = process.env.ADMIN_PORT === '0' ? undefined : readPort('ADMIN_PORT', defaultAdminPort);
  const host = gatewayHost(process.env);
  if (!(await isFree(port, host)))
    return fail(`Port ${port} is in use; choose another, for example PORT=8081 npm start`);

  const giveUp = new AbortController();
  const processes = new Processes();
  let stack: Stack | undefined;
  const stopping = onStop({
    inOrder: async () => {
      say('\nStopping (press Ctrl-C again to stop immediately) …');
      giveUp.abort(new Error('Stopped during startup'));
      await stack?.stop();
    },
    atOnce: () => {
      processes.killAll('SIGKILL');
      process.exit(130);
    },
  });
  try {
    stack = await startStack({
      home: defaultHomePath(),
      port,
      ...(adminPort === undefined ? {} : { adminPort }),
      split: values.split,
      demoFeatures: ['receipts'],
      replicas: values.replicas,
      environment: process.env,
      signal: giveUp.signal,
      processes,
      onNews: (text) => say(`eligo: ${text}`),
      onTrouble: (text) => say(`eligo: ${text}`),
      onFatal: (text) => {
        // Each component says so; the first ends them all.
        if (process.exitCode === 1) return;
        process.exitCode = 1;
        say(`eligo: a component failed: ${text}`);
        stopping.stop();
      },
    });
  } catch (error) {
    if (giveUp.signal.aborted) process.exit();
    return fail(error instanceof Error ? error.message : String(error));
  }
  if (giveUp.signal.aborted) await stack.stop();
  else {
    // A process that is killed writes no cache when it ends.
    flushCompileCache();
    // Not in `startStack`: in a process with other work, such as a run of tests, the pause is of seconds, and its heap is not the stack's alone.
    if (!values.split) collectStartGarbage();
    say(readyText(stack, { split: values.split, live: process.env }));
  }
  stopping.exitWhenStopped();
}

function readArguments(args: string[]): { split: boolean; replicas: Replicas } {
  try {
    const { values } = parseArgs({
      args,
      options: {
        split: { type: 'boolean', default: false },
        replicas: { type: 'string', multiple: true, default: [] },
      },
    });
    const replicas = readReplicas(values.replicas);
    if (values.replicas.length > 0 && !values.split) return fail('--replicas needs --split');
    return { split: values.split, replicas };
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

function onStop(ways: { inOrder: () => Promise<void>; atOnce: () => void }) {
  let asked = 0;
  let stopped: Promise<void> | undefined;
  let started = false;
  const exit = () => {
    if (!started) return;
    stopped?.then(
      () => process.exit(),
      (error) => fail(error instanceof Error ? error.message : String(error)),
    );
  };
  const stop = () => {
    const now = performance.now();
    if (stopped === undefined) {
      asked = now;
      stopped = ways.inOrder();
      exit();
    } else if (now - asked > sameKeystrokeMs) {
      ways.atOnce();
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  watchParents(() => {
    if (stopped === undefined) stop();
  });
  return {
    stop,
    exitWhenStopped() {
      started = true;
      exit();
    },
  };
}

function readPort(variable: string, unset: number): number {
  const port = Number(process.env[variable] || unset);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  return fail(`${variable} must be a number from 1 to 65535`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function fail(text: string): never {
  process.stderr.write(`eligo: ${text}\n`);
  process.exit(1);
}
