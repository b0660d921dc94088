import type { Command } from '../command.ts';
import { publicApi } from '../connect.ts';

/** What the books say of some days. */
export const reportCommands: readonly Command[] = [
  {
    name: 'reports reconciliation',
    usage: '[--from DAY] [--to DAY]',
    summary:
      'Prints the reconciliation report of the account as CSV, with --json as JSON. Days are UTC; without any, yesterday. Uses ELIGO_URL and ELIGO_API_KEY, or the running stack’s demo account.',
    readsOnly: true,
    options: { from: { type: 'string' }, to: { type: 'string' } },
    async run(given) {
      const query = new URLSearchParams({ format: given.asJson ? 'json' : 'csv' });
      for (const name of ['from', 'to']) {
        const day = given.text(name);
        if (day !== undefined) query.set(name, day);
      }
      const path = `/v1/reports/reconciliation?${query}`;
      if (given.asJson) return { json: await publicApi().send('GET', path), lines: [] };
      for await (const line of publicApi().lines(path)) given.say(line);
      return { json: {}, lines: [] };
    },
  },
];
