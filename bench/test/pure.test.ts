import { newId } from '@eligo/values';
import { describe, expect, it } from 'vitest';
import { isReached, rowOf } from '../src/figures.ts';
import { mappingsOf } from '../src/operations/idle.ts';
import { renewedMeanwhile } from '../src/operations/renewed-meanwhile.ts';
import { readOptions } from '../src/options.ts';
import { parseAnswer } from '../src/processes/connection.ts';
import { freshValues, identifiersIn } from '../src/recording/fresh-values.ts';
import type { SentStatement } from '../src/recording/record-statements.ts';
import { durableTransactions } from '../src/recording/transactions.ts';
import { costsTable, resultsText, tableOf } from '../src/report.ts';
import { withResult } from '../src/results.ts';
import { compare, median } from '../src/rounds.ts';

describe('comparing', () => {
  it('warms both sides up until they have done enough, takes turns, and divides within a round before it takes the median', async () => {
    const turns: string[] = [];
    const side = (name: string, values: number[]) => ({
      async round() {
        turns.push(name);
        return { count: 10, perSecond: values.shift() ?? Number.NaN };
      },
    });
    const compared = await compare(side('ours', [99, 98, 10, 20, 60]), side('theirs', [1, 2, 20, 80, 60]), {
      rounds: 3,
      warmUp: 11,
    });
    expect(turns.join(' ')).toBe('ours ours theirs theirs ours theirs ours theirs ours theirs');
    expect(compared).toEqual({ ratio: 0.5, ours: 20, theirs: 60 });
  });

  it('knows the median of odd and even counts, and of nothing that there is none', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(() => median([])).toThrow('the median of nothing');
  });
});

describe('renewals in a round', () => {
  /** Renews so many a second while some are due, on a clock that only pauses move; a look takes 30 ms. */
  const renewing = (perSecond: number, due: number) => {
    let nowMs = 0;
    let looks = 0;
    const watch = {
      async count() {
        nowMs += 30;
        looks += 1;
        return Math.min(Math.floor((nowMs * perSecond) / 1_000), due);
      },
      async pause(ms: number) {
        nowMs += ms;
      },
      now: () => nowMs,
    };
    return { watch, looks: () => looks };
  };

  it.each([20, 200, 245, 400, 1_000, 1_500])(
    'are counted at their rate, though few are due: %i a second',
    async (rate) => {
      const { watch, looks } = renewing(rate, 1_000);
      const { perSecond, count } = await renewedMeanwhile(watch, { forMs: 4_000, enough: 784 });
      expect(Math.abs(perSecond / rate - 1)).toBeLessThan(0.05);
      expect(count).toBeLessThan(1_000);
      expect(looks()).toBeLessThan(8);
    },
  );

  it('are counted for all of the round where many are due, and until there is one', async () => {
    const many = renewing(400, 100_000);
    expect((await renewedMeanwhile(many.watch, { forMs: 4_000 })).count).toBeCloseTo(1_612, -2);
    expect(many.looks()).toBe(2);
    const slow = await renewedMeanwhile(renewing(0.1, 10).watch, { forMs: 4_000, enough: 5 });
    expect([slow.count, Math.round(slow.perSecond * 10)]).toEqual([1, 1]);
    const none = await renewedMeanwhile(renewing(0, 10).watch, { forMs: 4_000, enough: 5 });
    expect(none).toEqual({ count: 0, perSecond: 0 });
  });
});

