import { billingService } from '@eligo/billing';
import { catalogService } from '@eligo/catalog';
import { checkoutService } from '@eligo/checkout';
import { gatewayService } from '@eligo/gateway';
import { refundsService } from '@eligo/refunds';
import { EnvironmentReader, readServiceSettings } from '@eligo/service';
import { webhooksService } from '@eligo/webhooks';
import { expect, it } from 'vitest';
import { variablesReadBy } from '../src/component-variables.ts';
import { type ComponentName, componentNames, perComponent } from '../src/components.ts';
import { componentVariables } from '../src/environment.ts';
import { generateSecrets } from '../src/secrets.ts';

const secrets = generateSecrets();
const shared = {
  secrets,
  processor: { url: 'http://127.0.0.1:4242', key: secrets.sandboxKey },
  publicUrl: 'http://localhost:8080',
  mailFolder: '/tmp/mail',
  home: '/home',
  peers: { catalog: 'http://127.0.0.1:9000' },
};

function variablesOf(name: ComponentName, inherited: Record<string, string> = {}) {
  const place = { name, databaseUrl: `postgres://${name}@db/eligo`, natsUrl: 'nats://n', adminPort: 1, port: 2 };
  return componentVariables(inherited, place, shared);
}

const settingsOf: Readonly<Record<ComponentName, ((environment: EnvironmentReader) => unknown) | undefined>> = {
  catalog: catalogService.settings,
  checkout: checkoutService.settings,
  billing: billingService.settings,
  refunds: refundsService.settings,
  webhooks: webhooksService.settings,
  gateway: gatewayService.settings,
};

it.each(componentNames)('lists exactly the variables that %s reads [D14.195]', (name) => {
  const read = new Set<string>();
  // With failpoints on and a processor configured, optional variables are asked for, too.
  const given = new Proxy(variablesOf(name, { ELIGO_FAILPOINTS: 'on' }), {
    get(target, key) {
      if (typeof key === 'string') read.add(key.replace(/_FILE$/, ''));
      return Reflect.get(target, key);
    },
  });
  const environment = new EnvironmentReader(given);
  readServiceSettings(environment, name);
  settingsOf[name]?.(environment);
  expect([...read].sort()).toEqual([...variablesReadBy(name)].sort());
});

it('tells the room of JetStream where the stack starts the server, and of another server only what it is told [D14.391]', () => {
  expect(variablesOf('billing').ELIGO_NATS_STORE_GB).toBe('10');
  expect(variablesOf('billing', { ELIGO_NATS_STORE_GB: '40' }).ELIGO_NATS_STORE_GB).toBe('40');
  expect(variablesOf('billing', { NATS_URL: 'nats://own' }).ELIGO_NATS_STORE_GB).toBeUndefined();
  expect(variablesOf('billing', { NATS_URL: 'nats://own', ELIGO_NATS_STORE_GB: '40' }).ELIGO_NATS_STORE_GB).toBe('40');
  const storeOf = (record: Record<string, string>) =>
    readServiceSettings(new EnvironmentReader(record), 'billing').natsStoreBytes;
  expect(storeOf({})).toBeUndefined();
  expect(storeOf({ ELIGO_NATS_STORE_GB: '2' })).toBe(2 * 1_073_741_824);
});

it('gives a process its own secrets, those that it uses, and nothing else of the environment [D14.195]', () => {
  const inherited = {
    ...{ PATH: '/bin', LOG_LEVEL: 'debug', AWS_SECRET_ACCESS_KEY: 'x', ELIGO_OPERATOR_KEY: 'x', ELIGO_API_KEY: 'x' },
    ...{ STRIPE_SECRET_KEY: 'sk_live_x', ELIGO_SMTP_URL_FILE: '/run/smtp', ELIGO_STRIPE_EVENTS_SECRET: 'whsec_x' },
    ...{ DATABASE_URL: 'postgres://root@db', CATALOG_DATABASE_URL: 'postgres://x', OWNER_DATABASE_PASSWORD: 'x' },
  };
  const holders = (value: string | undefined) =>
    componentNames.filter((name) => Object.values(variablesOf(name, inherited)).includes(value));
  expect(holders('/bin')).toEqual([...componentNames]);
  expect(holders('debug')).toEqual([...componentNames]);
  expect(holders('x')).toEqual([]);
  expect(holders('postgres://root@db')).toEqual([]);
  expect(holders(secrets.operatorKey)).toEqual([]);
  expect(holders(secrets.operatorPublicKey)).toEqual([...componentNames]);
  expect(holders(secrets.keyring)).toEqual(['checkout', 'webhooks']);
  expect(holders(secrets.pageKey)).toEqual(['checkout', 'billing', 'gateway']);
  expect(holders(secrets.sandboxKey)).toEqual(['checkout', 'refunds']);
  expect(holders(secrets.sandboxEventsSecret)).toEqual(['gateway']);
  expect(holders('sk_live_x')).toEqual(['checkout', 'refunds']);
  expect(holders('whsec_x')).toEqual(['gateway']);
  expect(holders('/run/smtp')).toEqual(['billing']);
  // A folder would take the mails before the server in the file.
  expect(variablesOf('billing', inherited).ELIGO_MAIL_FOLDER).toBe('');
  expect(variablesOf('billing').ELIGO_MAIL_FOLDER).toBe('/tmp/mail');
  expect(perComponent((name) => holders(secrets.privateKeys[name]))).toEqual(perComponent((name) => [name]));
});
