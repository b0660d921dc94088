import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { type Answer, chargesOf, newHome, newIntent, type Sender, secretKey, sender } from './support.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

interface Process {
  child: ChildProcess;
  url: string;
  stripe: Sender;
}

/** The sandbox in a process of its own, so that it can be killed. */
async function start(home: string): Promise<Process> {
  const child = spawn(process.execPath, [main], {
    env: {
      PATH: process.env.PATH,
      HOST: '127.0.0.1',
      PORT: '0',
      ELIGO_SANDBOX_HOME: home,
      ELIGO_SANDBOX_KEY: secretKey,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  if (child.stdout === null) throw new Error('the sandbox has no standard output');
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, url } = JSON.parse(line);
    if (msg !== 'Started') continue;
    // A full pipe would stop it.
    child.stdout.resume();
    return { child, url, stripe: sender(url) };
  }
  throw new Error('the sandbox ended before it was ready');
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

test('killed in mid-load three times: every acknowledged charge is there, once, and every key replays its bytes', async () => {
  const home = newHome();
  const acknowledged: { id: string; key: string; answer: Answer }[] = [];
  let lost = 0;
  for (let round = 0; round < 3; round++) {
    const { child, stripe } = await start(home);
    const enough = acknowledged.length + 100;
    await Promise.all(
      Array.from({ length: 16 }, async (_, worker) => {
        try {
          for (let count = 0; ; count++) {
            const id = await newIntent(stripe, { 'metadata[attempt]': `${round}-${worker}-${count}` });
            const key = `${round}-${worker}-${count}:confirm`;
            acknowledged.push({ id, key, answer: await stripe.post(`/v1/payment_intents/${id}/confirm`, {}, key) });
            if (acknowledged.length === enough) await kill(child);
          }
        } catch (error) {
          // The kill takes the others' connections with it.
          expect(error).toBeInstanceOf(TypeError);
          lost += 1;
        }
      }),
    );
  }
  expect(lost).toBe(3 * 16);

  const { stripe } = await start(home);
  const charges = await chargesOf(stripe);
  const chargesByIntent = Map.groupBy(charges, (charge) => charge.payment_intent);
  for (const { id, key, answer } of acknowledged) {
    expect(answer.status).toBe(200);
    expect(chargesByIntent.get(id)).toMatchObject([
      { status: 'succeeded', amount_captured: 1000, idempotency_key: key },
    ]);
  }
  // What was done and not acknowledged is there as well, and also only once.
  expect([...chargesByIntent.values()].filter((found) => found.length > 1)).toEqual([]);
  for (const { id, key, answer } of acknowledged.slice(-100)) {
    const replay = await stripe.post(`/v1/payment_intents/${id}/confirm`, {}, key);
    expect([replay.replayed, replay.text]).toEqual([true, answer.text]);
  }
}, 90_000);

test('the clock of the keys goes on where it stood', async () => {
  const home = newHome();
  const first = await start(home);
  await first.stripe.post('/v1/customers', {}, 'k1');
  await first.stripe.witness('POST', '/sandbox/clock', { advance_ms: 24 * 60 * 60 * 1000 });
  await kill(first.child);
  const second = await start(home);
  expect((await second.stripe.post('/v1/customers', {}, 'k1')).replayed).toBe(false);
});

test('it logs Started once its port accepts connections', async () => {
  const { url } = await start(newHome());
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
});

test('SIGTERM ends it with code 0 once it has answered what was running', async () => {
  const { child, stripe } = await start(newHome());
  await stripe.witness('POST', '/sandbox/faults', { fault: { call: 'customers.create', kind: 'slow', delay_ms: 300 } });
  const running = stripe.post('/v1/customers', {}, 'k1');
  await expect.poll(async () => (await stripe.get('/v1/customers')).json.data.length, { interval: 10 }).toBe(1);
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  expect((await running).status).toBe(200);
  expect(await ended).toEqual([0, null]);
});

test('a home that is in use is refused', async () => {
  const home = newHome();
  await start(home);
  const second = spawn(process.execPath, [main], {
    env: { PATH: process.env.PATH, PORT: '0', ELIGO_SANDBOX_HOME: home, ELIGO_SANDBOX_KEY: secretKey },
    stdio: 'ignore',
  });
  const [code] = await once(second, 'exit');
  expect(code).not.toBe(0);
});

test('it does not start without a home and a key', async () => {
  const child = spawn(process.execPath, [main], { env: { PATH: process.env.PATH }, stdio: 'ignore' });
  expect((await once(child, 'exit'))[0]).toBe(1);
});