describe('results', () => {
  const rowOfRun = (
    operation: 'confirm' | 'latency',
    topology: 'all-in-one' | 'split',
    ratio: number,
    run: string,
  ) => ({
    ...rowOf(operation, topology, { ratio, ours: ratio, theirs: 1 }),
    run,
  });

  it('are replaced row by row, and each tells its run', () => {
    const earlier = [
      rowOfRun('confirm', 'all-in-one', 0.4, 'day one, 5 rounds'),
      rowOfRun('latency', 'all-in-one', 3, 'day one, 5 rounds'),
      rowOfRun('confirm', 'split', 0.5, 'day one, 5 rounds'),
    ];
    const results = withResult(earlier, rowOfRun('confirm', 'all-in-one', 0.6, 'day two, 3 rounds'));
    expect(results.map(({ operation, topology, ratio }) => [operation, topology, ratio])).toEqual([
      ['confirm', 'all-in-one', 0.6],
      ['latency', 'all-in-one', 3],
      ['confirm', 'split', 0.5],
    ]);
    const text = resultsText(results);
    expect(text).toContain('1. day two, 3 rounds\n2. day one, 5 rounds');
    expect(text).toMatch(/\| confirm +\| all-in-one +\| 0\.60 .*\| 1 +\|/);
    expect(text).toMatch(/\| confirm +\| split +\| 0\.50 .*\| 2 +\|/);
  });
});

describe('options', () => {
  it('measures everything in both topologies by default', () => {
    const options = readOptions([]);
    expect(options.topologies).toEqual(['all-in-one', 'split']);
    expect(options.sizes).toMatchObject({ rounds: 5, connections: 16, prices: [10_000, 100_000, 1_000_000] });
    expect(readOptions(['--only', 'confirm', '--only', 'read-price', '--topology', 'split'])).toMatchObject({
      only: ['read-price', 'confirm'],
      topologies: ['split'],
    });
  });

  it.each([['--only', 'nothing'], ['--topology', 'both'], ['--rounds', '0'], ['--what']])(
    'refuses %s %s',
    (...args) => {
      expect(() => readOptions(args)).toThrow('usage: npm run bench');
    },
  );
});

describe('recorded transactions', () => {
  const statement = (connection: number, text: string, role = 'eligo_checkout'): SentStatement => {
    return { connection, role, name: undefined, text, values: [], together: false };
  };
  const begin = "begin; set local eligo.account_id = 'facct_1'";

  it('are those that commit, write, and work within an account, of the roles that count', () => {
    const sent = [
      statement(1, begin),
      statement(2, 'begin'),
      statement(3, begin),
      statement(1, 'insert into a values (1)'),
      statement(2, 'update outbox set published_at = now()'),
      statement(3, 'select 1'),
      statement(9, 'select 2'),
      statement(1, 'commit'),
      statement(2, 'commit'),
      statement(3, 'commit'),
      statement(4, begin, 'eligo_webhooks'),
      statement(4, 'insert into b values (1)', 'eligo_webhooks'),
      statement(4, 'commit', 'eligo_webhooks'),
      statement(1, begin),
      statement(1, 'delete from a'),
      statement(1, 'rollback'),
    ];
    const found = durableTransactions(sent, ['eligo_checkout']);
    expect(found.map(({ statements }) => statements.map(({ text }) => text))).toEqual([
      [begin, 'insert into a values (1)', 'commit'],
    ]);
  });

  it('are replayed with new identifiers, the same in all values of a run, of the same length, and with those that are known', () => {
    const [session, event, account, other] = [
      newId('checkout_session'),
      newId('event'),
      newId('account'),
      newId('price'),
    ];
    const fresh = freshValues(
      new Map([
        [account, account],
        [session, other],
      ]),
    );
    const [a, b, c, d, e, f] = fresh([
      account,
      `POST /${session}/confirm`,
      event,
      Buffer.from(`\x00${event}\xff`, 'latin1'),
      { [event]: [event] },
      7n,
    ]);
    expect(a).toBe(account);
    expect(b).toBe(`POST /${other}/confirm`);
    expect(c).toMatch(/^fevt_[0-9a-z]{26}$/);
    expect(c).not.toBe(event);
    expect(d).toEqual(Buffer.from(`\x00${String(c)}\xff`, 'latin1'));
    expect(e).toEqual({ [String(c)]: [c] });
    expect(f).toBe(7n);
    expect([...identifiersIn([session, [Buffer.from(event)], { at: new Date(0) }])]).toEqual([session, event]);
  });
});

