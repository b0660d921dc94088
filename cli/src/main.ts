// npm run -s eligo -- <command>
import { runCommandLine } from './command-line.ts';
import { lineWriter } from './output.ts';

// Nobody reads on: what runs until it is told to stop is told so; anything else comes to its end and says nothing more.
const onClosed = () => {
  if (process.listenerCount('SIGTERM') > 0) process.kill(process.pid, 'SIGTERM');
};
process.exitCode = await runCommandLine(process.argv.slice(2), {
  out: lineWriter(process.stdout, onClosed),
  err: lineWriter(process.stderr, onClosed),
});
