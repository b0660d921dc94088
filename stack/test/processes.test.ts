import { expect, it } from 'vitest';
import type { Supervised } from '../src/children/supervise.ts';
import { Processes } from '../src/processes.ts';

/** A process that notes when it is stopped, and with which grace. */
function noting(name: string, notes: string[]): Supervised {
  return {
    name,
    current: () => ({ pid: 1 }) as ReturnType<Supervised['current']>,
    restarts: () => 0,
    kill: () => undefined,
    async stop(graceMs) {
      notes.push(`${name} within ${graceMs}`);
    },
  };
}

it('gives each component process 100 s to stop, gateways first, then services, then servers [D14.210]', async () => {
  const notes: string[] = [];
  const processes = new Processes();
  processes.add(noting('postgres', notes), null);
  processes.add(noting('catalog', notes), null, 'services');
  processes.add(noting('gateway', notes), null, 'gateways');
  await processes.stop();
  expect(notes).toEqual(['gateway within 100000', 'catalog within 100000', 'postgres within 30000']);
});

it('lets all parts of this process leave at the same time, and stops them one after the other when all have [D14.210]', async () => {
  const notes: string[] = [];
  const processes = new Processes();
  let elapse: () => void = () => undefined;
  const delay = new Promise<void>((resolve) => {
    elapse = resolve;
  });
  for (const name of ['catalog', 'gateway']) {
    processes.addHere(name, '', {
      async leave() {
        notes.push(`${name} leaves`);
        await delay;
      },
      async stop() {
        notes.push(`${name} stops`);
      },
    });
  }
  const stopped = processes.stop();
  expect(notes).toEqual(['catalog leaves', 'gateway leaves']);
  elapse();
  await stopped;
  expect(notes.slice(2)).toEqual(['gateway stops', 'catalog stops']);
});
