import { create } from '@bufbuild/protobuf';
import type { Scope } from '@eligo/postgres';
import {
  SubstantiatedLineSchema,
  SubstantiatedMovementSchema,
  SubstantiatedPaymentSchema,
  type Substantiation as SubstantiationMessage,
  SubstantiationSchema,
} from '@eligo/proto/checkout/v1/checkout';
import { present } from '@eligo/values';
import type { LineMovement, Substantiation } from '../domain/substantiation.ts';
import { chargeMessage } from './intents.ts';
import { letterWithReviewer } from './letter.ts';
import { lineItemMessage } from './line-item.ts';
import { paymentMethodMessage } from './payment-method.ts';
import { sessionMessage } from './session.ts';

/** The message of what proves a session's eligibility. */
export function substantiationMessage(scope: Scope, proof: Substantiation): SubstantiationMessage {
  const { record } = proof;
  return create(SubstantiationSchema, {
    session: sessionMessage(scope, proof.session),
    lines: proof.lines.map(({ line, letter, captures, refunds }) =>
      create(SubstantiatedLineSchema, {
        line: lineItemMessage(line),
        amountCapturedCents: BigInt(line.amountCapturedCents),
        captures: captures.map(movementMessage),
        refunds: refunds.map(movementMessage),
        ...(letter === undefined ? {} : { letter: letterWithReviewer(scope, letter) }),
      }),
    ),
    payments: proof.payments.map(({ leg, charge, method }) =>
      create(SubstantiatedPaymentSchema, {
        leg,
        charge: chargeMessage(scope, charge),
        ...(method === undefined ? {} : { paymentMethod: paymentMethodMessage(scope, method) }),
      }),
    ),
    hasMoreRefunds: proof.hasMoreRefunds,
    ...(record === undefined
      ? {}
      : {
          eligibilityRecordId: record.id,
          decidedAtMs: BigInt(record.createdAt.getTime()),
          ...present({ foodPolicyVersion: record.foodPolicyVersion }),
        }),
  });
}

function movementMessage({ sourceId, paymentIntentId, amountCents, at }: LineMovement) {
  const amount = { amountCents: BigInt(amountCents), atMs: BigInt(at.getTime()) };
  return create(SubstantiatedMovementSchema, { sourceId, paymentIntentId, ...amount });
}
