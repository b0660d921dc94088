import { given } from '@eligo/values';
import type Stripe from 'stripe';
import type { Caller } from './call.ts';
import { disputeFacts } from './facts.ts';
import type { FileOutcome } from './outcomes.ts';
import type { ProcessorPort } from './port.ts';
import { withoutDecline } from './without-decline.ts';

/** The calls of the port that read and answer disputes. */
export function disputeCalls({
  stripe,
  call,
}: {
  readonly stripe: Stripe;
  readonly call: Caller;
}): Pick<ProcessorPort, 'retrieveDispute' | 'updateDispute' | 'uploadEvidence' | 'closeDispute'> {
  return {
    retrieveDispute: (id, options) =>
      call('disputes.retrieve', options, (request) => stripe.disputes.retrieve(id, {}, request), foundDispute).then(
        withoutDecline,
      ),
    updateDispute: (id, input, options) =>
      call(
        'disputes.update',
        options,
        (request) => {
          const params: Stripe.DisputeUpdateParams = given({ evidence: input.evidence, submit: input.submit });
          return stripe.disputes.update(id, params, request);
        },
        foundDispute,
      ).then(withoutDecline),
    // The SDK's own form holds the whole file; that of `LeanStripe` takes the content from `data` when it is sent. Uploads go to a host of their own, and fail
    // where a file is large or was deleted meanwhile: payments go on.
    uploadEvidence: (data, options) =>
      call<Stripe.File, FileOutcome>(
        'files.create',
        { ...options, countsForBreaker: false },
        (request) => {
          const params: object = { purpose: 'dispute_evidence', file: { data } };
          return stripe.files.create(params as Stripe.FileCreateParams, request);
        },
        ({ id }) => ({ kind: 'stored', fileId: id }),
      ).then(withoutDecline),
    closeDispute: (id, options) =>
      call('disputes.close', options, (request) => stripe.disputes.close(id, {}, request), foundDispute).then(
        withoutDecline,
      ),
  };
}

function foundDispute(dispute: Stripe.Dispute) {
  return { kind: 'found' as const, ...disputeFacts(dispute) };
}
