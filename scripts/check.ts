// npm run check: types, style, layers, banned text, and the internal contracts.
import { checks, runTurbo } from './turbo.ts';

process.exitCode = await runTurbo(checks);
