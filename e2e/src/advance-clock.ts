import { type Api, type ApiAnswer, waitUntil } from '@eligo/testkit';
import { record } from './records.ts';

/** Advances a test clock until it is there: what takes longer than a request may goes on after its answer. What is refused is answered as it was. */
export async function advanceClock(api: Api, clock: string, frozen_time: string): Promise<ApiAnswer> {
  const path = `/v1/test_helpers/test_clocks/${clock}`;
  const asked = await api.post(`${path}/advance`, { test_clock: { frozen_time } });
  if (asked.status !== 200) return asked;
  return waitUntil(
    async () => {
      const now = await api.get(path);
      return record(now.body, 'test_clock').status !== 'advancing' && now;
    },
    { what: `the clock ${clock} to be at ${frozen_time}` },
  );
}
