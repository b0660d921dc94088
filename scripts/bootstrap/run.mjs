// Runs a script on the pinned Node, whatever Node bootstraps it, and ends when it ends.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ancestry } from '../../packages/processes/src/parents.mjs';

const oldestMajor = 24;

/** The exit code of the script; 0 at once when the script goes on in this very process. */
export async function runOnPinnedNode(root, path, args) {
  const bin = join(root, 'node_modules', '.bin');
  process.env.PATH = `${bin}${delimiter}${process.env.PATH ?? ''}`;
  const pinned = pinnedNode(root);
  if (pinned && realpathSync(process.execPath) !== realpathSync(pinned)) {
    return await runChild(pinned, path, args);
  }
  if (Number(process.versions.node.split('.')[0]) < oldestMajor) {
    throw new Error(
      `Eligo runs on Node ${oldestMajor} or newer, ships none for ${process.platform}-${process.arch}, and this is ` +
        `${process.version}; install Node ${oldestMajor}.`,
    );
  }
  process.env.ELIGO_PARENTS = ancestry();
  process.argv = [process.execPath, path, ...args];
  await import(pathToFileURL(path).href);
  return process.exitCode ?? 0;
}

/** The Node of package-lock.json; undefined when there is none for this platform, or it cannot be executed here at all (another C library). */
export function pinnedNode(root) {
  const path = join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (!existsSync(path)) return undefined;
  if (realpathSync(process.execPath) === realpathSync(path)) return path;
  return spawnSync(path, ['--version'], { stdio: 'ignore' }).status === 0 ? path : undefined;
}

function runChild(node, path, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, [path, ...args], {
      stdio: 'inherit',
      env: { ...process.env, ELIGO_PARENTS: ancestry({ withSelf: true }) },
    });
    // A terminal's Ctrl-C reaches the whole group; a signal sent to this process alone is passed on. The one that runs
    // takes two in quick succession for one.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}
