import { defaultHomePath, type Home, homeAt, readStackFile, type StackFile } from '@eligo/stack';

/** The stack that runs in ELIGO_HOME, as its stack.json has it. */
export function runningStack(): { home: Home; file: StackFile } {
  const home = homeAt(defaultHomePath());
  const file = readStackFile(home);
  if (!file) {
    throw new Error(
      `No stack has been started in ${home.root}. Run npm start there first, or set the variables of a stack elsewhere.`,
    );
  }
  if (!file.processes.some(({ pid }) => isAlive(pid))) {
    throw new Error(`The stack of ${home.root} is not running. Start it with npm start.`);
  }
  return { home, file };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process is one, too.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
