import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

// A test process is not started with --expose-gc; a context that is made after the flag is set has it.
setFlagsFromString('--expose-gc');
/** Collects garbage at once. What finalizers free is collected by the next call. */
export const collectGarbage = runInNewContext('gc') as () => void;
setFlagsFromString('--no-expose-gc');
