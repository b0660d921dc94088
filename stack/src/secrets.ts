import { randomBytes } from 'node:crypto';
import { type ComponentKeys, generateComponentKeys } from '@eligo/rpc/keys';
import { type ComponentName, componentNames, perComponent } from './components.ts';
import { type Home, readJsonFile, writePrivateFile } from './home.ts';

/** Everything secret of one stack, made once and kept in its home. */
export interface Secrets extends ComponentKeys {
  /** `id:base64key,…`: the first seals, all open. */
  readonly keyring: string;
  /** Signs the logins of operators; no component has it. */
  readonly operatorKey: string;
  /** Verifies them, in every component. */
  readonly operatorPublicKey: string;
  readonly postgresPassword: string;
  readonly databasePasswords: Readonly<Record<ComponentName | 'owner', string>>;
  readonly natsPasswords: Readonly<Record<ComponentName | 'admin', string>>;
  /** The sandbox processor's secret key. */
  readonly sandboxKey: string;
  /** Signs the events that the sandbox sends to the gateway. */
  readonly sandboxEventsSecret: string;
  /** Signs the URLs of checkout pages; checkout and the gateway alone have it. */
  readonly pageKey: string;
}

/** The secrets of a home, made at its first start. */
export function secretsOf(home: Home): Secrets {
  const known = readJsonFile(home.secretsFile) as Partial<Secrets> | undefined;
  const fresh = generateSecrets();
  // A home that an older release made lacks the secrets that came later.
  if (known && Object.keys(fresh).every((name) => Object.hasOwn(known, name))) return known as Secrets;
  const secrets = { ...fresh, ...known };
  writePrivateFile(home.secretsFile, `${JSON.stringify(secrets, undefined, 2)}\n`);
  return secrets;
}

/** New secrets, none of which was ever used. */
export function generateSecrets(): Secrets {
  // A letter first: a NATS server reads what stands for a variable as configuration, and `12e9…` as a number that ends wrongly.
  const password = () => `p${randomBytes(24).toString('hex')}`;
  const operator = generateComponentKeys(['operator']);
  return {
    ...generateComponentKeys(componentNames),
    keyring: `k1:${randomBytes(32).toString('base64')}`,
    operatorKey: operator.privateKeys.operator ?? '',
    operatorPublicKey: operator.publicKeys.operator ?? '',
    postgresPassword: password(),
    databasePasswords: { ...perComponent(password), owner: password() },
    natsPasswords: { ...perComponent(password), admin: password() },
    sandboxKey: `sk_test_${password()}`,
    sandboxEventsSecret: `whsec_${password()}`,
    pageKey: randomBytes(32).toString('base64'),
  };
}
