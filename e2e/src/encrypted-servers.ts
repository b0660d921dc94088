import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ComponentName, natsConfiguration, postgresUser, startPostgres } from '@eligo/stack';
import { testHome, testNats } from '@eligo/testkit';
import { type TestAuthority, writeTestCertificate } from '@eligo/testkit/certificates';

/** A Postgres and a NATS server that take nothing unencrypted. */
export interface EncryptedServers {
  /** The superuser's URL, with what verifies the server. */
  readonly postgres: string;
  /** Of the user who may do everything, and of a component. */
  readonly nats: string;
  natsUrlOf(component: ComponentName): string;
  stop(): Promise<void>;
}

/** Starts both with certificates of an authority, which are kept below `folder`. NATS also asks its clients for one. */
export async function startEncryptedServers(authority: TestAuthority, folder: string): Promise<EncryptedServers> {
  // The user who runs Postgres reads there.
  chmodSync(folder, 0o755);
  const nats = join(folder, 'nats');
  writeTestCertificate(nats, authority.issue(['127.0.0.1']), [authority.certificate]);
  const file = (name: string) => JSON.stringify(join(nats, name));
  const natsTls = `tls { cert_file: ${file('tls.crt')}, key_file: ${file('tls.key')}, ca_file: ${file('ca.crt')}, verify: true }`;
  const [postgresServer, natsServer] = await Promise.all([
    startEncryptedPostgres(authority, folder),
    testNats((place) => `${natsConfiguration(place, passwordOf)}${natsTls}\n`),
  ]);
  const natsUrlOf = (user: ComponentName | 'admin') => {
    const url = new URL(natsServer.url);
    url.username = user;
    url.password = passwordOf(user);
    return url.href;
  };
  return {
    postgres: postgresServer.url,
    nats: natsUrlOf('admin'),
    natsUrlOf,
    async stop() {
      await Promise.all([postgresServer.stop(), natsServer.stop()]);
    },
  };
}

async function startEncryptedPostgres(authority: TestAuthority, folder: string) {
  const { certificate, key } = authority.issue(['127.0.0.1']);
  const at = (name: string) => join(folder, name);
  writeFileSync(at('postgres.crt'), certificate);
  writeFileSync(at('postgres-ca.crt'), authority.certificate);
  writeFileSync(at('hba.conf'), 'hostssl all all 127.0.0.1/32 scram-sha-256\n', { mode: 0o644 });
  // Postgres reads its key only if nobody else can.
  writeFileSync(at('postgres.key'), key, { mode: 0o600 });
  const user = postgresUser();
  if (user !== undefined) chownSync(at('postgres.key'), user.uid, user.gid);
  const home = testHome('encrypted');
  const settings = {
    ...{ ssl: 'on', ssl_cert_file: at('postgres.crt'), ssl_key_file: at('postgres.key'), hba_file: at('hba.conf') },
    // As the server of the test run: its data is removed with it.
    ...{ fsync: 'off', full_page_writes: 'off' },
  };
  const password = randomBytes(16).toString('hex');
  const server = await startPostgres(home, { password, settings, onTrouble: (text) => console.error(text) });
  const url = new URL(server.url);
  url.searchParams.set('sslmode', 'verify-full');
  url.searchParams.set('sslrootcert', at('postgres-ca.crt'));
  return {
    url: url.href,
    async stop() {
      await server.process.stop(5_000);
      home.remove();
    },
  };
}

// What begins with a digit may be read as a number.
function passwordOf(user: string): string {
  return `p_${user}`;
}
