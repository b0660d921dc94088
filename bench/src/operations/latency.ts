import { type Bench, loadShared } from '../bench.ts';
import { requestText } from '../requests.ts';
import { type Compared, median } from '../rounds.ts';
import { priceIdAt } from '../seed/prices.ts';

/** How much longer than the usual read the slow ones take, at half of the highest throughput. */
export async function latency(bench: Bench): Promise<Compared> {
  const { sizes, stack } = bench;
  const account = await bench.priceAccount(1);
  const texts = Array.from({ length: 1_000 }, (_, index) =>
    requestText('GET', `/v1/prices/${priceIdAt(1 + ((index * 7) % sizes.prices[1]))}`, account.apiKey),
  );
  for (let done = 0; done < sizes.warmUp.reads; ) done += (await loadShared(bench, stack.port, texts)).count;
  const { perSecond } = await loadShared(bench, stack.port, texts);
  const rounds: { p50Ms: number; p99Ms: number }[] = [];
  for (let round = 0; round < sizes.rounds; round += 1) {
    rounds.push(
      await bench.load.ask('run', {
        port: stack.port,
        connections: sizes.connections,
        requests: { kind: 'shared', texts, seconds: sizes.seconds },
        perSecond: perSecond / 2,
      }),
    );
  }
  return {
    ratio: median(rounds.map(({ p50Ms, p99Ms }) => p99Ms / p50Ms)),
    ours: median(rounds.map(({ p99Ms }) => p99Ms)),
    theirs: median(rounds.map(({ p50Ms }) => p50Ms)),
  };
}
