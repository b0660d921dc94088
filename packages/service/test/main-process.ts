// A process of its own for main-process.test.ts: what it does is its first argument.
import { eventsMigrations } from '@eligo/events';
import { createLogger, declareFailpoints, failpoint, runProcess, runService, turnFailpointsOn } from '../src/index.ts';

declareFailpoints(['main.step']);
const [what] = process.argv.slice(2);
const logger = createLogger({ service: 'catalog' });

if (what === 'service') {
  await runService({ name: 'catalog', migrations: [eventsMigrations], build: () => ({ handlers: [] }) });
} else if (what === 'failpoint') {
  turnFailpointsOn(process.env.ELIGO_FAILPOINT);
  for (let pass = 1; pass <= 5; pass += 1) {
    process.stdout.write(`pass ${pass}\n`);
    await failpoint('main.step');
  }
} else if (what === 'log') {
  await runProcess(logger, async () => {
    for (let line = 1; line <= 5_000; line += 1) logger.info({ attempt: line }, 'One line of many');
    process.stderr.write('A warning\n');
    setTimeout(() => process.exit(42), 50);
    return { stop: async () => undefined };
  });
} else {
  const running = runProcess(logger, async () => {
    if (what === 'refuse') throw new Error('cannot start');
    process.stdout.write('Started\n');
    const beat = setInterval(() => undefined, 1_000);
    if (what === 'throw') setTimeout(() => JSON.parse('Margarethe'), 10);
    if (what === 'reject') setTimeout(() => void Promise.reject(new Error('nobody caught this')), 10);
    return {
      stop: () => {
        clearInterval(beat);
        process.stdout.write('Stopped\n');
        return what === 'hang' ? new Promise(() => undefined) : Promise.resolve();
      },
    };
  });
  // Its handlers of signals stand.
  process.stdout.write('Loaded\n');
  await running;
}
