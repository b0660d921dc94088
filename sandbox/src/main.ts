import { startSandbox } from './sandbox.ts';

const { HOST = '127.0.0.1', PORT = '4242', ELIGO_SANDBOX_HOME, ELIGO_SANDBOX_KEY, ELIGO_ENV } = process.env;
const { ELIGO_SANDBOX_EVENTS_URL, ELIGO_SANDBOX_EVENTS_SECRET } = process.env;

const missing = Object.entries({ ELIGO_SANDBOX_HOME, ELIGO_SANDBOX_KEY }).flatMap(([name, value]) =>
  value ? [] : [name],
);
if (missing.length > 0 || ELIGO_SANDBOX_HOME === undefined || ELIGO_SANDBOX_KEY === undefined) {
  write({ level: 'error', msg: `The sandbox requires ${missing.join(' and ')}` });
  process.exit(1);
}
if (ELIGO_ENV === 'production' && ELIGO_SANDBOX_KEY.length < 24) {
  write({ level: 'error', msg: 'ELIGO_SANDBOX_KEY must be at least 24 characters long in production' });
  process.exit(1);
}
if (ELIGO_SANDBOX_EVENTS_URL && !ELIGO_SANDBOX_EVENTS_SECRET) {
  write({ level: 'error', msg: 'ELIGO_SANDBOX_EVENTS_URL requires ELIGO_SANDBOX_EVENTS_SECRET' });
  process.exit(1);
}

const sandbox = await startSandbox({
  home: ELIGO_SANDBOX_HOME,
  host: HOST,
  port: Number(PORT),
  secretKey: ELIGO_SANDBOX_KEY,
  events:
    ELIGO_SANDBOX_EVENTS_URL && ELIGO_SANDBOX_EVENTS_SECRET
      ? // Of several secrets, the first signs.
        { url: ELIGO_SANDBOX_EVENTS_URL, secret: ELIGO_SANDBOX_EVENTS_SECRET.split(',')[0] ?? '' }
      : undefined,
  logger: {
    info: (fields, msg) => write({ level: 'info', ...fields, msg }),
    error: (fields, msg) => write({ level: 'error', ...fields, msg }),
  },
});
write({ level: 'info', msg: 'Started', url: sandbox.url });

// A full disk takes lines from the log, and nothing else.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    sandbox.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}

function write(line: object): void {
  process.stdout.write(
    `${JSON.stringify({ time: new Date().toISOString(), service: 'sandbox', pid: process.pid, ...line })}\n`,
  );
}
