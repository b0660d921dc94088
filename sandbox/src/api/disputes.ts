import { mergedMetadata, type Parameters } from '../http/parameters.ts';
import { invalidRequest } from '../refusal.ts';
import { evidenceFields, shape } from '../shapes/shape.ts';
import type { DisputeRecord } from '../store/record-types.ts';
import { moveMoney } from './balance.ts';
import { disputeFee } from './dispute-opening.ts';
import { type Call, listShape, pageQuery, type Route } from './route.ts';

export const disputeRoutes: Route[] = [
  { method: 'GET', path: '/v1/disputes', call: 'disputes.list', prepare: listDisputes },
  { method: 'GET', path: '/v1/disputes/:id', call: 'disputes.retrieve', prepare: retrieveDispute },
  { method: 'POST', path: '/v1/disputes/:id', call: 'disputes.update', prepare: updateDispute },
  { method: 'POST', path: '/v1/disputes/:id/close', call: 'disputes.close', prepare: closeDispute },
];

/** Ends a dispute: a won one brings money and fee back. */
export function decideDispute(call: Call, dispute: DisputeRecord, status: 'won' | 'lost'): DisputeRecord {
  const reinstated =
    status === 'won'
      ? moveMoney(call, {
          amount: dispute.amount,
          fee: -disputeFee,
          currency: dispute.currency,
          type: 'adjustment',
          source: dispute.id,
          description: `Chargeback reversal for ${dispute.charge}`,
        })
      : undefined;
  const decided: DisputeRecord = {
    ...dispute,
    status,
    balanceTransactions: reinstated ? [...dispute.balanceTransactions, reinstated.id] : dispute.balanceTransactions,
  };
  call.records.update('dispute', decided);
  call.emit('charge.dispute.closed', 'dispute', decided);
  if (reinstated) call.emit('charge.dispute.funds_reinstated', 'dispute', decided);
  return decided;
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
    const text = evidence.uncategorized_text;
    const dispute: DisputeRecord = {
      ...known,
      evidence: Object.fromEntries(
        Object.entries({ ...known.evidence, ...evidence }).filter(([, value]) => value !== ''),
      ),
      status: submit ? 'under_review' : known.status,
      submissionCount: known.submissionCount + (submit ? 1 : 0),
      metadata: mergedMetadata(known.metadata, metadata),
    };
    call.records.update('dispute', dispute);
    call.emit('charge.dispute.updated', 'dispute', dispute);
    if (submit && (text === 'winning_evidence' || text === 'losing_evidence')) {
      return shape('dispute', decideDispute(call, dispute, text === 'winning_evidence' ? 'won' : 'lost'));
    }
    return shape('dispute', dispute);
  };
}

function closeDispute(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => shape('dispute', decideDispute(call, needOpen(call), 'lost'));
}

function needOpen(call: Call): DisputeRecord {
  const dispute = call.records.need('dispute', call.account, call.id);
  if (dispute.status === 'won' || dispute.status === 'lost') throw invalidRequest('This dispute is already closed');
  return dispute;
}

function readEvidence(given: Parameters): Record<string, string> {
  const entries = evidenceFields.flatMap((field) => {
    const value = given.clearableText(field);
    return value === undefined ? [] : [[field, value ?? ''] as const];
  });
  given.finish();
  return Object.fromEntries(entries);
}
