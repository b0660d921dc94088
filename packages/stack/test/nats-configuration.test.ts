import { createLogger } from '@eligo/service';
import { testDatabase, testNats, waitUntil } from '@eligo/testkit';
import { connect as connectNats } from 'nats';
import { expect, it } from 'vitest';
import { componentNames, serviceNames } from '../src/components.ts';
import { loadCompositions } from '../src/compositions.ts';
import { componentVariables } from '../src/environment.ts';
import { natsConfiguration } from '../src/nats/configuration.ts';
import { busConsumers, busConsumerTypes } from '../src/nats/consumers.ts';
import { generateSecrets } from '../src/secrets.ts';

it('is what deploy/nats.conf holds for the compose file, with passwords from the environment', async () => {
  const place = { host: '0.0.0.0', port: 4222, storeDir: '/data/jetstream', monitor: '127.0.0.1:8222' };
  const text = natsConfiguration(place, (name) => `$${name.toUpperCase()}_NATS_PASSWORD`);
  const note = '# What packages/stack generates for docker-compose.yml; a test holds the two together.\n';
  await expect(note + text).toMatchFileSnapshot('../../../deploy/nats.conf');
});

it('lets each component run just the consumers that it declares, and knows what they take', async () => {
  const { migrations, open } = await loadCompositions();
  const database = await testDatabase(...componentNames.map((name) => ({ name, migrations: migrations[name] })));
  const declared: Record<string, Record<string, string[]>> = {};
  const types: Record<string, readonly string[]> = {};
  try {
    for (const name of componentNames) {
      const component = await open(name, {
        environment: variablesOf(name, database.urlOf(name)),
        transportTo: () => unreachable,
        logger: createLogger({ service: name, level: 'silent' }),
        connectEvents: async () => ({
          check: async () => undefined,
          startRelay: () => ({ stop: async () => undefined }),
          startConsumer(_database, definition) {
            const own = declared[name] ?? {};
            declared[name] = own;
            for (const { from, types: taken } of definition.subscriptions) {
              own[from] = [...(own[from] ?? []), definition.consumer];
              types[`${name} ${definition.consumer}`] = taken;
            }
            return { stop: async () => undefined };
          },
          close: async () => undefined,
        }),
      });
      await component.stop();
    }
  } finally {
    await database.drop();
  }
  expect(declared).toEqual(busConsumers);
  const known = Object.entries(types).map(([consumer, taken]) =>
    // Those of partners are the contract's to list.
    [consumer, busConsumerTypes[consumer] === 'public' ? 'public' : taken],
  );
  expect(Object.fromEntries(known)).toEqual(busConsumerTypes);
});

it('gives no user more than its own: another service’s subjects are refused, and strangers are not let in', async () => {
  const nats = await testNats((place) => natsConfiguration(place, (name) => `${name}-password`));
  try {
    const { host } = new URL(nats.url);
    await expect(connectNats({ servers: host })).rejects.toThrow(/authorization/i);
    const billing = await connectNats({
      servers: host,
      user: 'billing',
      pass: 'billing-password',
      inboxPrefix: '_INBOX_billing',
    });
    const refused: string[] = [];
    void (async () => {
      for await (const status of billing.status()) refused.push(String(status.data));
    })();
    billing.publish('eligo.billing.test.invoice.paid', 'own');
    for (const name of serviceNames.filter((other) => other !== 'billing'))
      billing.publish(`eligo.${name}.test.forged`, 'x');
    await waitUntil(() => refused.length === serviceNames.length - 1, {
      what: 'a refusal for each subject of another',
    });
    await billing.close();
  } finally {
    await nats.stop();
  }
});

const unreachable = {
  unary: () => Promise.reject(new Error('nobody is called in this test')),
  stream: () => Promise.reject(new Error('nobody is called in this test')),
};

function variablesOf(name: (typeof componentNames)[number], databaseUrl: string) {
  const secrets = generateSecrets();
  return componentVariables(
    { ELIGO_ENV: 'test' },
    { name, databaseUrl, natsUrl: 'nats://127.0.0.1:1', adminPort: 0, port: 0 },
    { secrets, processor: { url: 'http://127.0.0.1:1', key: secrets.sandboxKey }, peers: {} },
  );
}
