import { type Bench, placeOf } from '../bench.ts';
import type { WriteOperation } from '../costs/write-operations.ts';
import { loadEach } from '../load-each.ts';
import { quiet } from '../quiet.ts';
import { type Compared, compare, type Round } from '../rounds.ts';
import { floorIsFaster, openFloor } from './open-floor.ts';
import { endRefundWatch } from './refund.ts';
import { confirmSessions, createTexts, openSessions, type Place, paidSessions, refundSessions } from './sessions.ts';

/** Compares a write with the least that it must make durable; with `calls` the floor also calls the processor as the write does. */
export const againstFloor = (operation: WriteOperation, form: 'bare' | 'calls') => async (bench: Bench) => {
  const { sizes, postgres } = bench;
  const place = await placeOf(bench);
  const floor = await openFloor(bench, form);
  const perConnection = Math.ceil(sizes.perRound / sizes.connections);
  const compared: Compared = await compare(
    {
      async round() {
        const send = await prepare(place, operation, perConnection);
        await quiet(postgres);
        return send();
      },
    },
    {
      async round() {
        await quiet(postgres);
        return bench.frozen(() => floor.ask('run', { operation, perConnection: perConnection * floorIsFaster }));
      },
    },
    { rounds: sizes.rounds, warmUp: sizes.warmUp.writes },
  );
  if (operation === 'refund') await endRefundWatch(postgres);
  return compared;
};

async function prepare(place: Place, operation: WriteOperation, each: number): Promise<() => Promise<Round>> {
  // The floor keeps a key with each session.
  if (operation === 'create-session') return () => loadEach(place, createTexts(place, each, { keyed: true }));
  if (operation === 'confirm') {
    const sessions = await openSessions(place, each);
    return () => confirmSessions(place, sessions);
  }
  const sessions = await paidSessions(place, each);
  return () => refundSessions(place, sessions);
}
