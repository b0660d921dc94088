import { describe, expect, it } from 'vitest';
import { ConsumerPace } from '../src/consumer-pace.ts';

interface Consumer {
  readonly name: string;
  /** How many events it handles a second at this time; 0 while it does not run. */
  readonly perSecondAt: (seconds: number) => number;
  /** Whether it is given the events of the repair. */
  readonly isGivenRepaired?: boolean;
}

interface Simulated {
  /** When each new event came and when the consumer had handled it, in seconds. */
  readonly newEvents: { readonly at: number; handledAt: number | undefined }[];
  repaired: number;
}

/**
 * A repair that publishes four thousand events a second for a time, beside ten new events a second, and the consumers of its stream, which handle events in the order
 * of the stream. A step of all is a tick of a clock of its own.
 */
async function simulate(consumers: readonly Consumer[], seconds: number): Promise<Map<string, Simulated>> {
  const tickMs = 20;
  let nowMs = 0;
  const states = consumers.map((consumer) => ({
    ...{ consumer, stream: [] as ({ at: number; handledAt: number | undefined } | undefined)[], acked: 0, credit: 0 },
    told: { newEvents: [], repaired: 0 } as Simulated,
  }));
  const list = async () =>
    states.map(({ consumer: { name }, stream, acked }) => ({
      ...{ name, num_pending: stream.length - acked, num_ack_pending: 0, ack_floor: { consumer_seq: acked } },
    }));
  const pace = new ConsumerPace(list, { now: () => nowMs });
  for (; nowMs < seconds * 1_000; nowMs += tickMs) {
    const at = nowMs / 1_000;
    const room = await pace.room(80);
    for (const state of states) {
      const { consumer, stream, told } = state;
      if (consumer.isGivenRepaired !== false) {
        for (let more = 0; more < room; more += 1) stream.push(undefined);
        told.repaired += room;
      }
      if (nowMs % 100 === 0) {
        const event = { at, handledAt: undefined };
        stream.push(event);
        told.newEvents.push(event);
      }
      const perSecond = consumer.perSecondAt(at);
      state.credit = perSecond === 0 ? 0 : state.credit + (perSecond * tickMs) / 1_000;
      for (; state.credit >= 1 && state.acked < stream.length; state.credit -= 1) {
        const event = stream[state.acked];
        if (event !== undefined) event.handledAt = at;
        state.acked += 1;
      }
      // It does not save up what it could have handled.
      state.credit = Math.min(state.credit, 1);
    }
  }
  return new Map(states.map(({ consumer, told }) => [consumer.name, told]));
}

function longestWait(told: Simulated | undefined, until: number, from = 0): number {
  const events = (told?.newEvents ?? []).filter(({ at }) => at >= from && at < until);
  expect(events.length).toBeGreaterThan(50);
  return Math.max(...events.map(({ at, handledAt }) => (handledAt ?? Number.POSITIVE_INFINITY) - at));
}

it.each([
  ['where what waits falls meanwhile', 1_300, 4],
  ['where as much is published', 8, 0],
])(
  'an event that is acknowledged after thirty seconds makes no consumer of 40 a second faster, %s',
  async (_, waitsAtFirst, falls) => {
    let nowMs = 0;
    let [handled, waiting, most] = [0, waitsAtFirst, 0];
    const isLate = () => nowMs >= 100 && nowMs < 30_000;
    const list = async () => [
      { name: 'a', num_pending: waiting, num_ack_pending: 0, ack_floor: { consumer_seq: isLate() ? 4 : handled } },
    ];
    const pace = new ConsumerPace(list, { now: () => nowMs });
    for (; nowMs < 31_000; nowMs += 100) {
      handled += 4;
      waiting -= falls;
      most = (await pace.room(512)) + waiting;
    }
    expect(most).toBeLessThan(40 * 3 * 1.5);
  },
);

describe('beside a repair new events wait less than five seconds', () => {
  it.each([40, 100, 700, 3_000])('for a consumer of %i a second, which the repair uses', async (perSecond) => {
    const told = (await simulate([{ name: 'a', perSecondAt: () => perSecond }], 60)).get('a');
    expect(longestWait(told, 54)).toBeLessThan(5);
    expect(told?.repaired).toBeGreaterThan(0.7 * Math.min(perSecond - 10, 2_500) * 60);
  });

  it.each([40, 700])('after a restart of fifteen seconds, for a consumer of %i a second', async (perSecond) => {
    const isAway = (at: number) => at >= 20 && at < 35;
    const restarted = { name: 'a', perSecondAt: (at: number) => (isAway(at) ? 0 : perSecond) };
    const told = (await simulate([restarted, { name: 'b', perSecondAt: () => 700 }], 80)).get('a');
    // Those that came shortly before it waited for its end as well.
    expect(longestWait(told, 35)).toBeLessThan(15 + 5);
    // The new events of the outage, ten a second, take their time as well.
    expect(longestWait(told, 74, 35)).toBeLessThan(5 + 150 / perSecond);
  });

  it('after a minute in which the consumer did not run', async () => {
    const restarted = { name: 'a', perSecondAt: (at: number) => (at < 10 || at >= 70 ? 100 : 0) };
    const told = (await simulate([restarted], 100)).get('a');
    // It has what came meanwhile to handle first, which is a tenth of what it can.
    expect(longestWait(told, 94, 85)).toBeLessThan(5);
  });

  it('for a consumer that slows down to a quarter', async () => {
    const slower = { name: 'a', perSecondAt: (at: number) => (at < 20 ? 800 : 200) };
    expect(longestWait((await simulate([slower], 60)).get('a'), 54)).toBeLessThan(5);
  });
});

describe('a repair for the others', () => {
  const fast = { name: 'fast', perSecondAt: () => 700 };

  it.each([
    { what: 'does not run', perSecondAt: () => 0 },
    {
      what: 'is started again and again, and handles a few events each time',
      perSecondAt: (at: number) => (at % 60 < 2 ? 100 : 0),
    },
  ])('is held up for five minutes by a consumer that $what, and goes on then', async ({ perSecondAt }) => {
    const told = await simulate([{ name: 'dead', perSecondAt }, fast], 700);
    expect(told.get('fast')?.repaired).toBeGreaterThan(700 * 0.8 * 300);
    expect(longestWait(told.get('fast'), 690)).toBeLessThan(5);
  });

  it('waits again for a consumer that runs again, until it has caught up', async () => {
    const returning = { name: 'a', perSecondAt: (at: number) => (at < 320 ? 0 : 1_000) };
    const told = (await simulate([returning, fast], 420)).get('a');
    expect(told?.repaired).toBeGreaterThan(10_000);
    expect(longestWait(told, 414, 380)).toBeLessThan(5);
  });

  it('is not slowed down much by a consumer that it has nothing for', async () => {
    const other = { name: 'other', perSecondAt: () => 40, isGivenRepaired: false };
    const told = await simulate([other, fast], 30);
    expect(told.get('fast')?.repaired).toBeGreaterThan(690 * 0.7 * 30);
  });
});

it('what was measured of a consumer during one repair does not count in the next', async () => {
  let nowMs = 0;
  let acked = 0;
  const list = async () => [{ name: 'a', num_pending: 400, num_ack_pending: 0, ack_floor: { consumer_seq: acked } }];
  const pace = new ConsumerPace(list, { now: () => nowMs });
  expect(await pace.room(200)).toBe(0);
  // An hour without a repair, in which there was little to do: that is no consumer that handles too little.
  nowMs += 3_600_000;
  acked += 100;
  expect(await pace.room(200)).toBe(0);
});