describe('answers', () => {
  const whole = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');

  it('are read when they are whole, and not before', () => {
    for (let length = 0; length < whole.length; length += 1)
      expect(parseAnswer(whole.subarray(0, length))).toBeUndefined();
    const answer = parseAnswer(Buffer.concat([whole, Buffer.from('HTTP/1.1')]));
    expect(answer).toMatchObject({ status: 200, bytes: whole.length });
    expect(answer?.body()).toBe('{}');
  });

  it('without a length are refused: the load would wait for ever', () => {
    expect(() => parseAnswer(Buffer.from('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n'))).toThrow('length');
  });

  it('are read when their last chunk is there, and not before', () => {
    const text = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na,b\r\na\r\n\r\n12345678\r\n0\r\n\r\n';
    for (let length = 0; length < text.length; length += 1)
      expect(parseAnswer(Buffer.from(text.slice(0, length)))).toBeUndefined();
    const answer = parseAnswer(Buffer.from(`${text}HTTP/1.1`));
    expect(answer).toMatchObject({ status: 200, bytes: text.length });
    expect(answer?.body()).toBe('a,b\r\n12345678');
  });
});

describe('rows', () => {
  it('reach their goal from above or from below, as the figure says', () => {
    const row = (operation: 'confirm' | 'memory', ratio: number) =>
      rowOf(operation, 'split', { ratio, ours: 1, theirs: 2 });
    expect([row('confirm', 0.35), row('confirm', 0.34), row('memory', 650), row('memory', 651)].map(isReached)).toEqual(
      [true, false, true, false],
    );
    expect(tableOf([row('confirm', 0.2)])).toContain('0.20 ✗');
    expect(() => rowOf('confirm', 'elsewhere' as never, { ratio: 1, ours: 1, theirs: 1 })).toThrow('no figure');
  });
});

describe('the costs of writes', () => {
  it('are printed with the processor time of each process, also of a write that no request begins', () => {
    const costs = {
      ...{
        perSecond: 1,
        sustainedPerSecond: 1,
        walBytes: 2_500,
        transactions: 5,
        statements: { sent: 40, nested: 70 },
      },
      processorMs: { gateway: 0.5, checkout: 3.25, app: 0, postgres: 8, nats: 0.4, processor: 1 },
    };
    const row = rowOf('capture', 'split', { ratio: 1, ours: 1, theirs: 1 });
    const own = { statements: 11, transactions: 2, roundTrips: 6 };
    const renewal = { ...rowOf('renewal-floor', 'split', { ratio: 1, ours: 1, theirs: 1 }) };
    const [head = '', , captured = '', renewed = ''] = costsTable([
      { ...row, costs: { ...costs, own } },
      { ...renewal, costs: { ...costs, own: undefined } },
    ]).split('\n');
    const cells = (line: string) =>
      line
        .split('|')
        .map((cell) => cell.trim())
        .slice(1, -1);
    expect(cells(captured).slice(0, 5)).toEqual(['capture', 'split', '11', '2', '6']);
    expect(cells(renewed).slice(0, 5)).toEqual(['renewal-floor', 'split', '', '', '']);
    expect(cells(captured).at(-1)).toBe('checkout 3.25, gateway 0.50, app 0.00');
    expect(cells(captured)).toHaveLength(cells(head).length);
  });
});

describe('the memory of a process', () => {
  it('is its own pages, and what it has of each mapped file without the pages that it changed', () => {
    const smaps = [
      '00400000-06000000 r-xp 00000000 fe:00 77 /opt/node',
      'Rss:               40000 kB',
      'Anonymous:             0 kB',
      '06000000-06100000 rw-p 05c00000 fe:00 77 /opt/node',
      'Rss:                 900 kB',
      'Anonymous:           600 kB',
      '7f0000000000-7f0000200000 rw-p 00000000 00:00 0 ',
      'Rss:                2000 kB',
      'Anonymous:          2000 kB',
    ].join('\n');
    const { anonymous, files } = mappingsOf(smaps);
    expect(anonymous).toBe(2_600);
    expect(Object.fromEntries(files)).toEqual({ '/opt/node': 40_300, '': 0 });
  });
});
