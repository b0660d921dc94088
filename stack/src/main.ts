// npm start: brings up the whole stack and stays until it is told to stop.
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { defaultHomePath, makeHome } from './home.ts';

// A full disk, or a reader that left, takes what is said here, and nothing else: without a listener the first failed write would end Eligo.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

// Compiled code is kept between starts: it is a good part of the time to ready.
const cache = join(makeHome(defaultHomePath()).root, 'cache');
enableCompileCache(cache);
process.env.NODE_COMPILE_CACHE = cache;

const { runStack } = await import('./run.ts');
await runStack(process.argv.slice(2));
