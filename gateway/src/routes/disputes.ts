import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { namedInBody } from '../body-references.ts';
import { type EvidenceFiles, giveEvidence } from '../files/give-evidence.ts';
import { moneyCall, moneyCalls } from '../http/call-budget.ts';
import { cents, pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

export function disputeBindings({ refunds }: Peers, answers: Answers, files: EvidenceFiles): Binding[] {
  const { list, get, update, close } = routes.disputes;
  return [
    bind(list, async (request) => {
      const { query, call } = request;
      const filters = given({
        paymentIntentId: query.payment_intent,
        chargeId: query.charge,
        checkoutSessionId: query.checkout_session,
      });
      const page = await refunds.listDisputes({ page: pageOf(query), ...filters }, call);
      return answers.list(request, 'dispute', page.disputes, page.hasMore);
    }),
    bind(get, async (request) =>
      answers.one(request, 'dispute', await refunds.getDispute({ id: request.id }, request.call)),
    ),
    bind(update, async (request) => {
      const { evidence = {}, submit = false, metadata } = request.body;
      const call = moneyCalls(request.call);
      await giveEvidence(refunds, files, { ...request, call }, evidence);
      const message = {
        id: request.id,
        evidence: given(evidence) as Record<string, string>,
        submit,
        metadata: metadata ?? {},
        replaceMetadata: metadata !== undefined,
      };
      return answers.one(request, 'dispute', await refunds.updateDispute(message, call));
    }),
    bind(close, async (request) =>
      answers.one(request, 'dispute', await refunds.closeDispute({ id: request.id }, moneyCall(request.call))),
    ),
    bind(routes.testHelpers.createDispute, async (request) => {
      const { charge, amount, reason, inquiry = false } = request.body;
      const message = { chargeId: charge, inquiry, ...given({ amountCents: cents(amount), reason }) };
      const created = refunds.createTestDispute(message, moneyCall(request.call));
      const named = { code: 'charge_not_found', loc: ['dispute', 'charge'], id: charge } as const;
      return answers.one(request, 'dispute', await namedInBody(created, named));
    }),
  ];
}
