import type { DescMethod } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import type { TakeTurn } from '@eligo/rpc';
import { type ProcessTurns, processTurns } from './process-turns.ts';
import { SharedRequests } from './shared-requests.ts';

/**
 * The turns of an account's calls at one service, by the same rules as those of its requests at the gateway: while several accounts are short of time, an account
 * has a few calls at work, and those that read much begin only while its budget is not used up. A call that waits for too long is refused.
 *
 * Only what a partner's key asks the gateway for waits. A call of another service continues work that was let in, a shopper's page has limits of its own, and in
 * one process with the gateway the request has its turn already.
 */
export function callTurns(here: ProcessTurns = processTurns()): TakeTurn {
  const { neighbors, budgets, meter } = here;
  const small = new SharedRequests(neighbors, bounds);
  const dear = new SharedRequests(neighbors, bounds, (caller) => budgets.isSpent(caller));
  return (method, { from, caller, scope: { accountId, testMode } }) => {
    if (accountId === '' || meter.isRunning) return undefined;
    const account = { accountId, testMode };
    neighbors.saw(account);
    const isHeld = from === 'gateway' && caller.keyId !== '';
    const isDear = isHeld && (readsMuch(method) || neighbors.yields(account));
    return {
      entered: isHeld ? (isDear ? dear : small).enter(account) : undefined,
      run: (step) => meter.run({ caller: account, isDear }, step),
    };
  };
}

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
