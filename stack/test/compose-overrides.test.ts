import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectNats } from '@eligo/events';
import { freePort } from '@eligo/ports';
import { readCertificate } from '@eligo/rpc/certificate';
import { waitUntil } from '@eligo/testkit';
import { testAuthority, writeTestCertificate } from '@eligo/testkit/certificates';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Child, startChild } from '../src/children/child.ts';
import { variablesReadBy } from '../src/component-variables.ts';
import { type ComponentName, componentNames } from '../src/components.ts';
import { composeVariables } from '../src/compose-variables.ts';
import { makeHome, repositoryRoot } from '../src/home.ts';
import { findNatsServer } from '../src/nats/find-server.ts';
import { generateSecrets } from '../src/secrets.ts';
import { type ComposeService, environmentOf, readCompose } from './support/compose.ts';
import { documentedBlocks, documentedText } from './support/documented.ts';

const compose = readCompose();
const secrets = composeVariables(generateSecrets());
const folder = mkdtempSync(join(tmpdir(), 'eligo-overrides-'));
const authority = testAuthority();
const stranger = testAuthority();
let nats: Child | undefined;

afterAll(async () => {
  await nats?.stop(5_000);
  rmSync(folder, { recursive: true, force: true });
});

/** A documented override, the first that has a text: its services, and the variable that its text has the operator set in `.env`. */
function overrideIn(from: string, to: string, has = '') {
  const overrides = documentedBlocks('deploying.md', from, to).filter(([first]) => first === 'services:');
  const block = overrides.find((lines) => lines.some((line) => line.includes(has))) ?? [];
  const { services } = parse(block.join('\n')) as { services: Record<string, ComposeService> };
  const [, variable = '', place = ''] =
    /set `(ELIGO_\w+)=(\/\S+)`/.exec(documentedText('deploying.md', from, to)) ?? [];
  return { services, variable, place };
}

function mountsOf({ volumes = [] }: ComposeService) {
  return volumes.map((volume) => volume.split(':'));
}

function serviceNamed(name: string): ComposeService {
  return compose.services[name] ?? expect.fail(`the compose file has no service ${name}`);
}

/** One component stands for all in the documents. */
function ofComponent(services: Record<string, ComposeService>): [ComponentName, ComposeService] {
  const [found] = Object.entries(services).filter(([name]) => (componentNames as readonly string[]).includes(name));
  return (found as [ComponentName, ComposeService] | undefined) ?? expect.fail('the override has no component');
}

