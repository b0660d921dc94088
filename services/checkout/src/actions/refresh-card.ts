import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { CardFacts as ProcessorCard } from '@eligo/processor';
import { CardUpdatedSchema } from '@eligo/proto/events/v1/events';
import type { Context } from '../context.ts';
import { mayCorrect } from '../domain/card-kind.ts';
import type { CardFacts, PaymentMethod } from '../domain/payment-method.ts';
import { findPaymentMethod } from '../store/payment-methods.ts';
import { type ReceivedEvent, storeEvent } from '../store/processor-events.ts';
import { findPaymentMethodId, isEventStored, saveCardFacts } from '../store/updated-cards.ts';
import { storedCard } from './recognize-card.ts';

/** A card that its network replaced, at the processor. */
export const cardUpdated = 'payment_method.automatically_updated';

/** The gateway waits five seconds for the event to be stored. */
const retrieveMs = 3_000;

/**
 * Refreshes a card after the processor's event that it was updated, and tells billing, which charges what is owed with it. Nothing in the event is trusted: the
 * processor is asked for the card. The event is stored with the card: until then it is refused, and the processor delivers it again.
 */
export async function refreshCard(context: Context, scope: Scope, event: ReceivedEvent): Promise<void> {
  const { database } = context;
  if (await isEventStored(database, scope, event)) return;
  const id = await findPaymentMethodId(database, scope, event.objectId);
  const method = id === undefined ? undefined : await findPaymentMethod(database, scope, id);
  const card = method && method.detachedAt === null ? await retrieve(context, scope, method) : undefined;
  await withTx(database, scope, async (tx) => {
    if (!(await storeEvent(tx, scope, event)) || method === undefined || card === undefined) return;
    // Whoever changed it meanwhile may have seen a later card.
    if (!(await saveCardFacts(tx, scope, method, card))) throw notNow();
    await append(tx, {
      ...scope,
      type: 'command.card.updated',
      aggregateId: method.id,
      at: context.clock.now(),
      object: { case: 'cardUpdated', value: create(CardUpdatedSchema, { paymentMethodId: method.id }) },
    });
  });
}

// Undefined for a card that the processor does not have any more.
async function retrieve(context: Context, scope: Scope, method: PaymentMethod): Promise<CardFacts | undefined> {
  const processor = context.processors.findAt(scope, method.processorAccount);
  if (processor === undefined || processor.isDown()) throw notNow();
  const found = await processor.retrievePaymentMethod(method.processorPaymentMethodId, { timeoutMs: retrieveMs });
  if (found.kind === 'found') return refreshed(context, scope, method.card, found.card);
  if (found.kind === 'unknown' || found.kind === 'not_now') throw notNow();
  return undefined;
}

// A source replaces only what an equal or weaker one said: a health card by the processor's word is never made an ordinary one by the list of issuer
// ranges. Without a source the earlier word stands: it is the same account at the same bank.
async function refreshed(
  { database }: Context,
  scope: Scope,
  known: CardFacts,
  card: ProcessorCard,
): Promise<CardFacts> {
  const facts = await storedCard(database, scope, card);
  if (known.hsaFsa === null) return facts;
  if (facts.hsaFsaSource !== null && mayCorrect(known.hsaFsaSource, facts.hsaFsaSource)) return facts;
  return { ...facts, hsaFsa: known.hsaFsa, hsaFsaSource: known.hsaFsaSource };
}

function notNow(): Failure {
  return new Failure('service_unavailable');
}
