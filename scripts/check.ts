// npm run check: types, style, layers, banned text, the internal contracts, traces of the interface, and the lock file.
import { checks, runTurbo } from './turbo.ts';

process.exitCode = await runTurbo(checks);
