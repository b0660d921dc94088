import { join } from 'node:path';
import { programFile } from '@eligo/processes/programs';
import {
  type Child,
  type Home,
  lastLogLines,
  makeHome,
  nodeChildArguments,
  readStackFile,
  repositoryRoot,
  type Secrets,
  sandboxEventsUrl,
  startChild,
  startNats,
  startSandboxProcess,
  type Variables,
} from '@eligo/stack';
import type { Running } from './running.ts';
import type { TestHome } from './test-home.ts';
import { openNatsConfiguration } from './test-nats.ts';
import { writeTestSecrets } from './test-secrets.ts';
import { waitUntil } from './wait-until.ts';

const readyWithinMs = 60_000;

/**
 * The all-in-one in a process beside the test's. NATS and the sandbox processor are kept out of it, as the database is:
 * they outlive its being killed, and it is started again on the same port.
 */
export async function startOwnProcess(options: {
  home: TestHome;
  port: number;
  environment: Variables;
  secrets: Secrets;
}): Promise<Running> {
  const { home, port } = options;
  const tell = (text: string) => process.stderr.write(`constellation: ${text}\n`);
  const [nats, sandbox] = await Promise.all([
    startNats(home, { configuration: openNatsConfiguration, onNews: tell, onTrouble: tell }),
    startSandboxProcess(home, {
      key: options.secrets.sandboxKey,
      events: { url: sandboxEventsUrl(`http://127.0.0.1:${port}`), secret: options.secrets.sandboxEventsSecret },
      onTrouble: tell,
      onRestarted: () => undefined,
    }),
  ]);
  const natsUrl = `nats://${nats.host}:${nats.port}`;
  const { ELIGO_FAILPOINT: _armed, ...unarmed } = options.environment;
  const environmentOf = (variables: Variables) => ({
    ...variables,
    NATS_URL: natsUrl,
    ELIGO_SANDBOX_URL: sandbox.url,
    ELIGO_SANDBOX_KEY: sandbox.key,
    ELIGO_HOME: stackHome.root,
    PORT: String(port),
  });
  const stackHome = makeHome(join(home.root, 'stack'));
  writeTestSecrets(stackHome, options.secrets);
  const start = (variables: Variables) => startStackProcess(home, stackHome, environmentOf(variables));
  let child = await start(options.environment);
  const file = () => {
    const found = readStackFile(stackHome);
    if (!found) throw new Error('The stack wrote no stack.json');
    return found;
  };
  const first = file();
  return {
    url: first.gateway,
    urls: first.gateways,
    demo: { account: first.account, testApiKey: first.test_api_key, liveApiKey: first.live_api_key },
    processor: { url: sandbox.url, key: sandbox.key },
    nats: natsUrl,
    processes: () => [...file().processes, { name: 'sandbox', pid: sandbox.process.current().pid, admin: sandbox.url }],
    doom: () => undefined,
    kill: (name) => (name === 'sandbox' ? sandbox.process.kill('SIGKILL') : child.kill('SIGKILL')),
    restart: async (name) => {
      throw new Error(`${name} is in one process with all others`);
    },
    async recovered() {
      await child.ended;
      child = await start(unarmed);
    },
    async stop() {
      await child.stop(30_000);
      await Promise.all([nats.process.stop(5_000), sandbox.process.stop(5_000)]);
    },
  };
}

async function startStackProcess(home: Home, stackHome: Home, variables: Variables): Promise<Child> {
  const child = await startChild({
    name: 'all-in-one',
    command: process.execPath,
    args: nodeChildArguments(programFile(repositoryRoot, 'stack')),
    environment: variables,
    logPath: join(home.logs, 'all-in-one.log'),
    runFolder: home.run,
    channel: true,
  });
  const isUp = () => readStackFile(stackHome)?.processes.some(({ pid }) => pid === child.pid) ?? false;
  await waitUntil(() => child.hasEnded() || isUp(), { withinMs: readyWithinMs, what: 'the stack' });
  if (child.hasEnded()) throw new Error(`The stack exited: ${lastLogLines(join(home.logs, 'all-in-one.log'))}`);
  return child;
}
