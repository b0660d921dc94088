import { type NatsPlace, type Supervised, startNats } from '@eligo/stack';
import { type TestHome, testHome } from './test-home.ts';

/** A nats-server of a test's own, which it may stop, kill, and put older files under. */
export interface TestNats {
  readonly url: string;
  readonly storeDir: string;
  readonly home: TestHome;
  readonly process: Supervised;
  stop(): Promise<void>;
}

/** Where the nats-server of this test run is: shared by all its tests, so streams need names of their own. */
export function testNatsUrl(): string {
  const url = process.env.ELIGO_TEST_NATS_URL;
  if (!url) throw new Error('ELIGO_TEST_NATS_URL is not set: vitest runs with the global set-up of @eligo/testkit');
  return url;
}

/** Starts a nats-server that nobody else uses; open to all by default, on the loopback interface. */
export async function testNats(configuration = openNatsConfiguration): Promise<TestNats> {
  const home = testHome('nats');
  let place: NatsPlace | undefined;
  const server = await startNats(home, {
    configuration: (given) => {
      place = given;
      return configuration(given);
    },
    onNews: (text) => console.error(text),
    onTrouble: () => undefined,
  });
  return {
    url: `nats://${server.host}:${server.port}`,
    storeDir: place?.storeDir ?? '',
    home,
    process: server.process,
    async stop() {
      await server.process.stop(5_000);
      home.remove();
    },
  };
}

/** JetStream without users. */
export function openNatsConfiguration({ host, port, storeDir }: NatsPlace): string {
  return [
    `host: ${JSON.stringify(host)}`,
    `port: ${port}`,
    'jetstream {',
    `  store_dir: ${JSON.stringify(storeDir)}`,
    '  max_memory_store: 64MB',
    '  max_file_store: 1GB',
    '}',
    '',
  ].join('\n');
}
