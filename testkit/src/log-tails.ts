import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Home, lastLogLines } from '@eligo/stack';

/** The homes of the constellations that run now. */
const homes = new Set<Home>();

/** Has `logTails` include the logs of a home, until the returned function is called. */
export function tellLogsOf(home: Home): () => void {
  homes.add(home);
  return () => homes.delete(home);
}

/** The ends of the logs of all running constellations, as a heading and lines for each process that wrote some. */
export function logTails(): string {
  return [...homes].flatMap(({ root }) => [root, join(root, 'stack')].flatMap(tailsIn)).join('\n');
}

function tailsIn(root: string): string[] {
  const folder = join(root, 'logs');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.log') && !serverLogs.has(name))
    .flatMap((name) => {
      const lines = lastLogLines(join(folder, name), bytesOfEach);
      return lines === '' ? [] : [`--- the end of ${name}:\n${lines}`];
    });
}

// They say something at each start and stop, and do not run in the run's own Postgres.
const serverLogs = new Set(['postgres.log', 'nats.log']);
// Some twenty warnings of each process.
const bytesOfEach = 12_000;
