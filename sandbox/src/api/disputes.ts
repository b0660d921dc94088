import { mergedMetadata, type Parameters } from '../http/parameters.ts';
import { invalidRequest } from '../refusal.ts';
import { evidenceFields, shape } from '../shapes/shape.ts';
import type { DisputeRecord } from '../store/record-types.ts';
import { reinstate, withdraw, withdrawnOf } from './dispute-money.ts';
import { checkFiles, fileFields } from './files.ts';
import { type Call, listShape, pageQuery, type Route } from './route.ts';

export const disputeRoutes: Route[] = [
  { method: 'GET', path: '/v1/disputes', call: 'disputes.list', prepare: listDisputes },
  { method: 'GET', path: '/v1/disputes/:id', call: 'disputes.retrieve', prepare: retrieveDispute },
  { method: 'POST', path: '/v1/disputes/:id', call: 'disputes.update', prepare: updateDispute },
  { method: 'POST', path: '/v1/disputes/:id/close', call: 'disputes.close', prepare: closeDispute },
];

const editable: readonly string[] = ['needs_response', 'warning_needs_response'];
const closed: readonly string[] = ['won', 'lost', 'warning_closed', 'prevented'];

/** Whether a dispute of this status has the money: an open or lost one has, an inquiry and one that was won or prevented has not. */
function holdsMoney(status: string): boolean {
  return !status.startsWith('warning_') && !status.endsWith('won') && status !== 'prevented';
}

/** Moves a dispute as the bank decides, and the money with it. */
export function moveDispute(call: Call, dispute: DisputeRecord, status: string): DisputeRecord {
  const isHeld = withdrawnOf(dispute) > 0;
  const paid = holdsMoney(status) && !isHeld ? withdraw(call, dispute) : dispute;
  const repaid = !holdsMoney(status) && isHeld ? reinstate(call, paid) : paid;
  const moved: DisputeRecord = { ...repaid, status };
  call.records.update('dispute', moved);
  call.emit(`charge.dispute.${closed.includes(status) ? 'closed' : 'updated'}`, 'dispute', moved);
  if (paid !== dispute) call.emit('charge.dispute.funds_withdrawn', 'dispute', moved);
  if (repaid !== paid) call.emit('charge.dispute.funds_reinstated', 'dispute', moved);
  return moved;
}

function listDisputes(parameters: Parameters) {
  const charge = parameters.text('charge');
  const intent = parameters.text('payment_intent');
  const query = { ...pageQuery(parameters), parent: charge };
  parameters.finish();
  return (call: Call) => {
    const page = call.records.page('dispute', call.account, query);
    const records =
      intent === undefined ? page.records : page.records.filter((record) => record.paymentIntent === intent);
    return listShape<'dispute'>('/v1/disputes', { ...page, records }, (record) => shape('dispute', record));
  };
}

function retrieveDispute(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => shape('dispute', call.records.need('dispute', call.account, call.id));
}

/** Evidence is kept; with `submit` it goes to the bank. The texts that Stripe's test mode knows decide at once. */
function updateDispute(parameters: Parameters) {
  const given = parameters.object('evidence');
  const evidence = given === undefined ? {} : readEvidence(given);
  const submit = parameters.boolean('submit') ?? false;
  const metadata = parameters.metadata();
  parameters.finish();
  return (call: Call) => {
    const known = needOpen(call);
    if (given !== undefined && !editable.includes(known.status)) {
      throw invalidRequest(`Evidence cannot be given to a dispute that is ${known.status}.`, { param: 'evidence' });
    }
    const isInquiry = known.status.startsWith('warning_');
    const merged = Object.entries({ ...known.evidence, ...evidence }).filter(([, value]) => value !== '');
    checkFiles(call, Object.fromEntries(merged));
    if (submit && Object.fromEntries(merged).uncategorized_text === tooManyPages) {
      const code = 'dispute_evidence_page_limit_exceeded';
      throw invalidRequest('The evidence has more pages than the network of the card accepts.', { code });
    }
    const dispute: DisputeRecord = {
      ...known,
      evidence: Object.fromEntries(merged),
      status: submit ? (isInquiry ? 'warning_under_review' : 'under_review') : known.status,
      submissionCount: known.submissionCount + (submit ? 1 : 0),
      metadata: mergedMetadata(known.metadata, metadata),
    };
    call.records.update('dispute', dispute);
    call.emit('charge.dispute.updated', 'dispute', dispute);
    const decision = submit ? decisions[evidence.uncategorized_text ?? ''] : undefined;
    if (decision === undefined) return shape('dispute', dispute);
    return shape('dispute', moveDispute(call, dispute, isInquiry ? decision.inquiry : decision.dispute));
  };
}

/** A text of this sandbox alone: its pages are never counted, and are over the limit of the network of the card. */
const tooManyPages = 'too_many_pages';

const decisions: Readonly<Record<string, { dispute: string; inquiry: string }>> = {
  winning_evidence: { dispute: 'won', inquiry: 'warning_closed' },
  // The cardholder goes on to dispute the charge.
  losing_evidence: { dispute: 'lost', inquiry: 'needs_response' },
};

function closeDispute(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => shape('dispute', moveDispute(call, needOpen(call), 'lost'));
}

function needOpen(call: Call): DisputeRecord {
  const dispute = call.records.need('dispute', call.account, call.id);
  if (closed.includes(dispute.status)) throw invalidRequest('This dispute is already closed');
  return dispute;
}

function readEvidence(given: Parameters): Record<string, string> {
  const entries = evidenceFields.flatMap((field) => {
    const value = given.clearableText(field, mostOfField);
    return value === undefined ? [] : [[field, value ?? ''] as const];
  });
  given.finish();
  const texts = entries.filter(([field]) => !fileFields.includes(field));
  if (texts.reduce((sum, [, text]) => sum + text.length, 0) > mostTogether) {
    throw invalidRequest(`Evidence must have at most ${mostTogether} characters together`, { param: 'evidence' });
  }
  return Object.fromEntries(entries);
}

// Stripe's bounds of the texts of evidence, in characters.
const mostOfField = 20_000;
const mostTogether = 150_000;