describe('the documented override for', () => {
  const betweenComponents = overrideIn('## TLS between components', '## TLS to Postgres');
  const toNats = overrideIn('## TLS to NATS', '## Several installations on one Postgres');

  it('TLS between components mounts a folder where each component is told to read its certificate [D14.212, D14.368]', () => {
    const { services, variable, place } = betweenComponents;
    expect(variable).toBe('ELIGO_TLS_FOLDER');
    const [shown, service] = ofComponent(services);
    expect(Object.keys(services)).toEqual([shown]);
    expect(mountsOf(service)).toEqual([[`./tls/${shown}`, place, 'ro']]);
    for (const name of componentNames) {
      expect(environmentOf(serviceNamed(name), { ...secrets, [variable]: place })).toMatchObject({ [variable]: place });
      expect(variablesReadBy(name)).toContain(variable);
      // The names of the files, and the name that the certificate must have.
      writeTestCertificate(join(folder, name), authority.issue([name]), [authority.certificate]);
      expect(readCertificate(join(folder, name), name).expiresAt.getTime()).toBeGreaterThan(Date.now());
    }
  });

  it('TLS to NATS mounts certificates where the server and each component read them [D14.216, D14.368]', () => {
    const { services, variable, place } = toNats;
    expect(variable).toBe('ELIGO_NATS_TLS_FOLDER');
    const [shown, service] = ofComponent(services);
    expect(Object.keys(services)).toEqual(['nats', shown]);
    expect(mountsOf(service)).toEqual([[`./tls/${shown}`, place, 'ro']]);
    expect(mountsOf(services.nats ?? {})).toEqual([['./tls/nats', place, 'ro']]);
    for (const name of [...componentNames, 'cli']) {
      expect(environmentOf(serviceNamed(name), { ...secrets, [variable]: place })).toMatchObject({ [variable]: place });
    }
    for (const name of componentNames) expect(variablesReadBy(name)).toContain(variable);
    // The override's command takes the place of the compose file's, whose options it has, too.
    expect(services.nats?.command?.slice(0, serviceNamed('nats').command?.length)).toEqual(
      serviceNamed('nats').command,
    );
  });

  it('TLS to NATS starts a server that lets a component in by its certificate, and none without [D14.216, D14.368]', async () => {
    const url = await startNatsAsOverridden(toNats);
    const clientFolder = (name: string, issuer: typeof authority) => {
      writeTestCertificate(join(folder, name), issuer.issue(['catalog']), [authority.certificate]);
      return join(folder, name);
    };
    const connect = (tlsFolder: string | undefined, reasons: string[] = []) => {
      const stopping = new AbortController();
      const told = (reason: string) => {
        reasons.push(reason);
        stopping.abort();
      };
      return connectNats({
        url,
        service: 'catalog',
        logger,
        tlsFolder,
        acceptWithinMs: 1_000,
        onUnreachable: told,
        signal: stopping.signal,
      });
    };
    const connection = await connect(clientFolder('client', authority));
    expect(connection.nats.info).toMatchObject({ tls_required: true, tls_verify: true });
    await connection.close();
    for (const refused of [undefined, clientFolder('stranger', stranger)]) {
      const reasons: string[] = [];
      await expect(connect(refused, reasons)).rejects.toThrow();
      expect(reasons).toHaveLength(1);
    }
  });

  it('secrets from a file empties the variable and mounts the file that takes its place', () => {
    const { services } = overrideIn('## In containers', '## One component at a time', '_FILE');
    const [name, service] = ofComponent(services);
    const [[emptied = '', empty], [named = '', path = '']] = Object.entries(service.environment ?? {}) as [
      [string, string],
      [string, string],
    ];
    expect([empty, named]).toEqual(['', `${emptied}_FILE`]);
    expect(variablesReadBy(name)).toContain(emptied);
    expect(serviceNamed(name).environment).toHaveProperty(emptied);
    const [[, target = '', mode] = []] = mountsOf(service);
    expect([path.startsWith(`${target}/`), mode]).toEqual([true, 'ro']);
  });
});

const logger = { info: () => undefined, warn: () => undefined, error: () => undefined };

// deploy/nats.conf with the documented options, on a port and in folders of this machine.
async function startNatsAsOverridden({ services, place }: ReturnType<typeof overrideIn>): Promise<string> {
  const home = makeHome(join(folder, 'home'));
  const [port, monitor] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')];
  const store = join(home.nats, 'jetstream');
  mkdirSync(store);
  const certificates = join(folder, 'nats');
  writeTestCertificate(certificates, authority.issue(['nats', '127.0.0.1']), [authority.certificate]);
  const configuration = join(home.nats, 'nats.conf');
  const text = readFileSync(join(repositoryRoot, 'deploy', 'nats.conf'), 'utf8');
  writeFileSync(configuration, text.replace('"/data/jetstream"', JSON.stringify(store)));
  const placed = (word: string) => word.replace('/etc/eligo/nats.conf', configuration).replace(place, certificates);
  const command = services.nats?.command ?? [];
  nats = await startChild({
    name: 'nats',
    command: await findNatsServer(home.bin, console.error),
    args: [...command.map(placed), '-a', '127.0.0.1', '-p', String(port), '-m', String(monitor)],
    environment: { ...environmentOf(serviceNamed('nats'), secrets), PATH: process.env.PATH ?? '' },
    logPath: join(home.logs, 'nats.log'),
    runFolder: home.run,
  });
  const child = nats;
  const isUp = () => fetch(`http://127.0.0.1:${monitor}/healthz`).then(({ ok }) => ok);
  await waitUntil(async () => child.hasEnded() || (await isUp()), { what: 'NATS' });
  return `nats://catalog:${secrets.CATALOG_NATS_PASSWORD}@127.0.0.1:${port}`;
}
