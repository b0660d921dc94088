// npm run -s eligo -- <command>
import { runCommandLine } from './command-line.ts';
import { lineWriter } from './output.ts';

// The reader is gone: a command that runs until it is stopped stops; any other finishes silently.
const onClosed = () => {
  if (process.listenerCount('SIGTERM') > 0) process.kill(process.pid, 'SIGTERM');
};
process.exitCode = await runCommandLine(process.argv.slice(2), {
  out: lineWriter(process.stdout, onClosed),
  err: lineWriter(process.stderr, onClosed),
});
