import { join } from 'node:path';
import { withLock } from '../../packages/processes/src/lock.mjs';

/** Makes what is missing or out of date, by one process at a time; whoever waited finds it made. `name` names the lock. */
export async function makeOnce(root, name, isMade, make, onWait) {
  if (isMade()) return;
  await withLock(
    join(root, '.eligo', `${name}.lock`),
    async () => {
      if (!isMade()) await make();
    },
    onWait === undefined ? {} : { onWait },
  );
}
