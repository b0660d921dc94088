import type { DescMethod } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import type { Call, TakeTurn } from '@eligo/rpc';
import type { MeteredWork } from './cost-meter.ts';
import { enterPresent, type TurnLine } from './enter-present.ts';
import { type ProcessTurns, processTurns } from './process-turns.ts';
import { readinessCaller } from './readiness-caller.ts';
import { SharedRequests } from './shared-requests.ts';
import type { TurnCaller } from './turn-caller.ts';

/**
 * The turns of an account's calls at one service, by the same rules as those of its requests at the gateway: while several accounts are short of time, an account
 * has a few calls at work, those that read much begin only while its budget is not used up, and none begins while it took more than the share of its key. A call
 * that waits for too long is refused.
 *
 * Only what a partner's key asks the gateway for waits. A call of another service continues work that was let in, a shopper's page has limits of its own, and in
 * one process with the gateway the request has its turn already.
 */
export function callTurns(here: ProcessTurns = processTurns()): TakeTurn {
  const { neighbors, budgets, meter } = here;
  const small = new SharedRequests(neighbors, bounds, (caller) => budgets.isOver(caller));
  const expensive = new SharedRequests(neighbors, bounds, (caller) => budgets.isSpent(caller));
  return (method, call, isMeasured) => {
    const { from, caller } = call;
    if (caller.accountId === '' || caller.accountId === readinessCaller.accountId || meter.isRunning) return undefined;
    const account = turnCallerOf(call);
    const isHeld = from === 'gateway' && caller.keyId !== '';
    const isExpensive = isHeld && (readsMuch(method) || neighbors.yields(account));
    const work: MeteredWork = { caller: account, isExpensive, wholeFor: isMeasured ? 'caller' : undefined };
    const run = <Result>(step: () => Result) => meter.run(work, step);
    const workedMs = isMeasured ? () => meter.workedMs(work) : undefined;
    // No client waits for a service's own work, and no budget is charged with it. So it is measured only where others are.
    if (caller.issuer !== 'gateway') {
      neighbors.saw(account);
      const isCounted = isMeasured || meter.isMeasuring;
      return { entered: undefined, run: isCounted ? run : (step) => step(), workedMs };
    }
    const entered = enterPresent(neighbors, account, isHeld ? (isExpensive ? expensive : small) : open);
    // An account does not count as waiting while its caller reads.
    const awaitsReader = () => {
      neighbors.left(account);
      return () => neighbors.arrived(account);
    };
    const leaveAll = (leave: () => void) => () => {
      leave();
      neighbors.left(account);
    };
    const entry = entered instanceof Promise ? entered.then(leaveAll) : leaveAll(entered);
    return { entered: entry, run, workedMs, awaitsReader };
  };
}

// The limit is what the gateway signed: a service has none to tell.
function turnCallerOf({ scope: { accountId, testMode }, caller: { issuer, requestsPerSecond } }: Call): TurnCaller {
  const isLimited = issuer === 'gateway' && requestsPerSecond > 0;
  return { accountId, testMode, perSecond: isLimited ? requestsPerSecond : undefined };
}

/** For calls that never wait. */
const open: TurnLine = { enter: () => () => undefined };

// Lists, reports and documents.
function readsMuch({ idempotency, name }: DescMethod): boolean {
  return idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS && !smallRead.test(name);
}

const smallRead = /^(Get|BatchGet)(?!.*(Document|Statement|Substantiation|Timeline)$)/;

const bounds = {
  // The burst that the default limit of a live key lets through.
  waitingOfAccount: 400,
  // Of the nine seconds that a charge may take, the queue for a card and the processor need seven.
  longestWaitMs: 2_000,
};
