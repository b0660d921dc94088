import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { DisputeOutcome, ProcessorPort, WriteOptions } from '@eligo/processor';
import type { Call } from '@eligo/rpc';
import { newId, type ProcessorAccount } from '@eligo/values';
import type { Context } from '../context.ts';
import { assertEditable, type Dispute, type DisputeClaim, disputeNews } from '../domain/dispute.ts';
import { isClosed } from '../domain/dispute-states.ts';
import {
  claimDispute,
  findDispute,
  lockDispute,
  postponeDispute,
  processorDisputeOf,
  saveDisputeMetadata,
} from '../store/disputes.ts';
import { appendDisputeEvents } from './dispute-events.ts';
import { recordDispute } from './record-dispute.ts';
import { assertEvidencePagesFit, evidenceAtProcessor } from './upload-evidence.ts';

/** What a partner changes of a dispute. */
export interface DisputeChange {
  /** Texts, and identifiers of files that were uploaded. A field with an empty text is cleared. */
  readonly evidence: Readonly<Record<string, string>>;
  readonly submit: boolean;
  readonly metadata: Readonly<Record<string, string>> | undefined;
}

/**
 * Gives evidence to the processor, which keeps it, and submits it to the bank. Throws `dispute_not_open` unless the dispute needs a response, and a 422
 * after its deadline. Where uploads of files have left `call` too little time to hear that the bank has it, nothing is submitted, and the same request continues.
 */
export async function updateDispute(
  context: Context,
  scope: Scope,
  disputeId: string,
  { evidence, submit, metadata }: DisputeChange,
  call: Pick<Call, 'timeoutMs'>,
): Promise<Dispute> {
  const hasEvidence = Object.keys(evidence).length > 0;
  if (hasEvidence || submit) {
    const atProcessor = await evidenceAtProcessor(context, scope, disputeId, evidence);
    await assertEvidencePagesFit(context, scope, disputeId, evidence);
    await change(context, scope, disputeId, {
      assertAllowed(dispute) {
        assertEditable(dispute, hasEvidence ? 'evidence' : 'submit');
        if (submit && call.timeoutMs() < context.budgets.processorMs + recordingMs) throw unavailable();
      },
      send: (port, id, options) =>
        port.updateDispute(id, { ...(hasEvidence ? { evidence: atProcessor } : {}), submit }, options),
      call,
    });
  }
  if (metadata === undefined) return found(context, scope, disputeId);
  return withTx(context.database, scope, async (tx) => {
    const before = await lockDispute(tx, scope, disputeId);
    if (before === undefined) throw new Failure('dispute_not_found');
    const after = { ...before, metadata };
    await saveDisputeMetadata(tx, scope, disputeId, metadata);
    await appendDisputeEvents(tx, scope, disputeNews(before, after, nothingMoved), after);
    return after;
  });
}

/** Accepts that a dispute is lost. Throws `dispute_not_open` for one that is closed. */
export async function closeDispute(
  context: Context,
  scope: Scope,
  disputeId: string,
  call: Pick<Call, 'timeoutMs'>,
): Promise<Dispute> {
  await change(context, scope, disputeId, {
    assertAllowed(dispute) {
      if (isClosed(dispute.status)) throw new Failure('dispute_not_open');
    },
    send: (port, id, options) => port.closeDispute(id, options),
    call,
  });
  return found(context, scope, disputeId);
}

// Writes down and tells what the processor answered.
const recordingMs = 500;
const nothingMoved = { isWithdrawn: false, isReinstated: false };

interface Change {
  assertAllowed(dispute: Dispute): void;
  send(port: ProcessorPort, processorDisputeId: string, options: WriteOptions): Promise<DisputeOutcome>;
  readonly call: Pick<Call, 'timeoutMs'>;
}

// The processor's answer is what is recorded. Where it is unknown, the dispute is looked at again, and the client sends the same again: evidence is set and
// not added, and a dispute that was submitted or closed needs no response any more.
async function change(
  context: Context,
  scope: Scope,
  disputeId: string,
  { assertAllowed, send, call }: Change,
): Promise<void> {
  const { database, budgets } = context;
  const [names, dispute] = await Promise.all([
    processorDisputeOf(database, scope, disputeId),
    findDispute(database, scope, disputeId),
  ]);
  if (names === undefined || dispute === undefined) throw new Failure('dispute_not_found');
  assertAllowed(dispute);
  const port = context.processors.at(scope, names.processorAccount);
  if (port.isDown()) throw unavailable();
  const claimed = await claimWhenFree(context, scope, port.account, names.processorDisputeId);
  try {
    if (claimed.before !== undefined) assertAllowed(claimed.before);
  } catch (error) {
    await lookSoon(context, scope, claimed);
    throw error;
  }
  await context.failpoint('dispute.after_claim');
  const outcome = await send(port, names.processorDisputeId, {
    idempotencyKey: newId('request'),
    timeoutMs: budgets.processorMs,
  });
  await context.failpoint('dispute.after_change');
  if (outcome.kind === 'rejected') {
    await lookSoon(context, scope, claimed);
    if (outcome.code === 'dispute_evidence_page_limit_exceeded') {
      // It counts the pages of the texts, too, and knows the limit of the card's network.
      const text = 'The evidence has more pages than the network of the card accepts';
      throw Failure.invalid(['body', 'dispute', 'evidence'], 'evidence_too_many_pages', text);
    }
    const [, field] = /^evidence\[(\w+)\]$/.exec(outcome.param ?? '') ?? [];
    if (outcome.status === 400 && field !== undefined) {
      throw Failure.invalid(
        ['body', 'dispute', 'evidence', field],
        'evidence_refused',
        'The processor rejected this value',
      );
    }
    if (outcome.status === 400) throw new Failure('dispute_not_open');
    context.logger.warn(
      { disputeId, code: outcome.code },
      'Processor rejected a dispute update; check its credentials and account',
    );
    throw unavailable();
  }
  // What the processor has carried out is answered in time, whatever checkout does.
  const look = await recordDispute(context, scope, claimed, outcome, () => call.timeoutMs() - recordingMs);
  if (look.kind !== 'recorded') throw unavailable();
}

// An event of the processor has the dispute looked at, for the time of one call as a rule.
async function claimWhenFree(
  { database, budgets }: Context,
  scope: Scope,
  account: ProcessorAccount,
  processorDisputeId: string,
): Promise<DisputeClaim> {
  for (let tries = 0; tries < mostTries; tries++) {
    if (tries > 0) await pause(pauseBetweenTriesMs);
    const claimed = await withTx(database, scope, (tx) =>
      claimDispute(tx, scope, account, processorDisputeId, budgets.leaseMs),
    );
    if (claimed !== undefined) return claimed;
  }
  throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
}

const mostTries = 20;
const pauseBetweenTriesMs = 100;

function lookSoon({ database }: Context, scope: Scope, claimed: DisputeClaim): Promise<void> {
  return withTx(database, scope, (tx) => postponeDispute(tx, scope, claimed, 1_000));
}

async function found({ database }: Context, scope: Scope, disputeId: string): Promise<Dispute> {
  const dispute = await findDispute(database, scope, disputeId);
  if (dispute === undefined) throw new Failure('dispute_not_found');
  return dispute;
}

function unavailable(): Failure {
  return new Failure('service_unavailable', { retryAfterSeconds: 1 });
}
