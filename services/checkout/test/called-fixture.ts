import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openProcessors } from '@eligo/processor';
import { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import {
  type CallOptions,
  type Client,
  client,
  generateComponentKeys,
  implement,
  inProcessTransport,
  openIdentity,
  rpcServer,
} from '@eligo/rpc';
import { startSandbox } from '@eligo/sandbox';
import { customerHandlers } from '../src/rpc/customers.ts';
import { paymentMethodHandlers } from '../src/rpc/payment-methods.ts';
import { sessionHandlers } from '../src/rpc/sessions.ts';
import { type Fixture, openFixture } from './fixture.ts';

/** Checkout called as the gateway calls it, every message through its encoding, with the sandbox processor behind it. */
export interface CalledFixture extends Fixture {
  readonly checkout: Client<typeof CheckoutService>;
  /** The fixture's account, in test mode unless said otherwise. */
  as(testMode?: boolean): CallOptions;
}

export async function openCalledFixture(): Promise<CalledFixture> {
  const fixture = await openFixture();
  const home = await mkdtemp(join(tmpdir(), 'eligo-sandbox-'));
  const secretKey = 'sk_test_checkout_machine';
  const sandbox = await startSandbox({ home, host: '127.0.0.1', port: 0, secretKey });
  const processors = openProcessors({ ELIGO_SANDBOX_URL: sandbox.url, ELIGO_SANDBOX_KEY: secretKey });
  const context = { ...fixture.context, processors };
  const keys = generateComponentKeys(['gateway', 'checkout']);
  const identityOf = (name: string) =>
    openIdentity({ name, privateKey: keys.privateKeys[name] ?? '', publicKeys: keys.publicKeys });
  const gateway = identityOf('gateway');
  const handlers = [
    implement(CheckoutService, {
      ...customerHandlers(context),
      ...paymentMethodHandlers(context),
      ...sessionHandlers(context),
    }),
  ];
  const server = rpcServer({ identity: identityOf('checkout'), handlers });
  return {
    ...fixture,
    context,
    checkout: client(CheckoutService, inProcessTransport(server, { encode: true }), gateway),
    as: (testMode = true) => ({ caller: gateway.callerFor({ accountId: fixture.scope.accountId, testMode }) }),
    async close() {
      processors.close();
      await sandbox.stop();
      await fixture.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}
