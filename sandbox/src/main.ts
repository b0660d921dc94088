import { startSandbox } from './sandbox.ts';

const { HOST = '127.0.0.1', PORT = '4242', ELIGO_SANDBOX_HOME, ELIGO_SANDBOX_KEY, ELIGO_ENV } = process.env;

const missing = Object.entries({ ELIGO_SANDBOX_HOME, ELIGO_SANDBOX_KEY }).flatMap(([name, value]) =>
  value ? [] : [name],
);
if (missing.length > 0 || ELIGO_SANDBOX_HOME === undefined || ELIGO_SANDBOX_KEY === undefined) {
  write({ level: 'error', message: `The sandbox requires ${missing.join(' and ')}` });
  process.exit(1);
}
if (ELIGO_ENV === 'production' && ELIGO_SANDBOX_KEY.length < 24) {
  write({ level: 'error', message: 'ELIGO_SANDBOX_KEY must be at least 24 characters long in production' });
  process.exit(1);
}

const sandbox = await startSandbox({
  home: ELIGO_SANDBOX_HOME,
  host: HOST,
  port: Number(PORT),
  secretKey: ELIGO_SANDBOX_KEY,
  logger: { error: (fields, message) => write({ level: 'error', message, ...fields }) },
});
write({ level: 'info', message: 'sandbox ready', url: sandbox.url });

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    sandbox.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}

function write(line: object): void {
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), name: 'sandbox', ...line })}\n`);
}
