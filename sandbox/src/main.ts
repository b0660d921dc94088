import { startSandbox } from './sandbox.ts';
import { readSettings, type SandboxSettings } from './settings.ts';

// A full disk takes lines from the log, and nothing else.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

const sandbox = await startSandbox({
  ...settings(),
  logger: {
    info: (fields, msg) => write({ level: 'info', ...fields, msg }),
    error: (fields, msg) => write({ level: 'error', ...fields, msg }),
  },
});
write({ level: 'info', msg: 'Started', url: sandbox.url });

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    sandbox.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}

function settings(): SandboxSettings {
  try {
    return readSettings(process.env);
  } catch (error) {
    write({ level: 'error', msg: error instanceof Error ? error.message : String(error) });
    process.exit(1);
  }
}

function write(line: object): void {
  process.stdout.write(
    `${JSON.stringify({ time: new Date().toISOString(), service: 'sandbox', pid: process.pid, ...line })}\n`,
  );
}
