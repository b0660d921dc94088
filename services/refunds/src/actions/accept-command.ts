import { create, toBinary } from '@bufbuild/protobuf';
import { afterCommit, type Scope, type Tx } from '@eligo/postgres';
import { RefundInstructionSchema } from '@eligo/proto/checkout/v1/checkout';
import type { RefundRequested } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { insertRequest } from '../store/requested-refunds.ts';

/** Writes down a refund that another service decided, once per operation id; it is carried out after this transaction. */
export async function acceptCommand(context: Context, tx: Tx, scope: Scope, command: RefundRequested): Promise<void> {
  const { subject, amountCents, operationId, recurringLinesOnly, letterFee } = command;
  if (subject.case === undefined || operationId === '') throw new Error('A refund command has no subject or no id');
  const refundId = newId('refund');
  // A part may have been given back before the decision, or on the way: then what remains is, and not nothing.
  const instruction = create(
    RefundInstructionSchema,
    amountCents === undefined ? {} : { amountCents, atMost: true, recurringLinesOnly, letterFee },
  );
  const isNew = await insertRequest(
    tx,
    scope,
    {
      refundId,
      subject:
        subject.case === 'sessionId'
          ? { kind: 'session', sessionId: subject.value }
          : { kind: 'payment_intent', paymentIntentId: subject.value },
      instruction: toBinary(RefundInstructionSchema, instruction),
      features: [],
      operationId,
      reason: command.reason === '' ? null : command.reason,
      metadata: {},
      subscriptionId: command.subscriptionId ?? null,
      invoiceId: command.invoiceId ?? null,
    },
    // Nobody holds it: whoever comes first carries it out.
    0,
  );
  if (isNew) afterCommit(tx, () => context.wake([{ kind: 'requested', scope, refundId }]));
}
